"""Arrays of any library as NumPy arrays in host memory."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from ._words import element_type

if TYPE_CHECKING:
    import numpy

# Types that NumPy itself has not: the integers that hold their bits.
BITS = {"bfloat16": "uint16", "float8_e4m3fn": "uint8", "float8_e5m2": "uint8"}


def host_array(given: Any) -> tuple[numpy.ndarray[Any, Any], str | None]:
    """The elements, little-endian, in a row-major array; and the type whose bits they are, where
    that is one of BITS that the array's own type does not tell.

    Torch tensors come without their gradient and from any device, arrays of CuPy through its
    `get`, others by DLPack, the buffer protocol or what NumPy makes of them. Nothing is copied
    where the memory is such an array already.
    """
    import numpy

    stated = None
    if type(given).__module__.partition(".")[0] == "torch" and hasattr(given, "detach"):
        array, stated = _of_torch(given)
    elif isinstance(given, numpy.ndarray):
        array = given
    elif hasattr(given, "__cuda_array_interface__") and hasattr(given, "get"):
        array = given.get()
    elif hasattr(given, "__dlpack__") and not hasattr(given, "__array__"):
        array = numpy.from_dlpack(given)
    else:
        array = numpy.asarray(given)
    return numpy.ascontiguousarray(array.astype(array.dtype.newbyteorder("<"), copy=False)), stated


def kept_array(given: Any) -> tuple[numpy.ndarray[Any, Any], str | None]:
    """As host_array(), in memory of its own: what a model overwrites later is not seen."""
    array, stated = host_array(given)
    return (array if array.base is None and array is not given else array.copy()), stated


def _of_torch(tensor: Any) -> tuple[numpy.ndarray[Any, Any], str | None]:
    import numpy

    host = tensor.detach().cpu()
    name = element_type(host.dtype)
    if name not in BITS:
        array: numpy.ndarray[Any, Any] = host.numpy()
        return array, None
    torch = sys.modules["torch"]
    bits = host.view(torch.int16 if BITS[name] == "uint16" else torch.uint8)
    return bits.numpy().view(BITS[name]), name
