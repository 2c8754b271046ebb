"""Runs the program, and reads the reports that it writes."""

from __future__ import annotations

import dataclasses
import functools
import html
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from decimal import Decimal
from fractions import Fraction
from pathlib import Path
from typing import (
    Any,
    Dict,
    Iterable,
    List,
    Mapping,
    Sequence,
    Tuple,
    Type,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
)

from ._errors import InputError, ProgramError
from ._host import host_array
from ._recording import save_recording
from ._results import verdict_html
from ._words import Number, exact

_Report = TypeVar("_Report", bound="Report")

# A file or folder; or what is in it: arrays by name, a report, the fields of a JSON object.
Input = Union[str, "os.PathLike[str]", Mapping[str, Any], "Record"]
# A text as on the command line; a number, or numbers in nested sequences or an array.
Words = Union[str, Number, Sequence[Any], Any]

_HOLDS, _WRONG, _OPEN, _BAD_INPUT, _WRONG_USAGE = 0, 1, 2, 3, 64


class Record:
    """An object of a report. Its fields are attributes, and entries by their names in the JSON."""

    _json: Dict[str, Any]

    def to_dict(self) -> Dict[str, Any]:
        """The JSON object that it was read from, whole."""
        copied: Dict[str, Any] = json.loads(json.dumps(self._json))
        return copied

    def __getitem__(self, name: str) -> Any:
        return self._json[name]

    def __contains__(self, name: str) -> bool:
        return name in self._json


class Report(Record):
    """What a command found out. True only if everything that was asked for holds.

    status: of the program: 0 everything holds, 1 something was decided to be wrong, 2 something
        could not be decided, 3 some of the files are not what they must be (the others were read).
    print() shows what the program prints; a notebook shows that below the verdict.
    """

    status: int
    _text: str

    def __bool__(self) -> bool:
        return self.status == _HOLDS

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def __repr__(self) -> str:
        names = [field.name for field in dataclasses.fields(self)]  # type: ignore[arg-type]
        return f"<{type(self).__name__} status={self.status} with {', '.join(names)}>"

    def _repr_html_(self) -> str:
        word = {_HOLDS: "pass", _WRONG: "fail"}.get(self.status, "undecided")
        return f"<div>{verdict_html(word)}<pre>{html.escape(str(self))}</pre></div>"


def program() -> str:
    """Where the program is: $GQAVERIFY_PROGRAM, beside the package, or in the PATH."""
    stated = os.environ.get("GQAVERIFY_PROGRAM")
    own = Path(__file__).with_name("bin") / "gqaverify"
    found = stated or (str(own) if own.exists() else shutil.which("gqaverify"))
    if found is None:
        raise ProgramError(
            "the program gqaverify is neither beside the package nor in the PATH; "
            "GQAVERIFY_PROGRAM may say where it is"
        )
    return found


def run(
    report: Type[_Report],
    command: Sequence[str],
    positional: Iterable[Any],
    flags: Mapping[str, Any],
) -> _Report:
    """Runs one command. Values as the functions of gqaverify.commands take them; None is left out."""
    with tempfile.TemporaryDirectory(prefix="gqaverify-") as folder:
        files = _Files(Path(folder))
        written = Path(folder) / "report.json"
        words = [word for flag, value in flags.items() for word in _flag(flag, value, files)]
        given = [files.word(value) for value in positional if value is not None]
        takes_json = [] if command[-1] == "write" else [f"--json={written}"]
        line = [program(), *command, *words, *takes_json, *(["--", *given] if given else [])]
        try:
            done = subprocess.run(line, capture_output=True, check=False)
        except OSError as error:
            raise ProgramError(f"{line[0]} cannot be run: {error}") from error
        errors = files.renamed(done.stderr.decode(errors="replace")).strip()
        # Of several files that were read some may be bad: that is told in the report.
        is_told = written.exists() and not errors
        if done.returncode in (_BAD_INPUT, _WRONG_USAGE) and not is_told:
            raise _input_error(errors, list(flags), usage=done.returncode == _WRONG_USAGE)
        if done.returncode not in (_HOLDS, _WRONG, _OPEN, _BAD_INPUT):
            raise ProgramError(f"gqaverify ended with status {done.returncode}: {errors}")
        entry = json.loads(written.read_text(encoding="utf-8")) if takes_json else {}
        result: _Report = _decoded(report, entry)
        object.__setattr__(result, "status", done.returncode)
        object.__setattr__(result, "_text", files.renamed(done.stdout.decode(errors="replace")))
        return result


def main() -> None:
    """The command `gqaverify` of a wheel: becomes the program."""
    try:
        found = program()
    except ProgramError as error:
        sys.exit(f"gqaverify: {error}")
    if os.path.realpath(found) == os.path.realpath(sys.argv[0]):
        sys.exit("gqaverify: the program is missing beside the package")
    os.execv(found, [found, *sys.argv[1:]])


class Each:
    """The values of a flag that takes any number of them; one may stand alone."""

    def __init__(self, values: Any) -> None:
        alone = values is not None and (
            isinstance(values, (str, Mapping, os.PathLike, Record)) or _is_number(values)
        )
        self.values = [values] if alone else list(values or [])


class _Files:
    """What is given as objects, in files; texts of the program call them by their parameters."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._count = 0

    def word(self, value: Any) -> str:
        if isinstance(value, Record):
            return self._json(value.to_dict())
        if isinstance(value, Mapping):
            is_arrays = any(hasattr(entry, "__array__") or hasattr(entry, "__dlpack__")
                            for entry in value.values())
            if not is_arrays:
                return self._json(value)
            path = self._path("safetensors")
            save_recording(path, dict(value))
            return path
        if isinstance(value, os.PathLike):
            return str(os.fspath(value))
        return value if isinstance(value, str) else _words(value)

    def renamed(self, text: str) -> str:
        return re.sub(re.escape(str(self._folder)) + r"/input\d*\.(json|safetensors)", "input", text)

    def _json(self, value: Any) -> str:
        path = self._path("json")
        Path(path).write_text(json.dumps(value), encoding="utf-8")
        return path

    def _path(self, suffix: str) -> str:
        self._count += 1
        return str(self._folder / f"input{self._count}.{suffix}")


def _flag(flag: str, value: Any, files: _Files) -> List[str]:
    if value is None or value is False and flag != "--causal":
        return []
    if value is True:
        return [flag]
    if value is False:
        return [f"{flag}=off"]
    if isinstance(value, Each):
        return [f"{flag}={files.word(one)}" for one in value.values]
    return [f"{flag}={files.word(value)}"]


def _words(value: Any) -> str:
    """Numbers as the command line has them: 3, "1,0", "4,0;0,8"; floats by their bits."""
    if hasattr(value, "__array__") or hasattr(value, "__dlpack__"):
        value = host_array(value)[0].tolist()
    if not isinstance(value, (list, tuple)):
        return exact(value, "value") if _is_number(value) else str(value)
    is_nested = any(isinstance(entry, (list, tuple)) for entry in value)
    return (";" if is_nested else ",").join(_words(entry) for entry in value)


def _is_number(value: Any) -> bool:
    return isinstance(value, (int, float, Fraction, Decimal)) or hasattr(value, "__index__")


def _input_error(errors: str, flags: List[str], usage: bool) -> InputError:
    """From "gqaverify: WHERE: what is wrong [code]", or the message of a wrong command line."""
    line = errors.splitlines()[0] if errors else ""
    if usage:
        line = re.sub(r"^gqaverify[a-z ]*: ", "", line)
        known = {flag.lstrip("-"): flag.lstrip("-").replace("-", "_") for flag in flags}
        text = re.sub(r"--([a-z][a-z0-9-]*)", lambda m: known.get(m[1], m[0]), line)
        return InputError("usage", "", text)
    found = re.fullmatch(r"gqaverify: ((?:[^\s:]+: )*)(.*?)(?: \[([^\]\s]+)\])?", line)
    if found is None:
        return InputError("input", "", line)
    where, text, code = found.groups()
    return InputError(code or "input", where.removesuffix(": ") if where else "", text)


@functools.lru_cache(maxsize=None)
def _hints(kind: Any) -> Dict[str, Any]:
    names = {field.name for field in dataclasses.fields(kind)}
    return {name: hint for name, hint in get_type_hints(kind).items() if name in names}


def _decoded(kind: Any, entry: Any) -> Any:
    """JSON as the type that the report says it has; what is of no such type stays as it is."""
    if isinstance(kind, type) and dataclasses.is_dataclass(kind):
        if not isinstance(entry, dict):
            return entry
        fields = {
            name: _decoded(hint, entry[name.rstrip("_")])
            for name, hint in _hints(kind).items()
            if name.rstrip("_") in entry
        }
        made = kind(**fields)
        object.__setattr__(made, "_json", entry)
        return made
    origin, inner = get_origin(kind), get_args(kind)
    if origin is Union:
        return _decoded_union(inner, entry)
    if origin is list and isinstance(entry, list):
        return [_decoded(inner[0], one) for one in entry]
    if origin is dict and isinstance(entry, dict):
        return {name: _decoded(inner[1], one) for name, one in entry.items()}
    return entry


def _decoded_union(kinds: Tuple[Any, ...], entry: Any) -> Any:
    for kind in kinds:
        shape = dict if dataclasses.is_dataclass(kind) else get_origin(kind)
        if shape in (dict, list) and isinstance(entry, shape):
            return _decoded(kind, entry)
    return entry
