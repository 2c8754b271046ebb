"""Hypothesis problems: right kernels pass, wrong ones shrink to a small problem."""

import numpy as np
import pytest

hypothesis = pytest.importorskip("hypothesis")

import gqaverify  # noqa: E402
from gqaverify import strategies  # noqa: E402

QUIET = hypothesis.settings(
    max_examples=60, deadline=None, database=None, derandomize=True,
    suppress_health_check=list(hypothesis.HealthCheck),
)


def attention(problem, expand=np.repeat):
    """By NumPy in the problem's type, as somebody would write it."""
    group = problem.query.shape[1] // problem.key.shape[1]
    copies = (group, 1) if expand is np.repeat else ((1, group, 1, 1),)
    key, value = (expand(x, *copies) for x in (problem.key, problem.value))
    scores = problem.query @ key.swapaxes(-1, -2) / np.sqrt(problem.query.dtype.type(key.shape[-1]))
    queries, keys = scores.shape[-2:]
    place = np.arange(queries)[:, None] + keys - queries
    visible = np.ones((queries, keys), bool)
    if problem.words.get("causal"):
        visible &= np.arange(keys) <= place
    if "window" in problem.words:
        visible &= np.arange(keys) >= place - problem.words["window"][0]
    if "softcap" in problem.words:
        cap = scores.dtype.type(problem.words["softcap"])
        scores = cap * np.tanh(scores / cap)
    scores = np.where(visible, scores, -np.inf)
    weights = np.exp(scores - scores.max(-1, keepdims=True))
    return (weights / weights.sum(-1, keepdims=True)) @ value


@QUIET
@hypothesis.given(strategies.problems(causal=None, window=None, softcap=None))
def test_a_right_kernel_passes_on_every_problem(problem):
    result = problem.audit(attention(problem))
    assert result.verdict != "fail", f"{problem}\n{result}"


def test_a_tiled_map_shrinks_to_four_heads_on_two():
    smallest = hypothesis.find(
        strategies.problems(),
        lambda problem: problem.audit(attention(problem, np.tile)).verdict == "fail",
        settings=hypothesis.settings(QUIET, max_examples=500),
    )
    assert smallest.query.shape[:3] == (1, 4, 1), repr(smallest)
    assert smallest.key.shape[1] == 2
    assert smallest.key.shape[3] == 1
    with pytest.raises(gqaverify.AttentionError):
        smallest.check(attention(smallest, np.tile))


@pytest.mark.parametrize("decode", [True, False])
def test_problems_have_the_shapes_that_were_asked_for(decode):
    @QUIET
    @hypothesis.given(strategies.problems(decode=decode, dtype=np.float16, head_sizes=(3,)))
    def check(problem):
        batch, q_heads, queries, size = problem.query.shape
        kv_heads, keys = problem.key.shape[1:3]
        assert q_heads % kv_heads == 0
        assert keys >= queries
        assert (queries == 1) or not decode
        assert size == 3
        assert problem.query.dtype == np.float16
        assert problem.value.shape == (batch, kv_heads, keys, 3)

    check()
