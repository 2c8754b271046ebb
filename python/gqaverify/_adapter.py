"""A Python function as a kernel: which problems it takes, and how it is called."""

from __future__ import annotations

import inspect
import traceback
from fractions import Fraction
from typing import Any, Callable, Iterable

# Our word -> the keywords that say it, in the words of ONNX, PyTorch and others; the first one
# that the function names is used, and the first of all if it takes any keyword.
_KEYWORDS = {
    "causal": ("is_causal", "causal"),
    "causal_alignment": ("causal_alignment",),
    "window": ("window", "window_size"),
    "scale": ("scale", "softmax_scale"),
    "softcap": ("softcap",),
    "attn_mask": ("attn_mask", "mask"),
    "past_key": ("past_key",),
    "past_value": ("past_value",),
    "nonpad_kv_seqlen": ("nonpad_kv_seqlen",),
    "sink": ("sink", "sinks"),
    "alibi_slopes": ("alibi_slopes",),
    "cu_seqlens_q": ("cu_seqlens_q",),
    "cu_seqlens_k": ("cu_seqlens_k",),
    "layout": ("layout",),
    "q_num_heads": ("q_num_heads",),
    "kv_num_heads": ("kv_num_heads",),
    "empty_row": ("empty_row",),
    "enable_gqa": ("enable_gqa",),
}

# What a function must take by keyword to be asked for a feature.
_FEATURES = {
    "causal": ("causal",),
    "window": ("window",),
    "scale": ("scale",),
    "softcap": ("softcap",),
    "mask_boolean": ("attn_mask",),
    "mask_float": ("attn_mask",),
    "past": ("past_key", "past_value"),
    "lengths": ("nonpad_kv_seqlen",),
    "sink": ("sink",),
    "alibi": ("alibi_slopes",),
    "packed": ("cu_seqlens_q",),
    "empty_row": ("empty_row",),
}

# These only say more of what is asked for. A function that does not take another word that a
# problem needs is not asked.
_OPTIONAL = ("enable_gqa", "empty_row", "causal_alignment")

# Fields of the contract that a dialect states.
_DIALECT = ("causal_alignment", "empty_row", "window")


class Adapter:
    """What gqaverify._core needs of a function fn(query, key, value, **keywords) -> output.

    The first three parameters are passed by position. A problem is put before the function only
    if it names the keywords that the problem needs, or takes any (**keywords). `declared` names
    the contract fields that somebody says it follows always: it need not take those.
    """

    def __init__(self, function: Callable[..., Any], declared: Iterable[str] = ()) -> None:
        if not callable(function):
            raise TypeError(f"a callable is expected, not {type(function).__name__}")
        self.name = getattr(function, "__name__", type(function).__name__)
        self._function = function
        self._declared = {*declared, *(_DIALECT if "dialect" in declared else ())}
        self._keywords, self._required, self._takes_any = _keywords_of(function)
        self.features = ["strided", "value_size"]
        for feature, words in _FEATURES.items():
            if all(self._keyword(word) for word in words):
                self.features.append(feature)
        self.layouts = ["BHSD"]
        if self._keyword("layout"):
            self.layouts += ["BSHD", "SBHD"]
            if self._keyword("q_num_heads") and self._keyword("kv_num_heads"):
                self.layouts.append("BSH")
        if self._keyword("cu_seqlens_q"):
            self.layouts.append("THD")

    def answer(
        self, tensors: dict[str, Any], contract: dict[str, Any]
    ) -> tuple[Any, bool, str]:
        """(output or None, supported, finding)."""
        query, key, value = (tensors.pop(name) for name in ("query", "key", "value"))
        keywords = self._arguments(query, key, tensors, contract)
        if keywords is None:
            return None, False, ""
        try:
            output = self._function(query, key, value, **keywords)
        except NotImplementedError:
            return None, False, ""
        except Exception as error:  # what it raises is a finding about it
            return None, True, f"raised {_described(error)}"
        if output is None:
            return None, True, "returned None"
        return output, True, ""

    def _keyword(self, word: str) -> str | None:
        names = _KEYWORDS[word]
        for name in names:
            if name in self._keywords:
                return name
        return names[0] if self._takes_any else None

    def _arguments(
        self, query: Any, key: Any, tensors: dict[str, Any], contract: dict[str, Any]
    ) -> dict[str, Any] | None:
        words = {**_contract_words(contract), **tensors}
        position = any(word in words for word in ("causal", "window", "alibi_slopes"))
        alignment = contract["causal_alignment"]
        if position:
            words["causal_alignment"] = alignment
            # Where nobody says which alignment it has, that is for the probes to find out.
            known = self._keyword("causal_alignment") or "causal_alignment" in self._declared
            if alignment != "bottom_right" and not known:
                return None
        if "enable_gqa" in self._keywords and query.ndim == key.ndim == 4:
            words["enable_gqa"] = query.shape[1] != key.shape[1]
        arguments: dict[str, Any] = {name: None for name in self._required}
        for name in ("is_causal", "causal"):
            if name in arguments:
                arguments[name] = False
        for word, stated in words.items():
            keyword = self._keyword(word)
            if keyword:
                arguments[keyword] = stated
            elif word not in _OPTIONAL and word not in self._declared:
                return None
        return arguments


def _contract_words(contract: dict[str, Any]) -> dict[str, Any]:
    """What a contract states beyond the defaults."""
    words: dict[str, Any] = {}
    if contract["causal"]:
        words["causal"] = True
    if contract["window"] != [-1, -1]:
        words["window"] = tuple(contract["window"])
    if contract["scale"] != "default":
        words["scale"] = float(Fraction(contract["scale"]))
    if contract["softcap"] != "0":
        words["softcap"] = float(Fraction(contract["softcap"]))
    if contract["layout"] != "BHSD":
        words["layout"] = contract["layout"]
    if contract["empty_row"] != "zero":
        words["empty_row"] = contract["empty_row"]
    for name in ("q_num_heads", "kv_num_heads"):
        if name in contract:
            words[name] = contract[name]
    return words


def _keywords_of(function: Callable[..., Any]) -> tuple[set[str], set[str], bool]:
    """Names that it takes by keyword, those of them that it needs, and whether it takes any."""
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        # A built-in function that does not say: it is asked for query, key and value alone.
        return set(), set(), False
    kinds = inspect.Parameter
    by_position = [
        p.name for p in parameters if p.kind in (kinds.POSITIONAL_ONLY, kinds.POSITIONAL_OR_KEYWORD)
    ][:3]
    by_keyword = [
        p
        for p in parameters
        if p.kind in (kinds.POSITIONAL_OR_KEYWORD, kinds.KEYWORD_ONLY) and p.name not in by_position
    ]
    required = {p.name for p in by_keyword if p.default is kinds.empty}
    takes_any = any(p.kind == kinds.VAR_KEYWORD for p in parameters)
    return {p.name for p in by_keyword}, required, takes_any


def _described(error: Exception) -> str:
    """"ValueError: message (kernel.py:12)": the last line that the function ran itself."""
    text = "".join(traceback.format_exception_only(type(error), error)).strip()
    frames = traceback.extract_tb(error.__traceback__)
    if len(frames) < 2:
        return text
    name = frames[-1].filename.rpartition("/")[2]
    return f"{text} ({name}:{frames[-1].lineno})"
