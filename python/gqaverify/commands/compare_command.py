"""`gqaverify compare` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import List, Literal, Optional

from .._program import Input, Record, Report, run
from .._words import Number


@dataclass(frozen=True)
class CompareChange(Record):
    """Of a Compare report.

    path: without the folder that all cases of its report share.
    output: the output that it is about; absent: the case as a whole.
    largest_share_before: largest share of the allowance that a passing output used.
    largest_share_after: largest share of the allowance that a passing output used.
    faults: names that the newer report gives.
    """

    path: str
    change: Literal["better", "worse", "larger", "missing", "added"]
    output: Optional[str] = None
    before: Optional[str] = None
    after: Optional[str] = None
    largest_share_before: Optional[float] = None
    largest_share_after: Optional[float] = None
    faults: Optional[List[str]] = None


@dataclass(frozen=True)
class CompareSummary(Record):
    """Of a Compare report.

    cases: of the older report.
    """

    cases: int
    same: int
    regression: bool


@dataclass(frozen=True, repr=False)
class CompareReport(Report):
    """What has changed between two reports of the same audits."""

    changes: List[CompareChange]
    summary: CompareSummary


def compare(
    old: Input,
    new: Input,
    *,
    share_growth: Optional[Number] = None,
) -> CompareReport:
    """Compares two reports of the same audits: what passed and does not any more.

    Exit status 1: a case or output is worse, gone, or new and not passed, or uses more of what is
    allowed by more than share_growth.

    old: JSON of gqaverify audit json, from before.
    new: The same, from now.
    share_growth: How much more of its allowance a passing output may use: 0.1 is a tenth of it
        (default 0.1).

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        CompareReport,
        ["compare"],
        [old, new],
        {
            "--share-growth": share_growth,
        },
    )
