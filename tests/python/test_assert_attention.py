"""assert_attention: a failing test says what is wrong, not how far off it is."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from attention import attend, operands

import gqaverify

HERE = Path(__file__).resolve().parent


def run_pytest(*arguments):
    words = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-q", *arguments]
    return subprocess.run(words, capture_output=True, text=True, cwd=HERE, timeout=300, check=False)


def test_a_pytest_with_tile_instead_of_repeat_fails_with_the_name_of_the_fault():
    result = run_pytest("wrong_repeat_example.py")
    assert result.returncode == 1, result.stdout + result.stderr
    assert "1 failed, 1 passed" in result.stdout, result.stdout
    assert "AttentionError: attention is wrong: head_map.tiled" in result.stdout, result.stdout
    # pytest points at the user's own line, and shows none of the package's.
    lines = [line for line in result.stdout.splitlines() if line.startswith(">")]
    assert [line[1:].strip() for line in lines] == [
        "gqaverify.assert_attention(query, key, value, output, causal=True)"]
    assert "_audit.py:" not in result.stdout, result.stdout


def test_a_right_output_raises_nothing():
    query, key, value = operands(seed=1)
    gqaverify.assert_attention(query, key, value, attend(query, key, value))


def test_the_error_is_an_assertion_error_and_carries_the_result():
    query, key, value = operands(seed=2)
    output = attend(query, key, value, repeat=np.tile)
    with pytest.raises(AssertionError) as caught:
        gqaverify.assert_attention(query, key, value, output)
    assert isinstance(caught.value, gqaverify.AttentionError)
    assert caught.value.result.faults == ["head_map.tiled"]
    assert str(caught.value).startswith("attention is wrong: head_map.tiled\n")
    # At Hq = 6, Hkv = 2 the maps h mod 2 and h // 3 differ in heads 1 and 4.
    assert "query heads 1 and 4" in str(caught.value)


def test_an_unexplained_output_says_that_nothing_explains_it():
    query, key, value = operands(seed=3)
    output = np.random.default_rng(4).standard_normal(query.shape).astype(np.float32)
    with pytest.raises(AssertionError, match="attention is wrong, and no known fault explains it"):
        gqaverify.assert_attention(query, key, value, output)


def test_an_undecided_output_is_not_verified():
    query, key, value = operands(seed=5)
    output = attend(query, key, value)
    key[0, 0, 0, 0] = np.nan  # visible: the contract gives no number
    with pytest.raises(AssertionError, match="attention was not verified") as caught:
        gqaverify.assert_attention(query, key, value, output)
    assert caught.value.result.verdict == "undecided"


def test_packed_documents_are_told_apart_from_one_long_one():
    random = np.random.default_rng(6)
    query = random.standard_normal((6, 4, 8)).astype(np.float32)  # [total, Hq, d]
    key, value = (random.standard_normal((6, 2, 8)).astype(np.float32) for _ in range(2))
    offsets = np.array([0, 2, 6], np.int32)

    def bhsd(x):
        return x.swapaxes(0, 1)[None]

    parts = [
        attend(*(bhsd(x[begin:end]) for x in (query, key, value)), is_causal=True)[0].swapaxes(0, 1)
        for begin, end in zip(offsets, offsets[1:])
    ]
    right = np.concatenate(parts)
    words = {"cu_seqlens_q": offsets, "causal": True}
    gqaverify.assert_attention(query, key, value, right, **words)
    results = gqaverify.audit_documents(query, key, value, right, **words)
    assert [r.elements for r in results] == [2 * 4 * 8, 4 * 4 * 8]
    wrong = attend(*(bhsd(x) for x in (query, key, value)), is_causal=True)[0].swapaxes(0, 1)
    with pytest.raises(AssertionError, match="document 1"):
        gqaverify.assert_attention(query, key, value, wrong, **words)
    with pytest.raises(TypeError, match="audit_documents"):
        gqaverify.audit(query, key, value, right, **words)
