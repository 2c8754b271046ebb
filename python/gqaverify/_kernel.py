"""Python functions put to the test."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Callable, Mapping, overload

from . import _core
from ._adapter import Adapter
from ._results import Identification, KernelAudit
from ._words import KernelWords, contract_json, element_type, split, takes

if TYPE_CHECKING:
    from ._program import Input
    from .commands import IdentifyReport
    from typing_extensions import Unpack


@overload
def identify(fn: Callable[..., Any], *, dtype: Any = ...) -> Identification: ...
@overload
def identify(fn: Input, *recordings: Input, **flags: Any) -> IdentifyReport: ...


def identify(
    fn: Any, *recordings: Any, dtype: Any = "float32", **flags: Any
) -> Identification | IdentifyReport:
    """The contract that a function implements, or that recordings fit, beside the declared one.

    Recordings (paths, or arrays by their names) go to identify_recordings() with its keywords.

    fn(query, key, value, **keywords) -> output is called on every small probe of `dtype` (or of
    each of several). query [B, Hq, T, dk], key [B, Hkv, S, dk], value [B, Hkv, S, dv] are
    NumPy arrays, not always contiguous; output [B, Hq, T, dv] may be anything that audit() takes.

    Keywords say what a probe states: is_causal (or causal), causal_alignment, window, scale,
    softcap, attn_mask, past_key, past_value, nonpad_kv_seqlen, sink, alibi_slopes, cu_seqlens_q,
    layout, q_num_heads, kv_num_heads, enable_gqa. A function is not asked for what it takes no
    keyword for; it may raise Unsupported or NotImplementedError. Any other exception is a finding.
    """
    if not callable(fn):
        if not isinstance(fn, (str, os.PathLike, Mapping)):
            raise TypeError(f"a callable or a recording is expected, not {type(fn).__name__}")
        from .commands import identify as identify_recordings

        return identify_recordings(fn, *recordings, **flags)
    if recordings or flags:
        raise TypeError(f"identify() of a function takes dtype alone, not {[*recordings, *flags]}")
    text_json, text = _core.identify(Adapter(fn), _element_types(dtype))
    return Identification._of(text_json, text)


@takes(KernelWords)
def audit_kernel(
    fn: Callable[..., Any],
    *,
    dtype: Any = "float32",
    problems: int = 24,
    seed: int = 1,
    **words: Unpack[KernelWords],
) -> KernelAudit:
    """Audits a function on generated problems: prefill, decoding, chunks; MHA, MQA and groups.

    fn is called as by identify(). Keywords declare what it always does, with every problem
    (causal_alignment="top_left", window=(3, 0), dialect="pytorch"), and the tolerance, as for
    audit(); fn is told of what it names a keyword for. The same seed gives the same problems on
    every machine.
    """
    stated = split("audit_kernel", dict(words), KernelWords)
    text_json, text, cases = _core.audit_kernel(
        Adapter(fn, stated.contract),
        _element_types(dtype),
        contract_json(stated.contract),
        stated.tolerance,
        problems,
        seed,
    )
    return KernelAudit._of(text_json, text, cases)


def _element_types(dtype: Any) -> list[str]:
    several = dtype if isinstance(dtype, (list, tuple)) else [dtype]
    return [str(element_type(one)) for one in several]
