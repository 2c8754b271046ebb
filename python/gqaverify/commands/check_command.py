"""`gqaverify check` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import List, Literal

from .._program import Input, Record, Report, run


@dataclass(frozen=True)
class CheckCertificate(Record):
    """Of a Check report.

    statement: what it proves.
    reason: why not.
    """

    path: str
    kind: str
    verdict: Literal["verified", "rejected", "error"]
    statement: str
    reason: str


@dataclass(frozen=True)
class CheckSummary(Record):
    """Of a Check report."""

    certificates: int
    verified: int


@dataclass(frozen=True, repr=False)
class CheckReport(Report):
    """Certificates, verified again."""

    certificates: List[CheckCertificate]
    summary: CheckSummary


def check(
    *certificates: Input,
) -> CheckReport:
    """Re-verifies certificates with rational arithmetic alone.

    certificates: Certificate files.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        CheckReport,
        ["check"],
        [*certificates],
        {
        },
    )
