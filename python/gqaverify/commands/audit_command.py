"""`gqaverify audit` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import Any, List, Literal, Optional, Sequence, Union

from .._program import Each, Input, Record, Report, Words, run
from .._words import Number


@dataclass(frozen=True)
class AuditContract(Record):
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
class AuditSizes(Record):
    """Extents of the problem.

    batch: batch entries.
    q_heads: query heads.
    kv_heads: KV heads.
    queries: query rows.
    keys: keys, past ones included.
    past: keys of the cache.
    key_size: numbers of a key.
    value_size: numbers of a value.
    """

    batch: int
    q_heads: int
    kv_heads: int
    queries: int
    keys: int
    past: int
    key_size: int
    value_size: int


@dataclass(frozen=True)
class AuditTypes(Record):
    """Element types.

    inputs: of the query.
    output: of the output.
    """

    inputs: str
    output: str


@dataclass(frozen=True)
class AuditSample(Record):
    """The rows that were audited."""

    rows: int
    of: int
    seed: int


@dataclass(frozen=True)
class AuditDecidedBy(Record):
    """How many elements each way decided."""

    filter: int
    enclosure: int
    exact: int


@dataclass(frozen=True)
class AuditSelfCheck(Record):
    """Rows that were asked again."""

    rows: int
    contradictions: str


@dataclass(frozen=True)
class AuditBounds(Record):
    """A number enclosed from both sides.

    lower: it is at least this.
    upper: it is at most this.
    """

    lower: Union[float, Literal["nan", "inf", "-inf"]]
    upper: Union[float, Literal["nan", "inf", "-inf"]]


@dataclass(frozen=True)
class AuditError(Record):
    """Largest certified errors."""

    max_abs: AuditBounds
    max_ulp: AuditBounds
    mean_ulp: Union[float, Literal["nan", "inf", "-inf"]]


@dataclass(frozen=True)
class AuditTolerance(Record):
    """What the rounding of a precision model explains; or absolute and relative; or in units in the
    last place.

    model: its name.
    lambda_: of the likely bound.
    accept: the bound that decides.
    tried: models from tight to loose.
    atol: exact.
    rtol: exact.
    max_ulp: exact.
    """

    kind: str
    model: Optional[str] = None
    lambda_: Optional[float] = None
    accept: Optional[Literal["likely", "worst-case"]] = None
    tried: Optional[List[str]] = None
    atol: Optional[str] = None
    rtol: Optional[str] = None
    max_ulp: Optional[str] = None


@dataclass(frozen=True)
class AuditRefuted(Record):
    """Of a Audit report."""

    zeros: int
    negated: int
    doubled: int
    halved: int


@dataclass(frozen=True)
class AuditNulls(Record):
    """Outputs that say nothing, and in how many rows each would have failed.

    rows: rows that were asked.
    """

    rows: int
    refuted: AuditRefuted


@dataclass(frozen=True)
class AuditReference(Record):
    """The exact value.

    lower: 17 figures.
    upper: 17 figures.
    """

    lower: str
    upper: str


@dataclass(frozen=True)
class AuditWorst(Record):
    """An element.

    index: batch entry, head, row, column.
    output: what was recorded, 17 figures.
    reference: the exact value.
    off_by: its error, at most.
    allowed: what it may be off by, at most.
    ulp: its error in ulp, at most.
    within: certainly within what is allowed.
    """

    index: List[int]
    output: str
    reference: AuditReference
    off_by: Union[float, Literal["nan", "inf", "-inf"]]
    allowed: Union[float, Literal["nan", "inf", "-inf"]]
    ulp: Union[float, Literal["nan", "inf", "-inf"]]
    within: bool


@dataclass(frozen=True)
class AuditOutput(Record):
    """One audited output.

    name: output, present_key, lse, grad_query, .
    verdict: what was decided.
    elements: how many.
    violations: elements beyond what is allowed.
    largest_share: the largest error as a share of what is allowed.
    shows_nothing: a pass would mean nothing.
    explained_by: a model that nobody declared and that explains it.
    reason: why it shows nothing, or less.
    undecided: elements that are open.
    strength: how sure a failure is.
    where: the wrong elements in words.
    """

    name: str
    verdict: Literal["pass", "fail", "undecided", "error"]
    elements: int
    violations: int
    tolerance: AuditTolerance
    largest_share: Union[float, Literal["nan", "inf", "-inf"]]
    null_outputs: AuditNulls
    shows_nothing: bool
    explained_by: Optional[str] = None
    reason: Optional[str] = None
    undecided: Optional[int] = None
    strength: Optional[Literal["none", "statistical", "proved"]] = None
    worst: Optional[List[AuditWorst]] = None
    where: Optional[str] = None


@dataclass(frozen=True)
class AuditRanges(Record):
    """Of a Audit report.

    tile: rows or keys of a tile.
    every: one of so many tiles.
    first: the first of them.
    """

    tile: int
    every: int
    first: int


@dataclass(frozen=True)
class AuditRegion(Record):
    """The axes that are restricted; one that is absent is not.

    batch: batch entries.
    heads: query heads.
    rows: query rows.
    keys: keys of those rows.
    columns: columns of the output.
    """

    batch: Optional[Union[AuditRanges, List[List[int]]]] = None
    heads: Optional[Union[AuditRanges, List[List[int]]]] = None
    rows: Optional[Union[AuditRanges, List[List[int]]]] = None
    keys: Optional[Union[AuditRanges, List[List[int]]]] = None
    columns: Optional[Union[AuditRanges, List[List[int]]]] = None


@dataclass(frozen=True)
class AuditExplanation(Record):
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
    region: AuditRegion
    sentence: str
    tolerance: str
    violations: int
    rows: int
    certified_rows: int


@dataclass(frozen=True)
class AuditTensor(Record):
    """Of a Audit report.

    tensor: an output that fails.
    status: how far its diagnosis got.
    sentence: in words.
    """

    tensor: str
    status: str
    sentence: str


@dataclass(frozen=True)
class AuditNotShown(Record):
    """Of a long problem.

    rows: asked.
    of: all.
    faults: that those rows do not show.
    """

    rows: int
    of: int
    faults: List[str]


@dataclass(frozen=True)
class AuditDiagnosis(Record):
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
    explanations: List[AuditExplanation]
    tensors: List[AuditTensor]
    inseparable: List[List[str]]
    measurements: List[str]
    candidates: int
    imitations: Optional[List[str]] = None
    not_shown: Optional[AuditNotShown] = None
    findings: Optional[List[str]] = None


@dataclass(frozen=True)
class AuditOperands(Record):
    """Operands that it adds."""

    nonpad_kv_seqlen: Optional[List[int]] = None
    sink: Optional[List[Any]] = None
    alibi_slopes: Optional[Any] = None


@dataclass(frozen=True)
class AuditAudit(Record):
    """Under that contract.

    verdict: what was decided.
    """

    verdict: Literal["pass", "fail", "undecided", "error"]
    tolerance: str
    elements: int
    violations: int
    where: str


@dataclass(frozen=True)
class AuditFit(Record):
    """The contract that an output fits.

    fit: how well.
    flags: that state the contract.
    measured: numbers that were measured, in words.
    equivalents: flags that these inputs cannot tell from it.
    cannot_show: faults.
    candidates: contracts that were tried.
    cut_short: the time was up.
    operands: operands that it adds.
    audit: under that contract.
    """

    fit: Literal["declared", "found", "nearest", "none"]
    flags: str
    measured: List[str]
    equivalents: List[str]
    cannot_show: List[str]
    candidates: int
    cut_short: bool
    contract: Optional[AuditContract] = None
    operands: Optional[AuditOperands] = None
    imitations: Optional[List[str]] = None
    audit: Optional[AuditAudit] = None


@dataclass(frozen=True)
class AuditLseFits(Record):
    """The form in which a failing lse passes."""

    lse_base: Literal["e", "2"]
    lse_empty: Literal["-inf", "+inf"]


@dataclass(frozen=True)
class AuditCase(Record):
    """A recording, document or problem.

    path: where it is from.
    verdict: the worst of its outputs.
    message: of what could not be audited: why.
    code: its stable code.
    types: element types.
    not_finite: inputs that are no numbers, by their place.
    sample: the rows that were audited.
    elements: of the first output, and so are the figures that follow.
    decided_by: how many elements each way decided.
    self_check: rows that were asked again.
    error: largest certified errors.
    lse_fits: the form in which a failing lse passes.
    """

    path: str
    verdict: Literal["pass", "fail", "undecided", "error"]
    message: Optional[str] = None
    code: Optional[str] = None
    contract: Optional[AuditContract] = None
    sizes: Optional[AuditSizes] = None
    types: Optional[AuditTypes] = None
    not_finite: Optional[List[str]] = None
    sample: Optional[AuditSample] = None
    elements: Optional[int] = None
    decided_by: Optional[AuditDecidedBy] = None
    self_check: Optional[AuditSelfCheck] = None
    undecided: Optional[int] = None
    error: Optional[AuditError] = None
    tolerance: Optional[AuditTolerance] = None
    violations: Optional[int] = None
    strength: Optional[Literal["none", "statistical", "proved"]] = None
    outputs: Optional[List[AuditOutput]] = None
    worst: Optional[List[AuditWorst]] = None
    where: Optional[str] = None
    diagnosis: Optional[AuditDiagnosis] = None
    fits: Optional[AuditFit] = None
    lse_fits: Optional[AuditLseFits] = None


@dataclass(frozen=True)
class AuditCounts(Record):
    """How many cases."""

    pass_: int
    fail: int
    undecided: int
    error: int


@dataclass(frozen=True, repr=False)
class AuditReport(Report):
    """Recorded tensors, or a live kernel, against the certified reference."""

    version: str
    cases: List[AuditCase]
    summary: AuditCounts


def audit(
    *paths: Input,
    kernel: Optional[Input] = None,
    kernel_options: Optional[Words] = None,
    timeout: Optional[Number] = None,
    sandbox: Optional[bool] = None,
    memory: Optional[int] = None,
    type: Optional[Words] = None,
    problems: Optional[int] = None,
    problem_seed: Optional[int] = None,
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
    verbose: Optional[bool] = None,
    no_filter: Optional[bool] = None,
    no_self_check: Optional[bool] = None,
    no_diagnosis: Optional[bool] = None,
    diagnosis_seconds: Optional[Number] = None,
    sample: Optional[int] = None,
    seed: Optional[int] = None,
    journal: Optional[Input] = None,
    threads: Optional[int] = None,
    html: Optional[Input] = None,
    junit: Optional[Input] = None,
    witness: Optional[Input] = None,
) -> AuditReport:
    """Recorded tensors, or a live kernel, against the certified reference.

    PATH: a .safetensors or .npz file or a directory of .npy files with query, key, value and output
    (also q, Q, q_proj, query_states, ..., attn_output; "layers.3.query" belongs to a recording
    layers.3); an ONNX backend test; or a directory of many of those. With grad_output (as output)
    it may hold grad_query, grad_key and grad_value, beside output or alone: each is audited like
    it. The contract comes from the ONNX node or the safetensors metadata key "attention", then from
    contract, then from the flags.

    With kernel the kernel of a shared object (src/gqa/kernel/abi.h) is run on generated problems,
    or on the inputs of PATH, in a process of its own.

    paths: Recorded problems.
    kernel: Shared object that exports gqa_kernel_run.
    kernel_options: Passed to the kernel's gqa_kernel_configure.
    timeout: Seconds that one call may take (default 10).
    sandbox: Run the kernel without files but libraries, without network and other processes.
    memory: MiB that the kernel may use, tensors not counted (default 2048).
    type: Element type of generated problems; default: all that it takes.
    problems: Generated problems in each type (default 24).
    problem_seed: Chooses the generated problems (default 1).
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
    verbose: A paragraph for every case, however many pass.
    no_filter: Ball arithmetic alone: the same verdicts, much slower.
    no_self_check: Do not ask a few rows that the filter decided again by ball arithmetic; a
        contradiction ends the audit with status 70.
    no_diagnosis: Verdicts alone: do not search for the fault that explains a failure.
    diagnosis_seconds: End the search for an explanation after so many seconds with what it has
        (default 20).
    sample: Audit a random choice of ROWS output rows of each problem.
    seed: Chooses the rows; the same ones on every machine (default 0); only with sample.
    journal: Keep finished blocks in FILE and go on from there after an interruption.
    threads: Threads; 0: as many as there are cores (default 0).
    html: Write a page for people to FILE, - for standard output.
    junit: Write a JUnit XML report to FILE, - for standard output.
    witness: Write what the worst elements are made of to FILE, for gqaverify-recheck.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        AuditReport,
        ["audit"],
        [*paths],
        {
            "--kernel": kernel,
            "--kernel-options": kernel_options,
            "--timeout": timeout,
            "--sandbox": sandbox,
            "--memory": memory,
            "--type": type,
            "--problems": problems,
            "--problem-seed": problem_seed,
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
            "--verbose": verbose,
            "--no-filter": no_filter,
            "--no-self-check": no_self_check,
            "--no-diagnosis": no_diagnosis,
            "--diagnosis-seconds": diagnosis_seconds,
            "--sample": sample,
            "--seed": seed,
            "--journal": journal,
            "--threads": threads,
            "--html": html,
            "--junit": junit,
            "--witness": witness,
        },
    )
