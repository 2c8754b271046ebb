"""What the package returns: read-only views of the reports' JSON, and their texts."""

from __future__ import annotations

import html
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

if TYPE_CHECKING:
    import numpy
    from numpy.typing import NDArray

    from . import _core


@dataclass(frozen=True)
class Bounds:
    """A certified range of a real number."""

    lower: float
    upper: float


@dataclass(frozen=True)
class WorstElement:
    """One of the worst output elements; index is [b, h, i, c].

    ulp is NaN where the output or what it should be is NaN or infinite.
    """

    index: tuple[int, int, int, int]
    output: float
    reference: Bounds
    ulp: float


@dataclass(frozen=True)
class Explanation:
    """A smallest set of faults under which every compared row of an output is within tolerance.

    tensor: the output that it speaks of.
    sentence: what a kernel author reads.
    region: where it holds, for the axes that are restricted: inclusive ranges of "batch", "heads",
        "rows", "keys" and "columns", or {"tile": 64, "every": 2, "first": 1}.

    Without a fault: where the output is wrong, which is all that is known.
    """

    faults: list[str]
    descriptions: list[str]
    formulas: list[str]
    tensor: str = "output"
    sentence: str = ""
    region: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TensorAccount:
    """What is known of one output that fails: its own status, and a sentence."""

    tensor: str
    status: str
    sentence: str


@dataclass(frozen=True)
class Diagnosis:
    """status: "none" (nothing to explain), "rounding" (a precision model explains what exceeds the
    stated tolerance), "named" (faults of the catalogue), "measured" (numbers read off the data),
    "located" (where it is wrong is all that is known) or "unexplained": of the output of which
    least is known.

    tensors: every output that fails.
    inseparable: pairs that these inputs cannot tell apart.
    not_shown: faults that the inputs of a pass do not show in the rows that were asked, where those
        were not all.
    measurements: what could be read off an output that is unexplained.
    """

    status: str
    explanations: list[Explanation]
    inseparable: list[tuple[str, str]]
    measurements: list[str]
    not_shown: list[str] = field(default_factory=list)
    tensors: list[TensorAccount] = field(default_factory=list)


@dataclass(frozen=True)
class OutputResult:
    """The verdict on one output: output, present_key, present_value, qk_matmul_output, lse."""

    name: str
    verdict: str
    elements: int
    violations: int


class Reference(NamedTuple):
    """|exact - values| <= radii, both float64 [B, Hq, T, dv].

    NaN marks what the contract gives no number for: with radius 0 where a row must be NaN, with
    an infinite one where it may be anything or reads NaN or infinity.
    """

    values: NDArray[numpy.float64]
    radii: NDArray[numpy.float64]


def verdict_html(verdict: str) -> str:
    """A verdict as notebooks show it: its word, coloured."""
    colour = {"pass": "#1a7f37", "fail": "#cf222e"}.get(verdict, "#9a6700")
    return f'<strong style="color:{colour}">{html.escape(verdict)}</strong>'


def _bounds(entry: dict[str, Any]) -> Bounds:
    return Bounds(float(entry["lower"]), float(entry["upper"]))


def _diagnosis(entry: dict[str, Any] | None) -> Diagnosis | None:
    if entry is None:
        return None
    explanations = [
        Explanation(
            e["faults"], e["descriptions"], e["formulas"], e["tensor"], e["sentence"], e["region"]
        )
        for e in entry["explanations"]
    ]
    pairs = [(first, second) for first, second in entry["inseparable"]]
    not_shown = entry.get("not_shown", {}).get("faults", [])
    tensors = [TensorAccount(**account) for account in entry["tensors"]]
    return Diagnosis(
        entry["status"], explanations, pairs, entry["measurements"], not_shown, tensors
    )


def _worst(entry: dict[str, Any]) -> WorstElement:
    b, h, i, c = entry["index"]
    reference = _bounds(entry["reference"])
    return WorstElement((b, h, i, c), float(entry["output"]), reference, float(entry["ulp"]))


def _object(text: str) -> dict[str, Any]:
    parsed: dict[str, Any] = json.loads(text)
    return parsed


@dataclass(frozen=True)
class AuditResult:
    """One audited problem. True only if it passed.

    verdict: "pass", "fail", "undecided" (an element could be neither proved nor refuted), or
        "error".
    elements, violations, undecided: of the output.
    max_abs, max_ulp: certified bounds of the largest error; mean_ulp: of the mean.
    where: where the violations lie, in words.
    worst: the worst elements, worst first.
    outputs: every audited output.
    diagnosis: None where it was not asked for.
    message: what a failing test should print, the fault's name first.
    """

    verdict: str
    elements: int
    violations: int
    undecided: int
    max_abs: Bounds | None
    max_ulp: Bounds | None
    mean_ulp: float | None
    where: str
    worst: list[WorstElement]
    outputs: list[OutputResult]
    diagnosis: Diagnosis | None
    message: str = field(repr=False)
    _text: str = field(repr=False)
    _json: str = field(repr=False)

    @classmethod
    def _of(cls, case: _core.Case) -> AuditResult:
        text = case.json()
        entry = _object(text)
        error = entry.get("error")
        return cls(
            verdict=entry["verdict"],
            elements=entry.get("elements", 0),
            violations=entry.get("violations", 0),
            undecided=entry.get("undecided", 0),
            max_abs=_bounds(error["max_abs"]) if error else None,
            max_ulp=_bounds(error["max_ulp"]) if error else None,
            mean_ulp=float(error["mean_ulp"]) if error else None,
            where=entry.get("where", entry.get("message", "")),
            worst=[_worst(w) for w in entry.get("worst", [])],
            outputs=[
                OutputResult(o["name"], o["verdict"], o["elements"], o["violations"])
                for o in entry.get("outputs", [])
            ],
            diagnosis=_diagnosis(entry.get("diagnosis")),
            message=case.message(),
            _text=case.text(),
            _json=text,
        )

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    @property
    def faults(self) -> list[str]:
        """The names of the faults of the first explanation; empty if there is none."""
        if self.verdict != "fail" or not self.diagnosis or not self.diagnosis.explanations:
            return []
        return list(self.diagnosis.explanations[0].faults)

    def to_dict(self) -> dict[str, Any]:
        """The case as in the JSON of `gqaverify audit --json`, an object of "cases"."""
        return _object(self._json)

    to_json = to_dict

    def _repr_html_(self) -> str:
        """What a notebook shows: the verdict, and the report below it."""
        fault = f": {html.escape(', '.join(self.faults))}" if self.faults else ""
        return f"<div>{verdict_html(self.verdict)}{fault}<pre>{html.escape(str(self))}</pre></div>"


@dataclass(frozen=True)
class IdentifiedRule:
    """agreement: "agrees", "differs" or "undetermined"."""

    rule: str
    declared: str
    found: str
    agreement: str


@dataclass(frozen=True)
class Identification:
    """The contract that a callable implements. True only if all that was asked holds.

    verdict: "fail" (an answer is wrong, or there is a finding), "pass" (every probe that was
        asked passed), or "undecided".
    rules: the declared contract beside the found one, for the first type.
    findings: what the callable did beside answering, "PROBE: raised ValueError: ...".
    faults: the names of the faults that explain its answers.
    """

    kernel: str
    verdict: str
    rules: list[IdentifiedRule]
    findings: list[str]
    faults: list[str]
    _text: str = field(repr=False)
    _json: str = field(repr=False)

    @classmethod
    def _of(cls, text_json: str, text: str) -> Identification:
        report = _object(text_json)
        types = report["types"]
        faults = [
            slug
            for entry in types
            for explanation in entry["diagnosis"]["explanations"][:1]
            for slug in explanation["faults"]
        ]
        return cls(
            kernel=report["kernel"],
            verdict=_probe_verdict(types),
            rules=[IdentifiedRule(**rule) for rule in types[0]["rules"]],
            findings=[
                f"{probe['name']}: {probe['finding']}"
                for entry in types
                for probe in entry["probes"]
                if probe["finding"]
            ],
            faults=list(dict.fromkeys(faults)),
            _text=text,
            _json=text_json,
        )

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    def to_dict(self) -> dict[str, Any]:
        """As the JSON of `gqaverify identify --json`."""
        return _object(self._json)

    to_json = to_dict


def _probe_verdict(types: list[dict[str, Any]]) -> str:
    """As the exit status of the program: what was refused was not verified."""
    verdict = "pass"
    for entry in types:
        summary = entry["summary"]
        if summary["fail"] or any(probe["finding"] for probe in entry["probes"]):
            return "fail"
        if not summary["pass"] or summary["undecided"] or summary["error"]:
            verdict = "undecided"
    return verdict


@dataclass(frozen=True)
class KernelAudit:
    """A callable on generated problems. True only if all that it took passed, and it took some.

    results: a case for each problem, for each finding and for each problem that was refused.
    """

    verdict: str
    results: list[AuditResult]
    _text: str = field(repr=False)
    _json: str = field(repr=False)

    @classmethod
    def _of(cls, text_json: str, text: str, cases: list[_core.Case]) -> KernelAudit:
        summary = _object(text_json)["summary"]
        verdict = "pass" if summary["pass"] and not summary["undecided"] else "undecided"
        verdict = "fail" if summary["fail"] else "error" if summary["error"] else verdict
        return cls(verdict, [AuditResult._of(case) for case in cases], text, text_json)

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __str__(self) -> str:
        return self._text.rstrip("\n")

    @property
    def faults(self) -> list[str]:
        """The names of all faults that were found, each once."""
        return list(dict.fromkeys(slug for result in self.results for slug in result.faults))

    def to_dict(self) -> dict[str, Any]:
        """As the JSON of `gqaverify audit --json`."""
        return _object(self._json)

    to_json = to_dict
