#!/usr/bin/env python3
"""Writes python/gqaverify/commands from what the program says of itself and from its schemas.

usage: python/generate.py PROGRAM [FOLDER]

Each command is one file: the function, with a keyword for every flag, and its report, a dataclass
for every object of its JSON Schema. Run it after changing a flag or a schema; a test compares.
"""

from __future__ import annotations

import json
import keyword
import re
import subprocess
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
SCHEMAS = HERE.parent / "verifier" / "schemas"
WIDTH = 100

# Written by the program itself into the result.
NOT_KEYWORDS = {"--help", "--json", "--quiet"}
# Reports that have another command's name.
SCHEMA_OF = {"probe_check": "probe", "probe_write": None}
INTEGERS = {"N", "ROWS"}
NUMBERS = {"X", "A", "R", "C", "W", "SECONDS"}
FILES = {"FILE", "DIR", "FOLDER", "PATH", "LIB.so", "CONFIG", "OLD", "NEW", "CERTIFICATE"}


def camel(name: str) -> str:
    return "".join(part.capitalize() for part in re.split(r"[_\W]+", name))


def singular(name: str) -> str:
    if name.endswith("ies"):
        return name[:-3] + "y"
    return name[:-1] if name.endswith("s") and not name.endswith("ss") else name


def wrapped(text: str, indent: str, hanging: str = "") -> str:
    return textwrap.fill(
        text, WIDTH, initial_indent=indent, subsequent_indent=indent + hanging,
        break_long_words=False, break_on_hyphens=False,
    )


class Types:
    """Python types of a schema, and the dataclasses that they need, inner ones first."""

    def __init__(self, schema: dict, prefix: str) -> None:
        self.root = schema
        self.prefix = prefix
        self.classes: dict[str, str] = {}
        self._of_definition: dict[str, str] = {}

    def of(self, schema: dict, name: str) -> str:
        if "$ref" in schema:
            return self._definition(schema["$ref"])
        if "oneOf" in schema:
            return self._alternatives([self._resolved(entry) for entry in schema["oneOf"]], schema,
                                      name)
        if "const" in schema:
            return "str"
        if "enum" in schema:
            return f"Literal[{', '.join(json.dumps(value) for value in schema['enum'])}]"
        kind = schema.get("type")
        if kind == "array":
            return f"List[{self.of(schema.get('items', {}), singular(name))}]"
        if kind == "object":
            return self._object(schema, name)
        plain = {"string": "str", "integer": "int", "number": "float", "boolean": "bool",
                 "null": "None"}
        return plain.get(kind, "Any")

    def _resolved(self, schema: dict) -> dict:
        """Without references at its top; an `allOf` as one object."""
        if "$ref" in schema:
            path = schema["$ref"].removeprefix("#/").split("/")
            found = self.root
            for part in path:
                found = found[part]
            return self._resolved(found)
        if "allOf" in schema:
            parts = [self._resolved(part) for part in schema["allOf"]]
            properties, required = {}, []
            for part in parts:
                properties.update(part.get("properties", {}))
                required += part.get("required", [])
            return {"type": "object", "properties": properties, "required": required}
        return schema

    def _definition(self, reference: str) -> str:
        if reference not in self._of_definition:
            name = reference.rpartition("/")[2]
            self._of_definition[reference] = self.of(self._resolved({"$ref": reference}), name)
        return self._of_definition[reference]

    def _alternatives(self, entries: list[dict], schema: dict, name: str) -> str:
        objects = [entry for entry in entries if entry.get("properties")]
        if not objects and schema.get("properties"):
            # Which fields belong together, of an object that is told beside.
            return self._object({k: v for k, v in schema.items() if k != "oneOf"}, name)
        kinds = [self.of(entry, name) for entry in entries if entry not in objects]
        if objects:
            kinds.insert(0, self._object(merged(objects), name))
        kinds = list(dict.fromkeys(kinds))
        return kinds[0] if len(kinds) == 1 else f"Union[{', '.join(kinds)}]"

    def _object(self, schema: dict, name: str) -> str:
        if not schema.get("properties"):
            inner = schema.get("additionalProperties")
            return f"Dict[str, {self.of(inner, name) if isinstance(inner, dict) else 'Any'}]"
        title = self._free_name(self.prefix + camel(name), schema)
        self.classes[title] = ""  # holds the name while its fields are told
        text = self.dataclass(title, "Record", schema)
        del self.classes[title]
        self.classes[title] = text
        return title

    def _free_name(self, wanted: str, schema: dict) -> str:
        name = wanted
        number = 1
        while name in self.classes:
            number += 1
            name = f"{wanted}{number}"
        return name

    def dataclass(self, title: str, base: str, schema: dict) -> str:
        required = set(schema.get("required", []))
        fields = {
            name: (self.of(entry, name), entry.get("description", ""))
            for name, entry in schema["properties"].items() if name != "schema"
        }
        short = ", repr=False" if base == "Report" else ""
        lines = [f"@dataclass(frozen=True{short})", f"class {title}({base}):"]
        lines += docstring(schema.get("description") or f"Of a {self.prefix} report", [
            (attribute(name), text) for name, (_, text) in fields.items() if text])
        if fields:
            lines.append("")
        lines += [f"    {attribute(n)}: {kind}" for n, (kind, _) in fields.items() if n in required]
        lines += [f"    {attribute(n)}: Optional[{kind}] = None"
                  for n, (kind, _) in fields.items() if n not in required]
        return "\n".join(lines)


def merged(objects: list[dict]) -> dict:
    """Every field of any of them; what not all have may be None."""
    properties: dict[str, dict] = {}
    for entry in objects:
        for name, field in entry["properties"].items():
            properties.setdefault(name, field)
    required = set.intersection(*(set(entry.get("required", [])) for entry in objects))
    text = "; or ".join(entry["description"] for entry in objects if entry.get("description"))
    return {"type": "object", "properties": properties, "required": sorted(required),
            "description": text}


def attribute(name: str) -> str:
    return name + "_" if keyword.iskeyword(name) else name


def docstring(summary: str, entries: list[tuple[str, str]]) -> list[str]:
    summary = (summary[:1].upper() + summary[1:]).rstrip(".") + "."
    head = wrapped(f'"""{summary}', "    ")
    if not entries:
        return [head + '"""']
    lines = [head, ""]
    lines += [wrapped(f"{name}: {text.rstrip('.')}.", "    ", "    ") for name, text in entries]
    return [*lines, '    """']


class Parameter:
    """A keyword, or a positional argument, of a command's function."""

    def __init__(self, argument: dict) -> None:
        self.flag = argument["names"][-1]
        self.positional = argument["positional"]
        self.many = argument["many"]
        self.required = argument["required"]
        self.value = argument["value"]
        self.choices = argument["choices"]
        self.help = argument["help"]
        self.name = attribute(self.flag.lstrip("-").replace("-", "_").lower())
        if self.positional and self.many:
            self.name += "s"

    @property
    def kind(self) -> str:
        if not self.value and not self.positional:
            return "Union[bool, str]" if self.choices else "bool"
        word = self.value or self.flag
        kind = ("int" if word in INTEGERS else "Number" if word in NUMBERS
                else "Input" if word in FILES or self.flag in FILES else "Words")
        return f"Union[{kind}, Sequence[{kind}]]" if self.many and not self.positional else kind

    @property
    def signature(self) -> str:
        if self.positional and self.many:
            return f"*{self.name}: {self.kind}"
        if self.positional and self.required:
            return f"{self.name}: {self.kind}"
        return f"{self.name}: Optional[{self.kind}] = None"

    @property
    def told(self) -> str:
        return f"{self.name}: {with_keywords(self.help)}"


def with_keywords(text: str) -> str:
    """Flags as a Python caller writes them."""
    return re.sub(r"--([a-z][a-z0-9-]*)", lambda m: m[1].replace("-", "_"), text)


def notes_of(command: dict) -> list[str]:
    """What the help text says below the flags, without its examples of command lines."""
    paragraphs = re.split(r"\n\s*\n", command["notes"].strip())
    kept = []
    for paragraph in paragraphs:
        text = " ".join(re.split(r"(?m)^Examples?:", paragraph)[0].split())
        if text:
            kept.append(wrapped(with_keywords(text), "    "))
    return kept


def function_of(command: dict, report: str) -> str:
    parameters = [
        Parameter(argument) for argument in command["arguments"]
        if argument["names"][-1] not in NOT_KEYWORDS
    ]
    positional = [p for p in parameters if p.positional]
    keywords = [p for p in parameters if not p.positional]
    star = [] if any(p.many for p in positional) or not keywords else ["*"]
    name = "_".join(command["words"])
    lines = [f"def {name}("]
    lines += [f"    {text}," for text in
              [p.signature for p in positional] + star + [p.signature for p in keywords]]
    lines += [f") -> {report}:"]
    summary = command["summary"].rstrip(".") + "."
    lines += [wrapped(f'"""{with_keywords(summary)}', "    "), ""]
    for paragraph in notes_of(command):
        lines += [paragraph, ""]
    lines += [wrapped(p.told.rstrip(".") + ".", "    ", "    ") for p in positional + keywords]
    lines += ["", wrapped("InputError: what is given is not what it must be. ProgramError: the program "
                          "is missing, or failed.", "    "), '    """']
    given = ", ".join(
        f"*{p.name}" if p.many else p.name for p in positional)
    lines.append("    return run(")
    lines.append(f"        {report},")
    lines.append(f"        {json.dumps(command['words'])},")
    lines.append(f"        [{given}],")
    lines.append("        {")
    lines += [
        f"            {json.dumps(p.flag)}: {f'Each({p.name})' if p.many else p.name}," for p in keywords
    ]
    lines += ["        },", "    )"]
    return "\n".join(lines)


def module_of(command: dict) -> str:
    name = "_".join(command["words"])
    schema_name = SCHEMA_OF.get(name, name)
    report = camel(name) + "Report"
    if schema_name is None:
        schema = {"type": "object", "properties": {}, "required": [],
                  "description": "What was written"}
    else:
        schema = json.loads((SCHEMAS / f"{schema_name}.schema.json").read_text(encoding="utf-8"))
    types = Types(schema, camel(name))
    summary = schema["description"]
    top = schema
    if "oneOf" in schema:
        top = merged([types._resolved(entry) for entry in schema["oneOf"]])
    top = {**top, "description": summary}
    text = types.dataclass(report, "Report", top)
    classes = [*types.classes.values(), text]
    body = "\n\n\n".join([*classes, function_of(command, report)])
    used = [word for word in ("Any", "Dict", "List", "Literal", "Optional", "Sequence", "Union")
            if re.search(rf"\b{word}\b", body)]
    base = [word for word in ("Each", "Input", "Record", "Report", "Words", "run")
            if re.search(rf"\b{word}\b", body)]
    flags = " ".join(["gqaverify", *command["words"]])
    return "\n".join([
        f'"""`{flags}` from Python. Written by python/generate.py."""',
        "",
        "from dataclasses import dataclass",
        f"from typing import {', '.join(used)}",
        "",
        f"from .._program import {', '.join(base)}",
        *(["from .._words import Number"] if re.search(r"\bNumber\b", body) else []),
        "", "", body, ""])


def package_of(names: list[str]) -> str:
    lines = ['"""The commands of the program as functions. Written by python/generate.py."""', ""]
    reports = [(name, camel(name) + "Report") for name in names]
    lines += [f"from .{name}_command import {report}, {name}" for name, report in reports]
    every = sorted([*names, *(report for _, report in reports)])
    lines += ["", "__all__ = [", *(f'    "{name}",' for name in every), "]", ""]
    return "\n".join(lines)


def files_of(program: str) -> dict[str, str]:
    """The package's files by name."""
    done = subprocess.run([program, "generate", "json"], capture_output=True, check=True, text=True)
    commands = [c for c in json.loads(done.stdout) if c["words"]]
    files = {f"{'_'.join(c['words'])}_command.py": module_of(c) for c in commands}
    names = sorted(name.removesuffix("_command.py") for name in files)
    return {**files, "__init__.py": package_of(names)}


def main() -> None:
    if not 2 <= len(sys.argv) <= 3:
        sys.exit(__doc__)
    folder = Path(sys.argv[2]) if len(sys.argv) == 3 else HERE / "gqaverify" / "commands"
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in files_of(sys.argv[1]).items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
