"""`gqaverify probe check` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import List, Literal, Optional, Union

from .._program import Input, Record, Report, run


@dataclass(frozen=True)
class ProbeCheckSummary(Record):
    """How many probes."""

    pass_: int
    fail: int
    undecided: int
    error: int
    unsupported: int


@dataclass(frozen=True)
class ProbeCheckProbe(Record):
    """One designed problem.

    name: its file.
    reads: what it shows.
    supported: the kernel takes it.
    where: in words.
    finding: beside the output, in words.
    error: why it could not be read.
    """

    name: str
    reads: str
    supported: bool
    verdict: Literal["pass", "fail", "undecided", "error", "unsupported"]
    violations: int
    where: str
    finding: str
    error: Optional[str] = None


@dataclass(frozen=True)
class ProbeCheckRanges(Record):
    """Of a ProbeCheck report.

    tile: rows or keys of a tile.
    every: one of so many tiles.
    first: the first of them.
    """

    tile: int
    every: int
    first: int


@dataclass(frozen=True)
class ProbeCheckRegion(Record):
    """The axes that are restricted; one that is absent is not.

    batch: batch entries.
    heads: query heads.
    rows: query rows.
    keys: keys of those rows.
    columns: columns of the output.
    """

    batch: Optional[Union[ProbeCheckRanges, List[List[int]]]] = None
    heads: Optional[Union[ProbeCheckRanges, List[List[int]]]] = None
    rows: Optional[Union[ProbeCheckRanges, List[List[int]]]] = None
    keys: Optional[Union[ProbeCheckRanges, List[List[int]]]] = None
    columns: Optional[Union[ProbeCheckRanges, List[List[int]]]] = None


@dataclass(frozen=True)
class ProbeCheckExplanation(Record):
    """Faults under which everything is right.

    faults: their names.
    descriptions: with what was measured.
    formulas: what each computes instead.
    tensor: the output it is about.
    sentence: all of it in words.
    tolerance: under which it holds.
    violations: left under it.
    rows: compared.
    certified_rows: of them proved.
    """

    faults: List[str]
    descriptions: List[str]
    formulas: List[str]
    tensor: str
    region: ProbeCheckRegion
    sentence: str
    tolerance: str
    violations: int
    rows: int
    certified_rows: int


@dataclass(frozen=True)
class ProbeCheckTensor(Record):
    """Of a ProbeCheck report.

    tensor: an output that fails.
    status: how far its diagnosis got.
    sentence: in words.
    """

    tensor: str
    status: str
    sentence: str


@dataclass(frozen=True)
class ProbeCheckNotShown(Record):
    """Of a long problem.

    rows: asked.
    of: all.
    faults: that those rows do not show.
    """

    rows: int
    of: int
    faults: List[str]


@dataclass(frozen=True)
class ProbeCheckDiagnosis(Record):
    """The name of the fault, or what a pass cannot show.

    status: how far it got.
    inseparable: pairs that these inputs cannot tell apart.
    measurements: in words.
    candidates: sets of faults that were tried.
    imitations: other outputs that these inputs cannot tell it from.
    not_shown: of a long problem.
    findings: that change no verdict.
    """

    status: Literal["none", "rounding", "named", "measured", "located", "unexplained"]
    explanations: List[ProbeCheckExplanation]
    tensors: List[ProbeCheckTensor]
    inseparable: List[List[str]]
    measurements: List[str]
    candidates: int
    imitations: Optional[List[str]] = None
    not_shown: Optional[ProbeCheckNotShown] = None
    findings: Optional[List[str]] = None


@dataclass(frozen=True, repr=False)
class ProbeCheckReport(Report):
    """Answered probes, judged.

    summary: how many probes.
    """

    version: str
    element_type: str
    tolerance: str
    summary: ProbeCheckSummary
    probes: List[ProbeCheckProbe]
    diagnosis: ProbeCheckDiagnosis


def probe_check(
    dir: Input,
    *,
    identify: Optional[bool] = None,
    html: Optional[Input] = None,
) -> ProbeCheckReport:
    """Judge the outputs and name the fault.

    Run every DIR/NAME.safetensors on the implementation under its metadata "attention", store the
    result as tensor "output" of the same file or as DIR/NAME.output.npy, and check. The probe of
    strided rows, which no file holds, is for identify kernel alone.

    dir: Directory with probes and outputs.
    identify: Print the contract that the outputs show, rule by rule.
    html: Write a page for people to FILE, - for standard output.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        ProbeCheckReport,
        ["probe", "check"],
        [dir],
        {
            "--identify": identify,
            "--html": html,
        },
    )
