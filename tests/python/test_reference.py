"""reference: certified values, checked with exact fractions and with another precision."""

from fractions import Fraction

import numpy as np
from attention import attend, operands

import gqaverify


def test_equal_scores_give_the_exact_mean_within_the_radius():
    query = np.zeros((1, 1, 1, 2), np.float32)
    key = np.zeros((1, 1, 3, 2), np.float32)
    value = np.array([[[[1.0, 0.5], [2.0, 0.25], [4.0, 1.0]]]], np.float32)
    values, radii = gqaverify.reference(query, key, value)
    assert values.dtype == radii.dtype == np.float64
    assert values.shape == radii.shape == (1, 1, 1, 2)
    for found, radius, exact in zip(values.flat, radii.flat, (Fraction(7, 3), Fraction(7, 12))):
        assert abs(Fraction(found) - exact) <= Fraction(radius)
        assert 0 < radius < 2.0**-52 * found


def test_random_problems_agree_with_float64():
    for seed in range(5):
        query, key, value = operands(seed=40 + seed, dtype=np.float64)
        found = gqaverify.reference(query, key, value, causal=True)
        expected = attend(query, key, value, is_causal=True)
        close = {"rtol": 1e-12, "atol": 1e-14, "err_msg": str(seed)}
        np.testing.assert_allclose(found.values, expected, **close)
        assert np.all(found.radii <= 2.0**-52 * np.abs(found.values)), seed
        assert np.all(found.radii >= 0)


def test_an_audit_of_the_reference_itself_is_within_half_an_ulp():
    query, key, value = operands(seed=46)
    values, _ = gqaverify.reference(query, key, value)
    result = gqaverify.audit(query, key, value, values, max_ulp="0.5001")
    assert result, str(result)


def test_empty_rows_and_rows_that_read_nan():
    query, key, value = operands(seed=47, queries=3, keys=2)
    words = {"causal": True}  # bottom right: row 0 sees no key
    nothing = {"zero": (0.0, 0.0), "nan": (np.nan, 0.0), "any": (np.nan, np.inf)}
    for policy, (value_of, radius_of) in nothing.items():
        found = gqaverify.reference(query, key, value, **words, empty_row=policy)
        first = np.ones_like(found.values[:, :, 0])
        np.testing.assert_array_equal(found.values[:, :, 0], first * value_of)
        np.testing.assert_array_equal(found.radii[:, :, 0], first * radius_of)
        assert np.isfinite(found.values[:, :, 1:]).all()
    mean = gqaverify.reference(query, key, value, **words, empty_row="mean")
    expected = np.repeat(value.astype(float).mean(2), 3, axis=1)
    np.testing.assert_allclose(mean.values[:, :, 0], expected, rtol=1e-14)
    words = {**words, "empty_row": "nan", "sink": np.zeros(6, np.float32)}
    sink = gqaverify.reference(query, key, value, **words)
    assert (sink.values[:, :, 0] == 0).all() and (sink.radii[:, :, 0] == 0).all()
    words = {"causal": True}
    value[0, 0, 1, 0] = np.nan
    broken = gqaverify.reference(query, key, value, **words)
    assert np.isnan(broken.values[0, :3, 2]).all() and np.isinf(broken.radii[0, :3, 2]).all()
    assert np.isfinite(broken.values[1]).all()
