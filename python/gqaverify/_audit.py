"""Outputs against the certified reference."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import AttentionError
from ._results import AuditResult, Reference
from ._words import AuditWords, ReferenceWords, Split, contract_json, element_type, split, takes

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(AuditWords)
def audit(
    query: Any, key: Any, value: Any, output: Any, **words: Unpack[AuditWords]
) -> AuditResult:
    """Audits an output, element by element, and names its fault.

    query [B, Hq, T, dk], key [B, Hkv, S, dk], value [B, Hkv, S, dv], output [B, Hq, T, dv], or as
    `layout` has them. Keywords: the contract (see Contract and Rules), further tensors (Tensors), the
    tolerance (Tolerance), and dtype, sample, seed, diagnose.

    Raises InputError (with `code` and `where`) for tensors and contracts that do not fit, and
    TypeError for an unknown keyword.
    """
    return _results(query, key, value, output, stated_of_one("audit", dict(words)))[0]


@takes(AuditWords)
def audit_documents(
    query: Any, key: Any, value: Any, output: Any, **words: Unpack[AuditWords]
) -> list[AuditResult]:
    """Audits packed documents: layout "THD", with cu_seqlens_q and, if they differ, cu_seqlens_k.

    query [total, Hq, dk], key [total, Hkv, dk], value [total, Hkv, dv], output [total, Hq, dv].
    One result for each document that has a query row; the diagnosis of all of them together is in
    the first that fails. Keywords and errors as for audit().
    """
    stated = split("audit_documents", dict(words), AuditWords)
    stated.contract.setdefault("layout", "THD")
    return _results(query, key, value, output, stated)


@takes(AuditWords)
def assert_attention(
    query: Any, key: Any, value: Any, output: Any, **words: Unpack[AuditWords]
) -> None:
    """For tests: AttentionError, an AssertionError, unless the output is proved right.

    Its message begins with the name of the fault. Arguments and errors as for audit(); with
    cu_seqlens_q as for audit_documents().
    """
    __tracebackhide__ = True  # pytest shows the caller's line
    stated = split("assert_attention", dict(words), AuditWords)
    if stated.tensors.get("cu_seqlens_q") is not None:
        stated.contract.setdefault("layout", "THD")
    cases = _explained_if_wrong(query, key, value, output, stated)
    if all(case.passed() for case in cases):  # thousands of tests pay for no report
        return
    failed = [result for result in map(AuditResult._of, cases) if not result]
    if failed:
        # The one that tells of all of them first.
        first = next((r for r in failed if r.verdict == "fail"), failed[0])
        raise AttentionError(first.message.rstrip("\n"), first)


@takes(ReferenceWords)
def reference(query: Any, key: Any, value: Any, **words: Unpack[ReferenceWords]) -> Reference:
    """The exact output, as float64 values with certified radii, both [B, Hq, T, dv].

    Shapes and keywords as for audit(), but for the outputs and the tolerance. Computed by ball
    arithmetic: slower than an audit by far, so meant for small problems.
    """
    stated = split("reference", dict(words), ReferenceWords)
    tensors = {"query": query, "key": key, "value": value, **stated.tensors}
    values, radii = _core.reference(
        tensors, contract_json(stated.contract), element_type(stated.options.get("dtype"))
    )
    return Reference(values, radii)


def stated_of_one(function: str, words: dict[str, Any]) -> Split:
    """What the keywords of a function for one problem state; TypeError for packed documents."""
    stated = split(function, words, AuditWords)
    if stated.tensors.get("cu_seqlens_q") is not None:
        raise TypeError(f"{function}() takes one problem; audit_documents() takes cu_seqlens_q")
    return stated


def explained_if_wrong(
    query: Any, key: Any, value: Any, output: Any, stated: Split
) -> list[AuditResult]:
    """The cases, with a diagnosis unless all pass: a pass is not asked what its inputs cannot show."""
    cases = _explained_if_wrong(query, key, value, output, stated)
    return [AuditResult._of(case) for case in cases]


def _explained_if_wrong(
    query: Any, key: Any, value: Any, output: Any, stated: Split
) -> list[_core.Case]:
    diagnose = stated.options.get("diagnose", True)
    check = stated.options.get("self_check")
    plain = stated._replace(options={**stated.options, "diagnose": False, "self_check": check})
    cases = _cases(query, key, value, output, plain)
    if not diagnose or all(case.passed() for case in cases):
        return cases
    return _cases(query, key, value, output, stated)


def _results(query: Any, key: Any, value: Any, output: Any, stated: Split) -> list[AuditResult]:
    return [AuditResult._of(case) for case in _cases(query, key, value, output, stated)]


def _cases(query: Any, key: Any, value: Any, output: Any, stated: Split) -> list[_core.Case]:
    tensors = {"query": query, "key": key, "value": value, "output": output, **stated.tensors}
    options = stated.options
    return _core.audit_cases(
        tensors,
        contract_json(stated.contract),
        element_type(options.get("dtype")),
        stated.tolerance,
        options.get("sample"),
        options.get("seed", 0),
        options.get("diagnose", True),
        options.get("self_check", True),
    )
