"""`gqaverify claims` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import List, Literal, Optional

from .._program import Input, Record, Report, Words, run


@dataclass(frozen=True)
class ClaimsCertificate(Record):
    """What gqaverify check verifies; other fields are those of its kind.

    kind: the rule that verifies it.
    """

    kind: str


@dataclass(frozen=True)
class ClaimsClaim(Record):
    """Of a Claims report.

    scope: for what it holds.
    certificate: what settles it.
    argument: its steps.
    failures: what does not hold, in words.
    """

    id: str
    title: str
    statement: str
    verdict: Literal["proved", "checked", "refuted", "open"]
    scope: str
    certificate: str
    argument: List[str]
    failures: List[str]
    certificates: List[ClaimsCertificate]


@dataclass(frozen=True, repr=False)
class ClaimsReport(Report):
    """What is said about grouped-query attention."""

    claims: List[ClaimsClaim]


def claims(
    *names: Words,
    trained_model: Optional[Input] = None,
    certificates: Optional[Input] = None,
    html: Optional[Input] = None,
) -> ClaimsReport:
    """What is said about grouped-query attention: proved, checked or refuted.

    Without NAME: the table. Every verdict is computed anew. Claim (gg) is about a trained model,
    whose recordings are shipped.

    names: Claims such as u or gg: the whole argument of each.
    trained_model: Folder with layer0.safetensors, ... of a trained model and its
        output_projections.safetensors or stories260K.bin; default: the recordings shipped,
        fixtures/recordings/stories260K.
    certificates: Write each certificate to a file of FOLDER, for gqaverify check.
    html: Write a page for people to FILE, - for standard output.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        ClaimsReport,
        ["claims"],
        [*names],
        {
            "--trained-model": trained_model,
            "--certificates": certificates,
            "--html": html,
        },
    )
