"""`gqaverify pool` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import Any, Dict, List, Literal, Optional

from .._program import Input, Record, Report, run


@dataclass(frozen=True)
class PoolCertificate(Record):
    """What gqaverify check verifies; other fields are those of its kind.

    kind: the rule that verifies it.
    """

    kind: str


@dataclass(frozen=True)
class PoolGroup(Record):
    """Heads of one KV head; or of weights.

    lossless: pooling changes nothing.
    verdict: what is lost.
    """

    kv_head: int
    lossless: Optional[bool] = None
    batch: Optional[int] = None
    loss_at_equal_scores: Optional[List[List[str]]] = None
    head_in_group: Optional[int] = None
    positions: Optional[int] = None
    counterexample: Optional[Dict[str, Any]] = None
    certificate: Optional[PoolCertificate] = None
    verdict: Optional[str] = None


@dataclass(frozen=True)
class PoolRule(Record):
    """How heads became fewer.

    max_difference: exact.
    """

    rule: str
    matches: bool
    max_difference: str


@dataclass(frozen=True, repr=False)
class PoolReport(Report):
    """Whether replacing heads by their mean changes an output.

    holds: nothing is lost, or the mean it is.
    pairs: head counts and their smallest counterexample.
    """

    kind: Literal["histories", "weights", "conversion", "smallest"]
    holds: bool
    groups: Optional[List[PoolGroup]] = None
    rules: Optional[List[PoolRule]] = None
    pairs: Optional[List[Dict[str, Any]]] = None


def pool(
    file: Optional[Input] = None,
    *,
    kv_heads: Optional[int] = None,
    causal: Optional[bool] = None,
    layer: Optional[Input] = None,
    smallest: Optional[int] = None,
    certificates: Optional[Input] = None,
) -> PoolReport:
    """Whether replacing heads by their mean changes an output, and how much.

    FILE is JSON or .safetensors with key and value ([H, S, size]): are the outputs kept for every
    query? With key_weight, value_weight and perhaps query_weight ([H, size, D]) and key_bias,
    value_bias, query_bias ([H, size]): for every input, in a layer without rotary embedding or
    normalised keys, or in the one that layer declares? With heads and pooled: is pooled the mean of
    adjacent heads, or made otherwise? Exit status: 0 nothing is lost, 1 something is.

    file: The heads.
    kv_heads: KV heads to pool to (default 1).
    causal: At every position, not only over all of them.
    layer: Of projections: a JSON file, or the object itself, with rotary, query_norm, key_norm,
        norm_epsilon.
    smallest: Instead: the smallest integer counterexamples for up to N query heads; not with FILE.
    certificates: Write each group's certificate to DIR.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        PoolReport,
        ["pool"],
        [file],
        {
            "--kv-heads": kv_heads,
            "--causal": causal,
            "--layer": layer,
            "--smallest": smallest,
            "--certificates": certificates,
        },
    )
