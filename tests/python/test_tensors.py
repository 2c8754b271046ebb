"""Tensors from every kind of object, element for element."""

import array
import ctypes
import itertools

import numpy as np
import pytest
from attention import attend, bfloat16_bits, from_bfloat16, operands

import gqaverify


class Dlpack:
    """Nothing but the protocol, as of another library's array."""

    def __init__(self, exported, device=(1, 0)):
        self._exported = exported
        self._device = device

    def __dlpack__(self, *, stream=None):
        return self._exported.__dlpack__()

    def __dlpack_device__(self):
        return self._device


class DLTensor(ctypes.Structure):
    _fields_ = [
        ("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32),
        ("ndim", ctypes.c_int32), ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8),
        ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
        ("strides", ctypes.POINTER(ctypes.c_int64)), ("byte_offset", ctypes.c_uint64),
        ("manager_ctx", ctypes.c_void_p), ("deleter", ctypes.c_void_p)]


class RawDlpack:
    """A capsule written by hand: any type code, strides or none, an offset."""

    def __init__(self, elements, code, bits, strides=True, lanes=1, skipped=0):
        self._elements = elements
        steps = [s // elements.itemsize for s in elements.strides]
        extents = (ctypes.c_int64 * elements.ndim)(*elements.shape)
        self._steps = (ctypes.c_int64 * elements.ndim)(*steps) if strides else None
        self._extents = extents
        self._tensor = DLTensor(
            elements.ctypes.data - skipped, 1, 0, elements.ndim, code, bits, lanes, extents,
            self._steps, skipped, None, None)

    def __dlpack__(self):
        new = ctypes.pythonapi.PyCapsule_New
        new.restype = ctypes.py_object
        new.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        return new(ctypes.addressof(self._tensor), b"dltensor", None)

    def __dlpack_device__(self):
        return (1, 0)


@pytest.fixture(name="problem")
def _problem():
    query, key, value = operands(seed=31)
    return query, key, value, attend(query, key, value)


def views(x):
    """The same elements in memories that are not row-major."""
    yield "fortran", np.asfortranarray(x)
    yield "transposed", np.ascontiguousarray(x.swapaxes(1, 2)).swapaxes(1, 2)
    padded = np.full((*x.shape[:-1], 2 * x.shape[-1] + 3), np.nan, x.dtype)
    padded[..., 1:-2:2] = x
    yield "every second", padded[..., 1:-2:2]
    yield "reversed", np.ascontiguousarray(x[::-1, :, ::-1])[::-1, :, ::-1]
    record = np.zeros(x.shape, [("pad", "u1"), ("x", x.dtype)])
    record["x"] = x
    yield "unaligned", record["x"]
    yield "other byte order", x.astype(x.dtype.newbyteorder(">"))


def test_arrays_that_are_not_contiguous_give_the_same_result(problem):
    expected = gqaverify.audit(*problem).to_json()
    for number, tensor in enumerate(problem):
        for name, view in views(tensor):
            np.testing.assert_array_equal(view, tensor)
            given = list(problem)
            given[number] = view
            assert gqaverify.audit(*given).to_json() == expected, (number, name)


def test_broadcast_arrays_have_zero_strides(problem):
    query, key, value, _ = problem
    one = np.broadcast_to(key[:, :1], key.shape)
    output = attend(query, one, value)
    assert one.strides[1] == 0
    assert gqaverify.audit(query, one, value, output)
    assert not gqaverify.audit(query, key, value, output, diagnose=False)


def test_dlpack_gives_the_same_result(problem):
    expected = gqaverify.audit(*problem).to_json()
    assert gqaverify.audit(*map(Dlpack, problem)).to_json() == expected
    strided = [Dlpack(np.asfortranarray(x)) for x in problem]
    assert gqaverify.audit(*strided).to_json() == expected
    by_hand = [RawDlpack(x, 2, 32, strides=False) for x in problem]
    assert gqaverify.audit(*by_hand).to_json() == expected
    offset = [RawDlpack(x, 2, 32, skipped=64) for x in problem]
    assert gqaverify.audit(*offset).to_json() == expected


def test_dlpack_memory_is_given_back():
    class Counted(np.ndarray):
        pass

    import gc
    import weakref

    query, key, value = operands(seed=32)
    output = attend(query, key, value)
    tracked = query.view(Counted)
    gone = weakref.ref(tracked)
    gqaverify.audit(Dlpack(tracked), key, value, output)
    del tracked
    gc.collect()
    assert gone() is None


def test_dlpack_of_another_device_is_refused(problem):
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.audit(Dlpack(problem[0], device=(2, 0)), *problem[1:])
    assert (caught.value.code, caught.value.where) == ("tensor.device", "query")
    assert "device 2" in caught.value.message
    # Pinned memory of a CUDA device is the CPU's own.
    assert gqaverify.audit(Dlpack(problem[0], device=(3, 0)), *problem[1:])


@pytest.mark.parametrize(
    ("answer", "said"), [(RuntimeError("needs grad"), "needs grad"), (7, "no capsule")])
def test_dlpack_that_fails_is_an_input_error(problem, answer, said):
    class Failing:
        def __dlpack__(self):
            if isinstance(answer, Exception):
                raise answer
            return answer

    with pytest.raises(gqaverify.InputError, match=said) as caught:
        gqaverify.audit(problem[0], Failing(), *problem[2:])
    assert (caught.value.code, caught.value.where) == ("tensor.dlpack", "key")
    # One line, without where in the object's library it was raised.
    assert "\n" not in caught.value.message


def test_an_interruption_inside_dlpack_passes_through(problem):
    class Interrupted:
        def __dlpack__(self):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        gqaverify.audit(Interrupted(), *problem[1:])


def test_the_buffer_protocol_and_sequences_are_taken():
    query = np.zeros((1, 1, 1, 2), np.float32)
    value = np.array([[[[1.0, 3.0], [5.0, 7.0]]]], np.float32)
    key = np.zeros_like(value)
    # Two equal scores: the mean of (1, 3) and (5, 7).
    output = memoryview(array.array("f", [3.0, 5.0])).cast("B").cast("f", (1, 1, 1, 2))
    assert gqaverify.audit(query, memoryview(key), value, output, max_ulp=0)
    assert gqaverify.audit(query, key, value.tolist(), [[[[3.0, 5.0]]]], max_ulp=0)
    lengths = array.array("q", [1])
    assert gqaverify.audit(query, key, value, value[:, :, :1], nonpad_kv_seqlen=lengths, max_ulp=0)


def bfloat16_problem(seed):
    bits = [bfloat16_bits(x) for x in operands(seed)]
    exact = attend(*(from_bfloat16(x) for x in bits), is_causal=True)
    return [*bits, bfloat16_bits(exact)]


def test_bfloat16_as_bits_as_wider_floats_and_through_dlpack():
    bits = bfloat16_problem(33)
    result = gqaverify.audit(*bits, causal=True, dtype="bfloat16")
    assert result, str(result)
    assert result.max_ulp.upper < 0.51
    expected = result.to_json()
    assert expected["tolerance"]["model"] == "bf16-f32"
    words = {"causal": True, "dtype": "bfloat16"}
    assert gqaverify.audit(*(x.view(np.int16) for x in bits), **words).to_json() == expected
    assert gqaverify.audit(*map(from_bfloat16, bits), **words).to_json() == expected
    mixed = [bits[0], from_bfloat16(bits[1]), RawDlpack(bits[2], 4, 16), bits[3]]
    assert gqaverify.audit(*mixed, **words).to_json() == expected
    own_type = [RawDlpack(x, 4, 16) for x in bits]
    assert gqaverify.audit(*own_type, causal=True).to_json() == expected


def test_bfloat16_of_ml_dtypes_is_known_by_its_name():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    bits = bfloat16_problem(34)
    arrays = [x.view(ml_dtypes.bfloat16) for x in bits]
    expected = gqaverify.audit(*bits, causal=True, dtype="bfloat16").to_json()
    assert gqaverify.audit(*arrays, causal=True).to_json() == expected
    eighth = [np.asarray(x, np.float32).astype(ml_dtypes.float8_e4m3fn) for x in operands(35)]
    output = attend(*(x.astype(np.float32) for x in eighth))
    assert gqaverify.audit(*eighth, output)


def test_float8_as_bits():
    # e4m3fn: 0x38 is 1, 0x40 is 2, 0x44 is 3.
    query = np.zeros((1, 1, 1, 2), np.uint8)
    value = np.array([[[[0x38, 0x40], [0x44, 0x40]]]], np.uint8)
    output = np.array([[[[0x40, 0x40]]]], np.uint8)
    words = {"dtype": "float8_e4m3fn", "max_ulp": 0}
    assert gqaverify.audit(query, np.zeros_like(value), value, output, **words)
    output[..., 0] = 0x41
    assert not gqaverify.audit(query, np.zeros_like(value), value, output, **words)


def test_integers_whose_bits_nobody_explains_are_refused():
    bits = bfloat16_problem(36)
    with pytest.raises(gqaverify.InputError, match="say which with dtype") as caught:
        gqaverify.audit(*bits)
    assert (caught.value.code, caught.value.where) == ("tensor.element_type", "query")


def test_floats_that_are_no_numbers_of_dtype_are_refused(problem):
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.audit(*problem, dtype="bfloat16")
    assert (caught.value.code, caught.value.where) == ("tensor.not_representable", "query")


@pytest.mark.parametrize("wrong", [np.complex64, np.int32, np.uint32, "U3", np.longdouble])
def test_element_types_that_attention_has_not_are_refused(problem, wrong):
    tensor = np.ones(problem[1].shape, wrong)
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.audit(problem[0], tensor, *problem[2:])
    assert caught.value.where == "key"
    assert caught.value.code in ("tensor.element_type", "contract.element_type")


@pytest.mark.parametrize("wrong", [None, object(), "text", [[1.0], [2.0, 3.0]], {}])
def test_what_is_no_array_is_refused(problem, wrong):
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.audit(problem[0], problem[1], wrong, problem[3])
    assert caught.value.where == "value"


def test_dtypes_may_be_named_in_any_words(problem):
    for dtype in ("float32", np.float32, np.dtype("float32"), "binary32", "torch.float32"):
        assert gqaverify.audit(*problem, dtype=dtype)


def test_lanes_and_unknown_codes_are_refused(problem):
    for code, bits, lanes in itertools.product((2, 5, 99), (32, 64), (1, 2)):
        if (code, bits, lanes) in ((2, 32, 1), (2, 64, 1)):
            continue
        with pytest.raises(gqaverify.InputError) as caught:
            gqaverify.audit(RawDlpack(problem[0], code, bits, lanes=lanes), *problem[1:])
        assert (caught.value.code, caught.value.where) == ("tensor.element_type", "query")
