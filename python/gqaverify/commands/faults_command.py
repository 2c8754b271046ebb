"""`gqaverify faults` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import List, Optional

from .._program import Input, Record, Report, Words, run


@dataclass(frozen=True)
class FaultsExample(Record):
    """The smallest."""

    probe: str
    index: List[int]
    right: List[str]
    wrong: List[str]


@dataclass(frozen=True)
class FaultsFault(Record):
    """Of a Faults report.

    measured: read off the data.
    example: the smallest.
    """

    name: str
    family: str
    sentence: str
    wrong_formula: str
    measured: bool
    parameters: List[int]
    measurement: Optional[str] = None
    example: Optional[FaultsExample] = None


@dataclass(frozen=True, repr=False)
class FaultsReport(Report):
    """The names that a report can print."""

    faults: List[FaultsFault]


def faults(
    *names: Words,
    markdown: Optional[Input] = None,
) -> FaultsReport:
    """The names that a report can print: wrong formulas, smallest examples.

    names: Names, families, or parts of names; default: a list of all.
    markdown: Write a page in Markdown to FILE.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        FaultsReport,
        ["faults"],
        [*names],
        {
            "--markdown": markdown,
        },
    )
