"""`gqaverify verify` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import Any, List, Literal, Optional, Union

from .._program import Input, Record, Report, run


@dataclass(frozen=True)
class VerifyFloats(Record):
    """A float format against the exact values.

    format: binary64, long double, 50-digit.
    tolerance: derived.
    max_ratio: of error to tolerance.
    cases_within: cases of which every element is.
    beyond_range: its range is too small.
    """

    format: str
    elements: Optional[int] = None
    max_error: Optional[Union[float, Literal["nan", "inf", "-inf"]]] = None
    tolerance: Optional[Union[float, Literal["nan", "inf", "-inf"]]] = None
    max_ratio: Optional[Union[float, Literal["nan", "inf", "-inf"]]] = None
    within: Optional[bool] = None
    cases_within: Optional[int] = None
    beyond_range: Optional[bool] = None


@dataclass(frozen=True)
class VerifyFixture(Record):
    """Of a Verify report.

    failures: what does not hold, in words.
    error: the code that a negative fixture raises.
    """

    name: str
    path: str
    statement: str
    verdict: Literal["pass", "fail", "error"]
    failures: List[str]
    shape: Optional[List[int]] = None
    exact: Optional[List[Any]] = None
    also_checked: Optional[List[str]] = None
    float: Optional[List[VerifyFloats]] = None
    error: Optional[str] = None


@dataclass(frozen=True)
class VerifySummary(Record):
    """Of a Verify report.

    verified: all is, and there was something.
    """

    pass_: int
    fail: int
    verified: bool
    error: Optional[int] = None


@dataclass(frozen=True)
class VerifyEnumeration(Record):
    """The cases of enumerate in floats."""

    cases: int
    float: List[VerifyFloats]


@dataclass(frozen=True, repr=False)
class VerifyReport(Report):
    """Exact fixtures.

    enumeration: the cases of enumerate in floats.
    """

    fixtures: List[VerifyFixture]
    summary: VerifySummary
    enumeration: Optional[VerifyEnumeration] = None


def verify(
    *paths: Input,
    verbose: Optional[bool] = None,
    html: Optional[Input] = None,
) -> VerifyReport:
    """Exact fixtures: expected outputs, second engine, floats within derived bounds.

    Without PATH: the shipped fixtures, and the 210 cases in floats.

    paths: Fixture files, or directories of them.
    verbose: Print every fixture with its exact outputs.
    html: Write a page for people to FILE, - for standard output.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        VerifyReport,
        ["verify"],
        [*paths],
        {
            "--verbose": verbose,
            "--html": html,
        },
    )
