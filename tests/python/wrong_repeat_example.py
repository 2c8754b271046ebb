"""A test as users write it, of an implementation with np.tile in the place of np.repeat.

Run by test_assert_attention.py, not collected by itself.
"""

import numpy as np
from attention import attend, operands

import gqaverify


def test_grouped_attention():
    query, key, value = operands(seed=7)
    output = attend(query, key, value, is_causal=True, repeat=np.tile)
    gqaverify.assert_attention(query, key, value, output, causal=True)


def test_right_repeat():
    query, key, value = operands(seed=7)
    output = attend(query, key, value, is_causal=True, repeat=np.repeat)
    gqaverify.assert_attention(query, key, value, output, causal=True)
