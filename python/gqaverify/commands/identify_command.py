"""`gqaverify identify` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import Any, List, Literal, Optional, Sequence, Union

from .._program import Each, Input, Record, Report, Words, run
from .._words import Number


@dataclass(frozen=True)
class IdentifyContract(Record):
    """What attention was declared to be; docs/contract.md says what each field means.

    layout: where the axes are.
    head_map: which KV head each query head reads.
    scale: of the scores: default, or an exact number.
    causal: keys after the own position are hidden.
    causal_alignment: where the own position is.
    window: visible keys left and right of it, -1 unbounded.
    softcap: exact; 0 is off.
    empty_row: what a row without keys holds.
    q_num_heads: query heads.
    kv_num_heads: KV heads.
    dialect: whose defaults hold where nothing is stated.
    lse_base: of the logarithm that lse is, where it is not e.
    lse_empty: what lse holds where no key is visible, where it is not -inf.
    lse_layout: the axes of lse, where they are not BHT.
    """

    layout: str
    head_map: Union[str, List[int]]
    scale: str
    causal: bool
    causal_alignment: Literal["top_left", "bottom_right", "onnx"]
    window: List[int]
    softcap: str
    empty_row: Literal["zero", "nan", "any", "mean"]
    q_num_heads: Optional[int] = None
    kv_num_heads: Optional[int] = None
    dialect: Optional[str] = None
    lse_base: Optional[Literal["e", "2"]] = None
    lse_empty: Optional[Literal["-inf", "+inf"]] = None
    lse_layout: Optional[Literal["BHT", "BTH"]] = None


@dataclass(frozen=True)
class IdentifyOperands(Record):
    """Operands that it adds."""

    nonpad_kv_seqlen: Optional[List[int]] = None
    sink: Optional[List[Any]] = None
    alibi_slopes: Optional[Any] = None


@dataclass(frozen=True)
class IdentifyAudit(Record):
    """Under that contract.

    verdict: what was decided.
    """

    verdict: Literal["pass", "fail", "undecided", "error"]
    tolerance: str
    elements: int
    violations: int
    where: str


@dataclass(frozen=True)
class IdentifyRecording(Record):
    """Could not be read.

    fit: how well.
    flags: that state the contract.
    measured: numbers that were measured, in words.
    equivalents: flags that these inputs cannot tell from it.
    cannot_show: faults.
    candidates: contracts that were tried.
    cut_short: the time was up.
    operands: operands that it adds.
    audit: under that contract.
    path: the recording.
    """

    path: str
    fit: Optional[Literal["declared", "found", "nearest", "none"]] = None
    flags: Optional[str] = None
    measured: Optional[List[str]] = None
    equivalents: Optional[List[str]] = None
    cannot_show: Optional[List[str]] = None
    candidates: Optional[int] = None
    cut_short: Optional[bool] = None
    contract: Optional[IdentifyContract] = None
    operands: Optional[IdentifyOperands] = None
    imitations: Optional[List[str]] = None
    audit: Optional[IdentifyAudit] = None
    message: Optional[str] = None
    code: Optional[str] = None


@dataclass(frozen=True)
class IdentifySummary(Record):
    """How many probes."""

    pass_: int
    fail: int
    undecided: int
    error: int
    unsupported: int


@dataclass(frozen=True)
class IdentifyRule(Record):
    """One rule of the contract.

    rule: its name.
    declared: what was asked for.
    found: what the outputs show.
    agreement: with what was declared.
    """

    rule: str
    declared: str
    found: str
    agreement: Literal["agrees", "differs", "undetermined"]


@dataclass(frozen=True)
class IdentifyProbe(Record):
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
class IdentifyRanges(Record):
    """Of a Identify report.

    tile: rows or keys of a tile.
    every: one of so many tiles.
    first: the first of them.
    """

    tile: int
    every: int
    first: int


@dataclass(frozen=True)
class IdentifyRegion(Record):
    """The axes that are restricted; one that is absent is not.

    batch: batch entries.
    heads: query heads.
    rows: query rows.
    keys: keys of those rows.
    columns: columns of the output.
    """

    batch: Optional[Union[IdentifyRanges, List[List[int]]]] = None
    heads: Optional[Union[IdentifyRanges, List[List[int]]]] = None
    rows: Optional[Union[IdentifyRanges, List[List[int]]]] = None
    keys: Optional[Union[IdentifyRanges, List[List[int]]]] = None
    columns: Optional[Union[IdentifyRanges, List[List[int]]]] = None


@dataclass(frozen=True)
class IdentifyExplanation(Record):
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
    region: IdentifyRegion
    sentence: str
    tolerance: str
    violations: int
    rows: int
    certified_rows: int


@dataclass(frozen=True)
class IdentifyTensor(Record):
    """Of a Identify report.

    tensor: an output that fails.
    status: how far its diagnosis got.
    sentence: in words.
    """

    tensor: str
    status: str
    sentence: str


@dataclass(frozen=True)
class IdentifyNotShown(Record):
    """Of a long problem.

    rows: asked.
    of: all.
    faults: that those rows do not show.
    """

    rows: int
    of: int
    faults: List[str]


@dataclass(frozen=True)
class IdentifyDiagnosis(Record):
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
    explanations: List[IdentifyExplanation]
    tensors: List[IdentifyTensor]
    inseparable: List[List[str]]
    measurements: List[str]
    candidates: int
    imitations: Optional[List[str]] = None
    not_shown: Optional[IdentifyNotShown] = None
    findings: Optional[List[str]] = None


@dataclass(frozen=True)
class IdentifyEntry(Record):
    """Of a Identify report.

    values: of an open entry several, the right one among them.
    """

    entry: str
    status: Literal["known", "open", "not identifiable"]
    values: List[str]
    shown_by: str
    note: str


@dataclass(frozen=True)
class IdentifyArithmetic(Record):
    """How the kernel computes, read off its answers; docs/identify.md.

    query_rows: of the calls that it was read in; what differs between them is there twice.
    reason: why nothing was read, or empty.
    """

    entries: List[IdentifyEntry]
    query_rows: List[int]
    calls: int
    reason: str


@dataclass(frozen=True)
class IdentifyProbed(Record):
    """Of one element type.

    summary: how many probes.
    arithmetic: how the kernel computes, read off its answers; docs/identify.md.
    """

    version: str
    element_type: str
    tolerance: str
    summary: IdentifySummary
    rules: List[IdentifyRule]
    probes: List[IdentifyProbe]
    diagnosis: IdentifyDiagnosis
    arithmetic: Optional[IdentifyArithmetic] = None


@dataclass(frozen=True)
class IdentifySummary2(Record):
    """How many probes."""

    pass_: int
    fail: int
    undecided: int
    error: int
    unsupported: int


@dataclass(frozen=True)
class IdentifyEntry2(Record):
    """Of a Identify report.

    values: of an open entry several, the right one among them.
    """

    entry: str
    status: Literal["known", "open", "not identifiable"]
    values: List[str]
    shown_by: str
    note: str


@dataclass(frozen=True)
class IdentifyArithmetic2(Record):
    """How the kernel computes, read off its answers; docs/identify.md.

    query_rows: of the calls that it was read in; what differs between them is there twice.
    reason: why nothing was read, or empty.
    """

    entries: List[IdentifyEntry2]
    query_rows: List[int]
    calls: int
    reason: str


@dataclass(frozen=True, repr=False)
class IdentifyReport(Report):
    """The contract that recordings fit, or that a kernel or answered probes show.

    kernel: its own name.
    types: one of each element type.
    summary: how many probes.
    arithmetic: how the kernel computes, read off its answers; docs/identify.md.
    """

    version: str
    recordings: Optional[List[IdentifyRecording]] = None
    kernel: Optional[str] = None
    types: Optional[List[IdentifyProbed]] = None
    element_type: Optional[str] = None
    tolerance: Optional[str] = None
    summary: Optional[IdentifySummary2] = None
    rules: Optional[List[IdentifyRule]] = None
    probes: Optional[List[IdentifyProbe]] = None
    diagnosis: Optional[IdentifyDiagnosis] = None
    arithmetic: Optional[IdentifyArithmetic2] = None


def identify(
    *paths: Input,
    kernel: Optional[Input] = None,
    kernel_options: Optional[Words] = None,
    timeout: Optional[Number] = None,
    sandbox: Optional[bool] = None,
    memory: Optional[int] = None,
    type: Optional[Words] = None,
    tensor: Optional[Union[Words, Sequence[Words]]] = None,
    contract: Optional[Input] = None,
    layout: Optional[Words] = None,
    q_heads: Optional[int] = None,
    kv_heads: Optional[int] = None,
    head_map: Optional[Words] = None,
    scale: Optional[Number] = None,
    causal: Optional[Union[bool, str]] = None,
    window: Optional[Words] = None,
    softcap: Optional[Number] = None,
    empty_row: Optional[Words] = None,
    lse_base: Optional[Words] = None,
    lse_empty: Optional[Words] = None,
    lse_layout: Optional[Words] = None,
    dialect: Optional[Words] = None,
    local_window_size: Optional[Number] = None,
    sliding_window: Optional[Number] = None,
    n_swa: Optional[Number] = None,
    lengths: Optional[Words] = None,
    sink: Optional[Words] = None,
    alibi: Optional[Words] = None,
    left_padding: Optional[bool] = None,
    atol: Optional[Number] = None,
    rtol: Optional[Number] = None,
    max_ulp: Optional[int] = None,
    model: Optional[Words] = None,
    accept: Optional[Words] = None,
    seconds: Optional[int] = None,
    html: Optional[Input] = None,
) -> IdentifyReport:
    """The contract that a recording fits, or that a live kernel implements.

    PATH: recordings with query, key, value and output, as for audit. Layout, head map, causal rule,
    window, lengths, scale, softcap, sink and ALiBi are searched together; the flags and the file
    say where the search begins. What fits has passed an audit of every row.

    With kernel a kernel runs in a process of its own; src/gqa/kernel/abi.h says what it exports.
    Marks: ! differs from what was declared, ? could not be determined.

    paths: Recorded problems.
    kernel: Shared object that exports gqa_kernel_run.
    kernel_options: Passed to the kernel's gqa_kernel_configure.
    timeout: Seconds that one call may take (default 10).
    sandbox: Run the kernel without files but libraries, without network and other processes.
    memory: MiB that the kernel may use, tensors not counted (default 2048).
    type: Element type of the probes; default: every one that it takes.
    tensor: The tensor called TENSOR in the file, with or without its prefix, is NAME: query, key,
        value, output, attn_mask, ...; none=TENSOR leaves it out.
    contract: A JSON file with contract fields, or the JSON object itself.
    layout: Where the axes are: BHSD, BSHD, SBHD, BSH, THD, HSD; of one tensor: output=BSHD.
    q_heads: Query heads of a folded layout.
    kv_heads: KV heads of a folded layout.
    head_map: contiguous, interleaved, or the KV head of every query head: 0,0,1,1.
    scale: default (1/sqrt(dk)) or an exact number: 0.125, 1/8, 0x1p-3.
    causal: Query i sees keys up to its own position: =top_left counts positions from the first key
        (j <= i), =bottom_right back from the last (j <= i + S - T), =onnx from the cache on; =off;
        alone: as the dialect has it, bottom_right without one.
    window: Visible keys left and right of the position, -1 unbounded; not with local_window_size,
        n_swa, sliding_window.
    softcap: Softcap c of the scores; 0 is off.
    empty_row: What a row without visible keys holds: zero, nan, any, mean (of all values).
    lse_base: The base of the logarithm that lse is: e, 2.
    lse_empty: What lse holds where no key is visible: -inf, +inf.
    lse_layout: The axes of lse: BHT, BTH; of packed documents HT, TH.
    dialect: Defaults of a known system where nothing is stated: onnx, pytorch, flash-attention,
        jax, transformers, llama.cpp, onnxruntime-gqa, onnxruntime-gqa@old.
    local_window_size: The window in the word of such a dialect; not with window.
    sliding_window: The window in the word of such a dialect; not with window.
    n_swa: The window in the word of such a dialect; not with window.
    lengths: Visible keys of every batch entry (nonpad_kv_seqlen).
    sink: Logit of a sink for every query head, or one for all.
    alibi: ALiBi slopes: standard, or one number for every query head.
    left_padding: Lengths count keys from the end: what comes before them is padding.
    atol: |output - reference| <= A + R |reference|; not with accept, max_ulp, model.
    rtol: See atol; not with accept, max_ulp, model.
    max_ulp: At most N ulp of the reference in the output's format; not with accept, atol, model,
        rtol.
    model: What the rounding of a precision model explains: f64, f32, bf16x3, tf32, f16-products,
        bf16-products, f16-f32, bf16-f32, f16-stored, bf16-stored, f16, bf16, fp8-weights (default:
        those of the file's types, from tight to loose); not with atol, max_ulp, rtol.
    accept: With a model: worst-case passes what only its worst case explains; not with atol,
        max_ulp, rtol.
    seconds: No step of a search begins later than that (default 60).
    html: Write a page for people to FILE, - for standard output.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        IdentifyReport,
        ["identify"],
        [*paths],
        {
            "--kernel": kernel,
            "--kernel-options": kernel_options,
            "--timeout": timeout,
            "--sandbox": sandbox,
            "--memory": memory,
            "--type": type,
            "--tensor": Each(tensor),
            "--contract": contract,
            "--layout": layout,
            "--q-heads": q_heads,
            "--kv-heads": kv_heads,
            "--head-map": head_map,
            "--scale": scale,
            "--causal": causal,
            "--window": window,
            "--softcap": softcap,
            "--empty-row": empty_row,
            "--lse-base": lse_base,
            "--lse-empty": lse_empty,
            "--lse-layout": lse_layout,
            "--dialect": dialect,
            "--local-window-size": local_window_size,
            "--sliding-window": sliding_window,
            "--n-swa": n_swa,
            "--lengths": lengths,
            "--sink": sink,
            "--alibi": alibi,
            "--left-padding": left_padding,
            "--atol": atol,
            "--rtol": rtol,
            "--max-ulp": max_ulp,
            "--model": model,
            "--accept": accept,
            "--seconds": seconds,
            "--html": html,
        },
    )
