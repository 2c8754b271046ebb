"""Writes a problem and its outputs as a recording, which `gqaverify audit FILE` reads."""

from __future__ import annotations

import json
import os
import struct
import tempfile
from typing import TYPE_CHECKING, Any

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
_BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}
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

    Arrays as audit() takes them; `dtype` says what uint16 and uint8 arrays hold. The file appears
    whole or not at all. TypeError for a type that recordings have not.
    """
    stated = element_type(dtype)
    parts: list[bytes] = []
    header: dict[str, Any] = {"__metadata__": {"attention": contract_json(contract or {})}}
    offset = 0
    for name, given in tensors.items():
        if given is None:
            continue
        array = _array(given)
        word = _word(array, stated if name in _OPERANDS else None, name)
        content = array.tobytes()
        header[name] = {
            "dtype": word,
            "shape": list(array.shape),
            "data_offsets": [offset, offset + len(content)],
        }
        offset += len(content)
        parts.append(content)
    _write(os.fspath(path), json.dumps(header).encode(), parts)


def _array(given: Any) -> numpy.ndarray[Any, Any]:
    import numpy

    if isinstance(given, numpy.ndarray):
        array = given
    elif hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        array = numpy.from_dlpack(given)
    else:
        array = numpy.asarray(given)
    return numpy.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False))


def _word(array: numpy.ndarray[Any, Any], stated: str | None, name: str) -> str:
    # The library's words for NumPy's types.
    names = {"binary64": "float64", "binary32": "float32", "binary16": "float16"}
    held = array.dtype.name
    if stated is not None and held in ("uint16", "uint8") and _BITS.get(stated) == held:
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
