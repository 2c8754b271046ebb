"""`gqaverify attain` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import Literal, Optional, Union

from .._program import Input, Record, Report, Words, run


@dataclass(frozen=True)
class AttainCertificate(Record):
    """What gqaverify check verifies; other fields are those of its kind.

    kind: the rule that verifies it.
    """

    kind: str


@dataclass(frozen=True, repr=False)
class AttainReport(Report):
    """Whether a query reaches an output."""

    verdict: Literal["reachable", "unreachable", "undecided"]
    reason: str
    certificate: Optional[Union[AttainCertificate, None]] = None


def attain(
    file: Optional[Input] = None,
    *,
    values: Optional[Words] = None,
    point: Optional[Words] = None,
    keys: Optional[Words] = None,
    certificate: Optional[Input] = None,
) -> AttainReport:
    """Whether a query with finite scores can reach an output, with a certificate.

    Exit status: 0 it can, 1 it cannot, 2 not decided (only with keys).

    file: JSON with values [N, d], point [d] and, optionally, keys [N, dk].
    values: One row for each key; not with FILE.
    point: The output; not with FILE.
    keys: Only scores that a query gives against these keys; not with FILE.
    certificate: Write the certificate to FILE.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        AttainReport,
        ["attain"],
        [file],
        {
            "--values": values,
            "--point": point,
            "--keys": keys,
            "--certificate": certificate,
        },
    )
