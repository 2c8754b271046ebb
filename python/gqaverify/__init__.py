"""Decides exactly whether grouped-query attention was computed correctly, and names the fault.

    import gqaverify

    result = gqaverify.audit(query, key, value, output, causal=True)
    result.verdict          # "pass", "fail" or "undecided"
    result.faults           # ["head_map.tiled"]
    print(result)           # figures, places, worst elements, the fault in words

    gqaverify.assert_attention(query, key, value, output, causal=True)  # in a test

Shapes, in the words of the ONNX operator Attention: query [B, Hq, T, dk], key [B, Hkv, S, dk],
value [B, Hkv, S, dv], output [B, Hq, T, dv]. Tensors are NumPy arrays, anything with
``__dlpack__`` or the buffer protocol, or sequences of numbers; strides are honoured. bfloat16
comes as the type of ml_dtypes, through DLPack, as uint16 bits with ``dtype="bfloat16"``, or as
wider floats that are all bfloat16 numbers, with the same word. float8 comes as the types of
ml_dtypes, or as uint8 bits with ``dtype="float8_e4m3fn"`` or ``"float8_e5m2"``.
"""

from typing import TYPE_CHECKING, Any

from ._audit import assert_attention, audit, audit_documents, reference
from ._core import version as __version__
from ._errors import AttentionError, InputError, ProgramError, Unsupported
from ._kernel import audit_kernel, identify
from ._record import Recorder, record
from ._recorded import CallAudit, RecordedAudit, RecordedCall
from ._recording import load_recording, save_recording
from ._results import (
    AuditResult,
    Bounds,
    Diagnosis,
    Explanation,
    Identification,
    IdentifiedRule,
    KernelAudit,
    OutputResult,
    Reference,
    WorstElement,
)
from ._words import Contract, Rules, Tensors, Tolerance

if TYPE_CHECKING:
    from .commands import (
        attain,
        check,
        claims,
        compare,
        enumerate,
        faults,
        ledger,
        pool,
        probe_check,
        probe_write,
        rank,
        verify,
    )
    from .commands import audit as audit_recordings
    from .commands import enumerate as enumerate_cases
    from .commands import identify as identify_recordings

# Not `enumerate`: importing every name must not hide Python's own.
__all__ = [
    "AttentionError",
    "AuditResult",
    "Bounds",
    "CallAudit",
    "Contract",
    "Diagnosis",
    "Explanation",
    "Identification",
    "IdentifiedRule",
    "InputError",
    "KernelAudit",
    "OutputResult",
    "ProgramError",
    "RecordedAudit",
    "RecordedCall",
    "Recorder",
    "Reference",
    "Rules",
    "Tensors",
    "Tolerance",
    "Unsupported",
    "WorstElement",
    "__version__",
    "assert_attention",
    "attain",
    "audit",
    "audit_documents",
    "audit_kernel",
    "audit_recordings",
    "check",
    "claims",
    "compare",
    "enumerate_cases",
    "faults",
    "identify",
    "identify_recordings",
    "ledger",
    "load_recording",
    "pool",
    "probe_check",
    "probe_write",
    "rank",
    "record",
    "reference",
    "save_recording",
    "verify",
]

# Names here -> names of the functions in gqaverify.commands, which are loaded when one is asked for.
_COMMANDS = {
    "attain": "attain",
    "audit_recordings": "audit",
    "check": "check",
    "claims": "claims",
    "compare": "compare",
    "enumerate": "enumerate",
    "enumerate_cases": "enumerate",
    "faults": "faults",
    "identify_recordings": "identify",
    "ledger": "ledger",
    "pool": "pool",
    "probe_check": "probe_check",
    "probe_write": "probe_write",
    "rank": "rank",
    "verify": "verify",
}


def __getattr__(name: str) -> Any:
    if name not in _COMMANDS:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from . import commands

    return getattr(commands, _COMMANDS[name])


def __dir__() -> list[str]:
    return sorted({*globals(), *_COMMANDS})
