"""Hypothesis strategies: problems of grouped-query attention that shrink to a smallest failing one.

    from hypothesis import given
    from gqaverify import strategies

    @given(strategies.problems(causal=True))
    def test_kernel(problem):
        problem.check(my_kernel(problem.query, problem.key, problem.value))

Sizes, rules and the kind of numbers are drawn and shrink; the numbers follow from them and a seed.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Callable, Sequence

import numpy
from hypothesis import strategies as st

import gqaverify

# What numbers are hard on: from the plainest to those that cancel, repeat or saturate.
KINDS = ("integers", "normal", "uniform", "equal_keys", "large_scores", "one_heavy_key", "tiny")


@dataclass(frozen=True)
class Problem:
    """One problem: query [B, Hq, T, d], key and value [B, Hkv, S, d], what is declared of it."""

    query: numpy.ndarray[Any, Any]
    key: numpy.ndarray[Any, Any]
    value: numpy.ndarray[Any, Any]
    words: dict[str, Any] = field(default_factory=dict)
    kind: str = "normal"

    def check(self, output: Any, **words: Any) -> None:
        """gqaverify.assert_attention() of that output; further keywords, such as a tolerance."""
        __tracebackhide__ = True
        gqaverify.assert_attention(self.query, self.key, self.value, output, **self.words, **words)

    def audit(self, output: Any, **words: Any) -> gqaverify.AuditResult:
        return gqaverify.audit(self.query, self.key, self.value, output, **self.words, **words)

    def __repr__(self) -> str:
        b, h, t, d = self.query.shape
        sizes = f"B={b} Hq={h} Hkv={self.key.shape[1]} T={t} S={self.key.shape[2]} d={d}"
        kind = f"{self.kind} {self.query.dtype}"
        return f"Problem({sizes}, {kind}, {self.words})"


def _numbers(kind: str, seed: int, shapes: Sequence[tuple[int, ...]]) -> list[Any]:
    random = numpy.random.default_rng(seed)
    draws: dict[str, Callable[[tuple[int, ...]], Any]] = {
        "integers": lambda shape: random.integers(-3, 4, shape).astype(float),
        "uniform": lambda shape: random.random(shape),
        "tiny": lambda shape: random.standard_normal(shape) * 2.0**-10,
    }
    draw = draws.get(kind, random.standard_normal)
    query, key, value = (draw(shape) for shape in shapes)
    if kind == "equal_keys":
        key[:] = key[:, :, :1]
    elif kind == "large_scores":
        query *= 8
    elif kind == "one_heavy_key":
        query[..., 0] = 6
        key[:, :, 0, 0] = 6
    return [query, key, value]


@st.composite
def problems(
    draw: st.DrawFn,
    *,
    dtype: Any = numpy.float32,
    max_batch: int = 2,
    max_q_heads: int = 8,
    max_queries: int = 8,
    max_keys: int = 24,
    head_sizes: Sequence[int] = (1, 2, 4, 8, 16),
    causal: bool | None = None,
    window: bool | None = False,
    softcap: bool | None = False,
    decode: bool = False,
    kinds: Sequence[str] = KINDS,
) -> Problem:
    """Problems of any grouping with Hkv a divisor of Hq, numbers that `dtype` holds.

    causal, window, softcap: True always, False never, None either. decode: one query row.
    """
    kv_heads = draw(st.integers(1, max_q_heads), label="Hkv")
    q_heads = kv_heads * draw(st.integers(1, max_q_heads // kv_heads), label="Hq / Hkv")
    batch = draw(st.integers(1, max_batch), label="B")
    queries = 1 if decode else draw(st.integers(1, max_queries), label="T")
    keys = draw(st.integers(queries, max(queries, max_keys)), label="S")
    size = draw(st.sampled_from(list(head_sizes)), label="d")
    words: dict[str, Any] = {}

    def ruled(wanted: bool | None) -> bool:
        return draw(st.booleans()) if wanted is None else wanted

    if ruled(causal):
        words["causal"] = True
    if ruled(window):
        words["window"] = (draw(st.integers(0, keys), label="left"), -1)
    if ruled(softcap):
        words["softcap"] = draw(st.sampled_from([1, 5, 50]), label="softcap")
    kind = draw(st.sampled_from(list(kinds)), label="kind")
    seed = draw(st.integers(0, 2**16), label="seed")
    shapes = [
        (batch, q_heads, queries, size),
        (batch, kv_heads, keys, size),
        (batch, kv_heads, keys, size),
    ]
    query, key, value = (x.astype(dtype) for x in _numbers(kind, seed, shapes))
    return Problem(query, key, value, words, kind)
