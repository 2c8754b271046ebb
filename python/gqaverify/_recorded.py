"""Recorded calls of attention, and what an audit says of them."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Any

from ._audit import explained_if_wrong
from ._errors import InputError
from ._recording import load_recording
from ._results import AuditResult, verdict_html
from ._words import AuditWords, split


@dataclass(frozen=True)
class RecordedCall:
    """One call of attention.

    layer: the layer that made it, or the function's name outside of any.
    index: of the calls of that layer, from 0.
    contract: what it stated.
    path: its file, where it was kept in a folder.
    reason: why it could not be recorded; empty if it was.
    dtype: the type whose bits integer arrays of it hold ("bfloat16", ...), if any.
    """

    layer: str
    index: int
    contract: dict[str, Any]
    path: str | None = None
    reason: str = ""
    dtype: str | None = None
    _tensors: dict[str, Any] = field(default_factory=dict, repr=False)

    def tensors(self) -> dict[str, Any]:
        """query, key, value, output and what else it was given, as arrays."""
        return dict(self._tensors) if self.path is None else load_recording(self.path)[0]


@dataclass(frozen=True)
class CallAudit:
    """The verdict on one call: "pass", "fail", "undecided" or "error".

    results: of the call, or of each document of packed ones; empty where there is a reason why it
        was not audited.
    """

    layer: str
    index: int
    verdict: str
    results: list[AuditResult]
    reason: str = ""
    path: str | None = None

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    @property
    def faults(self) -> list[str]:
        """The names of the faults that explain it, each once."""
        return list(dict.fromkeys(slug for result in self.results for slug in result.faults))

    @property
    def told(self) -> str:
        """The fault, where the violations are, or why it was not audited."""
        if self.reason or not self.results:
            return self.reason
        if self.faults:
            return ", ".join(self.faults)
        return next((result.where for result in self.results if not result), "")


# The worst that a call can have comes first.
_VERDICTS = ("fail", "error", "undecided", "pass")


def _worst(verdicts: list[str]) -> str:
    return min(verdicts, key=_VERDICTS.index, default="undecided")


@dataclass(frozen=True)
class RecordedAudit:
    """Every recorded call of a run. True only if there was one and all are proved right.

    calls: in the order in which they were made.
    """

    calls: list[CallAudit]

    def __bool__(self) -> bool:
        return self.verdict == "pass"

    def __len__(self) -> int:
        return len(self.calls)

    @property
    def verdict(self) -> str:
        """The worst of the calls; "undecided" where there are none."""
        return _worst([call.verdict for call in self.calls])

    @property
    def failed(self) -> list[CallAudit]:
        """The calls that are not proved right, first made first."""
        return [call for call in self.calls if not call]

    @property
    def faults(self) -> dict[str, list[str]]:
        """The names of the faults of each layer that has some."""
        named: dict[str, list[str]] = {}
        for call in self.calls:
            for slug in call.faults:
                slugs = named.setdefault(call.layer, [])
                if slug not in slugs:
                    slugs.append(slug)
        return named

    @property
    def message(self) -> str:
        """What a failing test should print: the first wrong call, its fault, then the others."""
        if not self.calls:
            return "attention was not verified: no call was recorded"
        if self:
            return ""
        wrong = [call for call in self.failed if call.verdict == "fail"]
        first = (wrong or self.failed)[0]
        head = "attention is wrong" if wrong else "attention was not verified"
        lines = [f"{head}: {first.layer}, call {first.index}: {first.told}"]
        for result in [result for result in first.results if not result][:1]:
            lines += result.message.rstrip("\n").splitlines()[1:]
        lines.append(f"{len(self.failed)} of {len(self.calls)} calls are not proved right:")
        lines += [f"  {_line(call)}" for call in self.failed]
        return "\n".join(lines)

    def __str__(self) -> str:
        passed = len(self.calls) - len(self.failed)
        lines = [_line(call) for call in self.calls]
        return "\n".join([*lines, f"{passed} of {len(self.calls)} calls passed"])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain objects; "cases" are those of `gqaverify audit --json`."""
        return {
            "verdict": self.verdict,
            "calls": [
                {
                    "layer": call.layer,
                    "index": call.index,
                    "path": call.path,
                    "verdict": call.verdict,
                    "reason": call.reason,
                    "cases": [result.to_dict() for result in call.results],
                }
                for call in self.calls
            ],
        }

    def _repr_html_(self) -> str:
        """What a notebook shows: a row for each call."""
        rows = "".join(
            f"<tr><td>{html.escape(call.layer)}</td><td>{call.index}</td>"
            f"<td>{verdict_html(call.verdict)}</td><td>{html.escape(call.told)}</td></tr>"
            for call in self.calls
        )
        head = "<tr><th>Layer</th><th>Call</th><th>Verdict</th><th>Fault</th></tr>"
        return f"<div>{verdict_html(self.verdict)}<table>{head}{rows}</table></div>"


def _line(call: CallAudit) -> str:
    told = f"  {call.told}" if call.told else ""
    return f"{call.verdict:<9} {call.layer}, call {call.index}{told}"


def audit_of_call(call: RecordedCall, words: dict[str, Any]) -> CallAudit:
    """`words` win over what the call stated. InputError becomes the verdict "error"."""
    if call.reason:
        return CallAudit(call.layer, call.index, "undecided", [], call.reason)
    tensors = call.tensors()
    query, key, value, output = (tensors.pop(n) for n in ("query", "key", "value", "output"))
    stated = split("audit", {"dtype": call.dtype, **call.contract, **tensors, **words}, AuditWords)
    try:
        results = explained_if_wrong(query, key, value, output, stated)
    except InputError as error:
        return CallAudit(call.layer, call.index, "error", [], str(error), call.path)
    verdict = _worst([result.verdict for result in results])
    return CallAudit(call.layer, call.index, verdict, results, "", call.path)
