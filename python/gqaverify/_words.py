"""The keywords that state a problem: contract, further tensors, tolerance."""

from __future__ import annotations

import difflib
import inspect
import json
from decimal import Decimal
from fractions import Fraction
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, Callable, NamedTuple, Sequence, TypedDict, TypeVar, Union

if TYPE_CHECKING:
    from typing import Literal

_Function = TypeVar("_Function", bound=Callable[..., Any])
Number = Union[int, float, str, Fraction, Decimal]


class Rules(TypedDict, total=False):
    """What attention means, in the words of the contract.

    head_map: "contiguous" (default), "interleaved", or the KV head of every query head.
    scale: "default" (1/sqrt(dk)) or a number: a float means exactly its bits, a text may be a
        decimal, a fraction "p/q" or a hexadecimal float.
    causal, causal_alignment: key j is visible only if j <= position; the position of row i is
        i + 0 ("top_left"), i + visible length - T ("bottom_right", default), or "onnx".
    window: (left, right) around the position, both included, -1 unbounded.
    softcap: c > 0: score = c tanh(score / c).
    empty_row: what a row without a visible key holds: "zero" (default), "nan", "any", "mean".
    lse_base, lse_empty: the logarithm that `lse` is ("e" or "2"), and what it holds of a row
        without a visible key ("-inf" or "+inf").
    dialect: defaults of a known system: "pytorch", "flash-attention", "transformers", ...
    sliding_window, n_swa, local_window_size: the window in the word of such a dialect.
    """

    head_map: str | Sequence[int]
    scale: Number
    causal: bool
    causal_alignment: Literal["top_left", "bottom_right", "onnx"]
    window: Sequence[int]
    softcap: Number
    empty_row: Literal["zero", "nan", "any", "mean"]
    lse_base: Literal["e", "2"]
    lse_empty: Literal["-inf", "+inf"]
    dialect: str
    sliding_window: int
    n_swa: int
    local_window_size: int


class Contract(Rules, total=False):
    """The rules, and where the axes of the tensors are.

    layout: "BHSD" (default), "BSHD", "SBHD", "BSH" (heads folded into the last axis, with
        q_num_heads and kv_num_heads) or "THD" (packed documents).
    lse_layout: the axes of `lse`: "BHT" (default) or "BTH"; of packed documents the same without B.
    """

    layout: Literal["BHSD", "BSHD", "SBHD", "BSH", "THD"]
    lse_layout: Literal["BHT", "BTH"]
    q_num_heads: int
    kv_num_heads: int


class Tensors(TypedDict, total=False):
    """Tensors beside query, key, value and output.

    attn_mask: broadcastable to [B, Hq, T, P + S]; bool: true attends; float: added.
    past_key, past_value: [B, Hkv, P, dk], [B, Hkv, P, dv]; keys seen are past, then new.
    past_lengths: [B] int; how much of past_key and past_value is valid (a static cache): new keys
        stand from there on, in place.
    nonpad_kv_seqlen: [B] int; keys from this count on are not visible.
    sink: [Hq], the logit of a key without a value.
    alibi_slopes: [Hq] or [B, Hq].
    cu_seqlens_q, cu_seqlens_k: [N + 1] int, documents of layout THD.
    present_key, present_value, qk_matmul_output, lse: further outputs, audited too.
    grad_output: as output, the gradient that comes in; grad_query, grad_key, grad_value: what a
        backward pass made of it, audited too. grad_lse: [B, Hq, T], where lse has one, too.
    """

    attn_mask: Any
    past_key: Any
    past_value: Any
    past_lengths: Any
    nonpad_kv_seqlen: Any
    sink: Any
    alibi_slopes: Any
    cu_seqlens_q: Any
    cu_seqlens_k: Any
    present_key: Any
    present_value: Any
    qk_matmul_output: Any
    qk_matmul_output_mode: int
    lse: Any
    grad_output: Any
    grad_lse: Any
    grad_query: Any
    grad_key: Any
    grad_value: Any


class Tolerance(TypedDict, total=False):
    """How far an output may be from the exact value; without any word, as far as rounding in the
    tensors' types explains.

    atol, rtol: |output - reference| <= atol + rtol |reference|.
    max_ulp: in units in the last place of the reference, in the output's type.
    model: a precision model: "f64", "f32", "f16-f32", "bf16-f32", "f16-stored", "bf16-stored",
        "fp8-weights", "tf32", "f16-products", "bf16-products", "bf16x3", "f16", "bf16".
    accept: "worst-case": pass what only a model's worst case explains.
    """

    atol: Number
    rtol: Number
    max_ulp: Number
    model: str
    accept: Literal["worst-case"]


class Options(TypedDict, total=False):
    """dtype: the type of query, key, value, caches and outputs ("bfloat16", numpy.float16, ...):
        uint16 and uint8 arrays hold its bits, other floats are converted if that is exact.
    sample, seed: audit that many random rows instead of all.
    diagnose: False: do not search for the fault that explains a failure.
    self_check: ask a few rows that fast arithmetic decided again by ball arithmetic; a contradiction
        (a wrong BLAS or processor) raises RuntimeError. Without the word audit() does, and what only
        asserts does of large problems and of one small problem in thirty-two.
    """

    dtype: Any
    sample: int
    seed: int
    diagnose: bool
    self_check: bool


class AuditWords(Contract, Tensors, Tolerance, Options, total=False):
    """Everything that audit() takes by keyword."""


class RecordedWords(Contract, Tolerance, Options, total=False):
    """Everything that Recorder.audit() takes by keyword: the tensors are recorded."""


class InputWords(TypedDict, total=False):
    """Tensors that an implementation is given."""

    attn_mask: Any
    past_key: Any
    past_value: Any
    nonpad_kv_seqlen: Any
    sink: Any
    alibi_slopes: Any
    dtype: Any


class ReferenceWords(Contract, InputWords, total=False):
    """Everything that reference() takes by keyword."""


class KernelWords(Rules, Tolerance, total=False):
    """Everything that audit_kernel() takes by keyword."""


class Split(NamedTuple):
    """Keywords by what they state."""

    contract: dict[str, Any]
    tensors: dict[str, Any]
    tolerance: dict[str, str]
    options: dict[str, Any]


def split(function: str, words: dict[str, Any], accepted: type) -> Split:
    """Sorts keywords; TypeError names one that `accepted` (a TypedDict) has not."""
    known = accepted.__annotations__
    result = Split({}, {}, {}, {})
    for name, value in words.items():
        if name not in known:
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean '{close[0]}'?" if close else ""
            raise TypeError(f"{function}() got an unexpected keyword argument '{name}'{hint}")
        if name in Contract.__annotations__:
            result.contract[name] = value
        elif name in Tensors.__annotations__:
            result.tensors[name] = value
        elif name in Tolerance.__annotations__:
            if value is not None:
                is_name = name in ("model", "accept")
                result.tolerance[name] = value if is_name else exact(value, name)
        else:
            result.options[name] = value
    return result


def takes(accepted: type) -> Callable[[_Function], _Function]:
    """Shows the keywords of a TypedDict in a function's signature, for help() and editors."""

    def with_keywords(function: _Function) -> _Function:
        own = inspect.signature(function)
        parameters = [p for p in own.parameters.values() if p.kind is not p.VAR_KEYWORD]
        parameters += [
            inspect.Parameter(
                name,
                inspect.Parameter.KEYWORD_ONLY,
                default=...,
                # As it is written there.
                annotation=getattr(kind, "__forward_arg__", kind),
            )
            for name, kind in accepted.__annotations__.items()
        ]
        function.__signature__ = own.replace(parameters=parameters)  # type: ignore[attr-defined]
        return function

    return with_keywords


def exact(value: Number, name: str) -> str:
    """A number as a text that loses nothing: a float as the hexadecimal of its bits."""
    if isinstance(value, str):
        return value
    if isinstance(value, bool) or not isinstance(value, (Real, Decimal)):
        kind = type(value).__name__
        raise TypeError(f"{name} must be a number or a text holding one, not {kind}")
    if isinstance(value, (Integral, Fraction)):
        return str(value)
    if isinstance(value, Decimal):
        return format(value, "f") if value.is_finite() else str(value)
    number = float(value)
    return number.hex() if number - number == 0 else str(number)


def contract_json(words: dict[str, Any]) -> str:
    """The contract as its JSON object; fields that are None are not stated."""
    fields = {}
    for name, value in words.items():
        if value is None:
            continue
        if name in ("scale", "softcap"):
            value = exact(value, name)
        fields[name] = value
    return json.dumps(fields, default=_plain)


def _plain(value: Any) -> Any:
    # numpy's integers, booleans and arrays.
    if hasattr(value, "tolist"):
        return value.tolist()
    if hasattr(value, "__index__"):
        return value.__index__()
    raise TypeError(f"{value!r} is not a value of the contract")


_ELEMENT_TYPES = {
    "float64": "binary64",
    "double": "binary64",
    "float32": "binary32",
    "float": "binary32",
    "float16": "binary16",
    "half": "binary16",
}


def element_type(dtype: Any) -> str | None:
    """The library's name of a dtype: a name, a numpy dtype or scalar type, a torch dtype."""
    if dtype is None:
        return None
    if isinstance(dtype, str):
        name = dtype
    elif hasattr(dtype, "name"):
        name = dtype.name
    elif isinstance(dtype, type):
        name = dtype.__name__
    else:
        name = str(dtype)
    name = name.rpartition(".")[2]
    return _ELEMENT_TYPES.get(name, name)
