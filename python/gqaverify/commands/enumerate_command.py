"""`gqaverify enumerate` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import List, Literal, Optional

from .._program import Input, Record, Report, Words, run


@dataclass(frozen=True)
class EnumerateControls(Record):
    """The interleaved map.

    map_differs: cases in which it differs.
    detected: of those that differ.
    """

    map_differs: int
    map_coincides: int
    detected: int


@dataclass(frozen=True, repr=False)
class EnumerateReport(Report):
    """Every head count, every divisor, six weight fixtures.

    equal: cases that are exactly equal.
    controls: the interleaved map.
    failures: what does not hold, in words.
    """

    max_heads: int
    pairs: int
    fixtures: int
    cases: int
    equal: int
    controls: EnumerateControls
    engine: Literal["gmp", "boost"]
    seconds: float
    failures: List[str]


def enumerate(
    *,
    max_heads: Optional[int] = None,
    engine: Optional[Words] = None,
    threads: Optional[int] = None,
    html: Optional[Input] = None,
) -> EnumerateReport:
    """Every head count, every divisor, six weight fixtures: exact equality.

    max_heads: Largest Hq, up to 512 (default 12).
    engine: Exact arithmetic (default gmp).
    threads: Threads; 0: as many as there are cores (default 0).
    html: Write a page for people to FILE, - for standard output.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        EnumerateReport,
        ["enumerate"],
        [],
        {
            "--max-heads": max_heads,
            "--engine": engine,
            "--threads": threads,
            "--html": html,
        },
    )
