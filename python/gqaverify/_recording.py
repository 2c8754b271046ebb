"""A problem and its outputs as a recording, which `gqaverify audit FILE` reads."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from typing import TYPE_CHECKING, Any

from ._errors import InputError
from ._host import BITS, host_array
from ._words import contract_json, element_type

if TYPE_CHECKING:
    import numpy

# Names of element types in safetensors (the format's README, "Format").
_TYPES = {
    "float64": "F64",
    "float32": "F32",
    "float16": "F16",
    "bfloat16": "BF16",
    "float8_e4m3fn": "F8_E4M3",
    "float8_e5m2": "F8_E5M2",
    "int64": "I64",
    "int32": "I32",
    "int16": "I16",
    "int8": "I8",
    "uint8": "U8",
    "bool": "BOOL",
}
# What `dtype` says of their arrays; other tensors keep the type that they come in.
_OPERANDS = frozenset(
    "query key value output past_key past_value present_key present_value qk_matmul_output lse "
    "grad_output grad_query grad_key grad_value".split()
)


def save_recording(
    path: str | os.PathLike[str],
    tensors: dict[str, Any],
    contract: dict[str, Any] | None = None,
    dtype: Any = None,
) -> None:
    """Writes tensors (by the names of the contract) and the contract to a safetensors file.

    Arrays as audit() takes them, and torch tensors on any device; `dtype` says what uint16 and
    uint8 arrays hold. The file appears whole or not at all. TypeError for a type that recordings
    have not.
    """
    stated = element_type(dtype)
    parts: list[bytes] = []
    header: dict[str, Any] = {"__metadata__": {"attention": contract_json(contract or {})}}
    offset = 0
    for name, given in tensors.items():
        if given is None:
            continue
        array, held = host_array(given)
        word = _TYPES[held] if held else _word(array, stated if name in _OPERANDS else None, name)
        content = array.tobytes()
        header[name] = {
            "dtype": word,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(content)],
        }
        offset += len(content)
        parts.append(content)
    _write(os.fspath(path), json.dumps(header).encode(), parts)


def load_recording(
    path: str | os.PathLike[str],
) -> tuple[dict[str, numpy.ndarray[Any, Any]], dict[str, Any], str | None]:
    """What save_recording() wrote: tensors, contract, dtype.

    bfloat16 and float8 tensors come as their bits, uint16 and uint8, and `dtype` tells which
    they are. InputError for a file that is no safetensors file with one such type.
    """
    import numpy

    where = os.fspath(path)
    header, content = _read(where)
    contract = json.loads(header.pop("__metadata__", {}).get("attention", "{}"))
    words = {word: name for name, word in _TYPES.items()}
    tensors = {}
    narrow = set()
    for name, entry in header.items():
        held = words.get(entry["dtype"])
        if held is None:
            raise InputError("recording.dtype", f"{where}: {name}", f"type {entry['dtype']}")
        if held in BITS:
            narrow.add(held)
        begin, end = entry["data_offsets"]
        flat = numpy.frombuffer(content[begin:end], numpy.dtype(BITS.get(held, held)))
        tensors[name] = flat.reshape(entry["shape"])
    if len(narrow) > 1:
        raise InputError("recording.dtype", where, f"holds {' and '.join(sorted(narrow))}")
    return tensors, contract, next(iter(narrow), None)


def _read(path: str) -> tuple[dict[str, Any], bytes]:
    with open(path, "rb") as file:
        whole = file.read()
    try:
        (length,) = struct.unpack("<Q", whole[:8])
        header: dict[str, Any] = json.loads(whole[8 : 8 + length])
    except (ValueError, struct.error) as error:
        raise InputError("recording.header", path, f"is no safetensors file: {error}") from None
    return header, whole[8 + length :]


def _word(array: numpy.ndarray[Any, Any], stated: str | None, name: str) -> str:
    # The library's words for NumPy's types.
    names = {"binary64": "float64", "binary32": "float32", "binary16": "float16"}
    held = array.dtype.name
    if stated is not None and held in ("uint16", "uint8") and BITS.get(stated) == held:
        return _TYPES[stated]
    if stated is not None and names.get(stated, stated) != held:
        raise TypeError(f"{name} holds {held}; recordings keep bits: give it as {stated}")
    if held not in _TYPES:
        raise TypeError(f"{name} holds {held}, which recordings have no type for")
    return _TYPES[held]


def _write(path: str, header: bytes, parts: list[bytes]) -> None:
    folder = os.path.dirname(path) or "."
    handle, temporary = tempfile.mkstemp(dir=folder, prefix=".gqaverify-")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(struct.pack("<Q", len(header)))
            file.write(header)
            file.writelines(parts)
        os.replace(temporary, path)
    except BaseException:
        os.unlink(temporary)
        raise
