"""Checks JSON against the schemas that the program ships (share/gqaverify/schemas).

Without python3-jsonschema nothing is checked, and test_schemas.py says that it was skipped.
"""

import functools
import json

from command_line import project

try:
    import jsonschema
except ImportError:  # not every machine can install it
    jsonschema = None


def folder():
    return project() / "verifier/schemas"


@functools.cache
def validators():
    """{"gqaverify.audit/1": its validator}"""
    found = {}
    for path in sorted(folder().glob("*.schema.json")):
        schema = json.loads(path.read_text())
        jsonschema.Draft202012Validator.check_schema(schema)
        found[schema["title"]] = jsonschema.Draft202012Validator(schema)
    return found


def breaches(document):
    """What is not as the document's own schema says, one line each."""
    if jsonschema is None:
        return []
    validator = validators()[document["schema"]]
    return [f"{error.json_path}: {error.message[-300:]}" for error in validator.iter_errors(document)]
