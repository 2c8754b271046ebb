"""Where a model's layers and functions are, and how they are replaced for a while."""

from __future__ import annotations

import inspect
import sys
from contextlib import ExitStack
from typing import Any, Callable, Iterator

from . import _calls
from ._errors import InputError

TORCH_FUNCTION = "scaled_dot_product_attention"


def name_of(function: Callable[..., Any]) -> str:
    return getattr(function, "__name__", type(function).__name__)


def patterns_of(attention: Any) -> list[str] | None:
    """Names of layers; None where a function is meant."""
    if attention is None or callable(attention):
        return None
    return [attention] if isinstance(attention, str) else list(attention)


def function_of(attention: Any) -> Callable[..., Any]:
    if attention is not None:
        function: Callable[..., Any] = attention
        return function
    functional = getattr(getattr(sys.modules.get("torch"), "nn", None), "functional", None)
    found: Callable[..., Any] | None = getattr(functional, TORCH_FUNCTION, None)
    if found is None:
        raise InputError(
            "record.no_torch",
            "attention",
            f"no torch with {TORCH_FUNCTION} is imported: pass the function, or names of layers",
        )
    return found


def prototype_of(function: Callable[..., Any]) -> Callable[..., Any]:
    try:
        inspect.signature(function)
    except (TypeError, ValueError):
        return _calls.scaled_dot_product_attention
    return function


def holders_of(function: Callable[..., Any]) -> Iterator[tuple[Any, str]]:
    """Loaded modules and the names by which they hold a function: `from ... import` makes more."""
    for module in list(sys.modules.values()):
        if (getattr(module, "__name__", "") or "").partition(".")[0] == __name__.partition(".")[0]:
            continue
        for name, held in list(getattr(module, "__dict__", {}).items()):
            if held is function:
                yield module, name


def named_layers(model: Any) -> Iterator[tuple[str, Any]]:
    if model is None:
        return
    if not hasattr(model, "named_modules"):
        raise TypeError(f"model has no named_modules(): {type(model).__name__}")
    for name, layer in list(model.named_modules()):
        if callable(getattr(layer, "forward", None)):
            yield name, layer


def set_forward(stack: ExitStack, layer: Any, forward: Callable[..., Any]) -> None:
    own = vars(layer).get("forward")
    if own is None:
        stack.callback(delattr, layer, "forward")
    else:
        stack.callback(setattr, layer, "forward", own)
    layer.forward = forward
