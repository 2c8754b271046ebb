"""`gqaverify rank` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import List, Literal, Optional, Sequence, Union

from .._program import Each, Input, Record, Report, run
from .._words import Number


@dataclass(frozen=True)
class RankConfiguration(Record):
    """Of a Rank report."""

    group_size: int
    positions: int
    key_size: int
    value_size: int
    model_size: Union[int, None]
    causal: bool
    window: Union[int, None]
    tied: bool
    constant_column: bool
    softmax_reachable: bool


@dataclass(frozen=True)
class RankRank(Record):
    """Of a Rank report.

    quantity: of what.
    bound: why not more.
    witness: why not less.
    """

    quantity: str
    verdict: Literal["proved", "undecided"]
    shape: List[int]
    lower: int
    upper: int
    bound: str
    witness: str


@dataclass(frozen=True)
class RankSpread(Record):
    """Certified to its digits."""

    digits: str
    lower: Union[float, Literal["nan", "inf", "-inf"]]
    upper: Union[float, Literal["nan", "inf", "-inf"]]


@dataclass(frozen=True)
class RankGroup(Record):
    """Of a Rank report."""

    batch: int
    kv_head: int
    query_heads: List[int]
    rank: int
    full_rank: int
    recorded_rank: int
    participation_ratio: RankSpread
    stable_rank: RankSpread
    certified: bool


@dataclass(frozen=True)
class RankRecording(Record):
    """Of a Rank report."""

    path: str
    groups: List[RankGroup]


@dataclass(frozen=True, repr=False)
class RankReport(Report):
    """Ranks of groups."""

    configuration: Optional[RankConfiguration] = None
    prime: Optional[int] = None
    seed: Optional[int] = None
    ranks: Optional[List[RankRank]] = None
    recordings: Optional[List[RankRecording]] = None


def rank(
    *,
    recording: Optional[Union[Input, Sequence[Input]]] = None,
    group_size: Optional[int] = None,
    positions: Optional[int] = None,
    value_size: Optional[int] = None,
    key_size: Optional[int] = None,
    model_size: Optional[int] = None,
    tied: Optional[bool] = None,
    constant_column: Optional[bool] = None,
    softmax_reachable: Optional[bool] = None,
    seed: Optional[int] = None,
    certificates: Optional[Input] = None,
    causal: Optional[bool] = None,
    window: Optional[Number] = None,
    contract: Optional[Input] = None,
    checkpoint: Optional[Input] = None,
    html: Optional[Input] = None,
) -> RankReport:
    """Generic ranks of a group that shares its history, proved; ranks of recordings.

    recording: Recorded layers: certified ranks of every group; not with certificates,
        constant_column, group_size, key_size, model_size, positions, seed, softmax_reachable, tied,
        value_size.
    group_size: Query heads on one KV head; not with recording.
    positions: Positions, of queries and keys alike; not with recording.
    value_size: Coordinates of a value; not with recording.
    key_size: Coordinates of a key; default: as many as a value has; not with recording.
    model_size: Coordinates that heads are projected to, and summed in; not with recording.
    tied: All heads of the group have one attention pattern; not with recording.
    constant_column: The last value coordinate is the same everywhere; not with recording.
    softmax_reachable: Witnesses by queries on shared keys, not any row-stochastic pattern; not with
        recording.
    seed: Of the witness (default 1); not with recording.
    certificates: Write a certificate of each witness's rank to DIR, for gqaverify check; not with
        recording.
    causal: Keys up to the query's own position are visible.
    window: Keys j with |i - j| < W are visible.
    contract: Of recordings: a JSON file with contract fields, or the JSON object itself; only with
        recording.
    checkpoint: Of recordings, one per layer: a llama2.c model, or a safetensors file with layer0,
        ..., whose output projections count; only with recording.
    html: Write a page for people to FILE, - for standard output.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        RankReport,
        ["rank"],
        [],
        {
            "--recording": Each(recording),
            "--group-size": group_size,
            "--positions": positions,
            "--value-size": value_size,
            "--key-size": key_size,
            "--model-size": model_size,
            "--tied": tied,
            "--constant-column": constant_column,
            "--softmax-reachable": softmax_reachable,
            "--seed": seed,
            "--certificates": certificates,
            "--causal": causal,
            "--window": window,
            "--contract": contract,
            "--checkpoint": checkpoint,
            "--html": html,
        },
    )
