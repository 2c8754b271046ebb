"""`gqaverify probe write` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import Optional

from .._program import Input, Report, Words, run


@dataclass(frozen=True, repr=False)
class ProbeWriteReport(Report):
    """What was written."""


def probe_write(
    dir: Input,
    *,
    type: Optional[Words] = None,
) -> ProbeWriteReport:
    """Write the probes to a directory.

    Run every DIR/NAME.safetensors on the implementation under its metadata "attention", store the
    result as tensor "output" of the same file or as DIR/NAME.output.npy, and check. The probe of
    strided rows, which no file holds, is for identify kernel alone.

    dir: Directory, made if absent.
    type: Element type of the probes; default: binary32.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        ProbeWriteReport,
        ["probe", "write"],
        [dir],
        {
            "--type": type,
        },
    )
