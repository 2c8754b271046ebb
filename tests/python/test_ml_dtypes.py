"""Arrays of the narrow types that ml_dtypes registers with NumPy."""

import numpy as np
import pytest
from attention import attend, operands

import gqaverify

ml_dtypes = pytest.importorskip("ml_dtypes")

TYPES = [ml_dtypes.bfloat16, ml_dtypes.float8_e4m3fn, ml_dtypes.float8_e5m2]


@pytest.fixture(name="dtype", params=TYPES, ids=lambda dtype: np.dtype(dtype).name)
def _dtype(request):
    return request.param


def narrow_operands(seed, dtype):
    return [x.astype(dtype) for x in operands(seed)]


def test_a_right_output_passes_and_a_tiled_one_is_named(dtype):
    query, key, value = narrow_operands(41, dtype)
    output = attend(query, key, value, is_causal=True)
    assert output.dtype == dtype
    result = gqaverify.audit(query, key, value, output, causal=True)
    assert result, str(result)
    assert f", {np.dtype(dtype).name}; " in str(result)
    # Rounded once, from float64: half an ulp of the type, or a little more where ml_dtypes rounds
    # through float32.
    assert result.max_ulp.upper < 0.51
    tiled = attend(query, key, value, is_causal=True, repeat=np.tile)
    with pytest.raises(AssertionError, match="head_map.tiled"):
        gqaverify.assert_attention(query, key, value, tiled, causal=True)


def test_the_bits_and_the_type_are_the_same_problem(dtype):
    arrays = narrow_operands(42, dtype)
    arrays.append(attend(*arrays))
    expected = gqaverify.audit(*arrays).to_json()
    bits = [x.view(f"u{x.itemsize}") for x in arrays]
    assert gqaverify.audit(*bits, dtype=dtype).to_json() == expected
    wide = [x.astype(np.float32) for x in arrays]
    assert gqaverify.audit(*wide, dtype=dtype).to_json() == expected
    strided = [np.asfortranarray(x) for x in arrays]
    assert gqaverify.audit(*strided).to_json() == expected
    reversed_ = [np.ascontiguousarray(x[::-1, :, ::-1])[::-1, :, ::-1] for x in arrays]
    assert gqaverify.audit(*reversed_).to_json() == expected


def test_the_reference_is_that_of_the_numbers_in_the_arrays(dtype):
    arrays = narrow_operands(43, dtype)
    got = gqaverify.reference(*arrays, causal=True)
    expected = gqaverify.reference(*(x.astype(np.float64) for x in arrays), causal=True)
    np.testing.assert_array_equal(got.values, expected.values)
    oracle = attend(*(x.astype(np.float64) for x in arrays), is_causal=True)
    np.testing.assert_allclose(got.values, oracle, rtol=1e-12, atol=1e-13)


def test_identify_puts_probes_of_the_type_before_a_function(dtype):
    seen = set()

    def right(query, key, value, *, is_causal=False, window=None, scale=None, attn_mask=None):
        seen.update(x.dtype for x in (query, key, value))
        if attn_mask is not None and attn_mask.dtype != bool:
            attn_mask = attn_mask.astype(np.float64)
        return attend(query, key, value, is_causal=is_causal, window=window, scale=scale,
                      attn_mask=attn_mask)

    def tiled(query, key, value, *, is_causal=False):
        return attend(query, key, value, is_causal=is_causal, repeat=np.tile)

    report = gqaverify.identify(right, dtype=dtype)
    assert report, str(report)
    assert seen == {np.dtype(dtype)}
    assert gqaverify.identify(tiled, dtype=dtype).faults == ["head_map.tiled"]


def test_generated_problems_are_in_the_type(dtype):
    def right(query, key, value, *, is_causal=False):
        assert query.dtype == dtype
        return attend(query, key, value, is_causal=is_causal)

    audited = gqaverify.audit_kernel(right, dtype=dtype, problems=5)
    assert audited, str(audited)


def test_types_that_attention_has_not_are_refused_by_their_name():
    query, key, value = operands(44)
    for name in ("float8_e4m3b11fnuz", "float8_e4m3fnuz", "int4"):
        if not hasattr(ml_dtypes, name):
            continue
        wrong = value.astype(getattr(ml_dtypes, name))
        with pytest.raises(gqaverify.InputError, match=name) as caught:
            gqaverify.audit(query, key, wrong, query)
        assert (caught.value.code, caught.value.where) == ("tensor.element_type", "value")
