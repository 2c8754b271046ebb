"""One call of an attention function as a problem: what each argument states."""

from __future__ import annotations

import inspect
import sys
from typing import Any, Callable, Iterable, NamedTuple

from ._adapter import _KEYWORDS
from ._host import BITS, kept_array
from ._words import Contract, Tensors

# The word of the contract that a keyword says.
_WORDS = {name: word for word, names in _KEYWORDS.items() for name in names}
# Nothing of the result depends on it: grouped heads are told by the shapes.
_SAYS_NOTHING = ("enable_gqa",)
# With any of these at work the output is random.
_DROPOUT = ("dropout_p", "dropout", "attn_dropout", "attention_dropout")
_OPERANDS = ("query", "key", "value")


def scaled_dot_product_attention(  # type: ignore[no-untyped-def]
    query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None, enable_gqa=False
):
    """The signature of torch.nn.functional.scaled_dot_product_attention, which tells none itself.

    Source: its documentation since PyTorch 2.5; the later parameters came one by one.
    """


class Problem(NamedTuple):
    """What a call states: tensors by the names of the contract, the contract, and the type whose
    bits the arrays hold, where that is one that NumPy has not."""

    tensors: dict[str, Any]
    contract: dict[str, Any]
    dtype: str | None


class NotAudited(Exception):
    """A call that the contract has no words for; says why."""


def problem_of_call(
    prototype: Callable[..., Any],
    arguments: tuple[Any, ...],
    keywords: dict[str, Any],
    declared: dict[str, Any],
    ignored: Iterable[str] = (),
    dtype: str | None = None,
) -> Problem:
    """The inputs of prototype(*arguments, **keywords), copied; the output is added later.

    The first three parameters are query, key and value. `declared` wins over what the call says;
    `dtype` is the type whose bits integer arrays hold. NotAudited where an argument that is neither None nor a default is not understood.
    """
    operands, further = _bound(prototype, arguments, keywords)
    contract: dict[str, Any] = {}
    given = dict(zip(_OPERANDS, operands))
    for name, (stated, is_default) in further.items():
        word = _WORDS.get(name, name)
        if name in ignored or name in _SAYS_NOTHING or stated is None:
            continue
        if name in _DROPOUT:
            if _plain(stated) != 0:
                raise NotAudited(f"{name} is {_plain(stated)}: the output is random")
        elif word in Contract.__annotations__:
            contract[word] = _plain(stated)
        elif word in Tensors.__annotations__:
            given[word] = stated
        elif not is_default:
            raise NotAudited(f"{name} is no word of the contract: name it in `ignore`, or declare it")
    if contract.get("softcap") == 0:
        del contract["softcap"]
    contract.update(declared)
    return _copied(given, contract, dtype)


def with_output(problem: Problem, output: Any, *, bhsd: bool) -> Problem:
    """The same with what the call returned: the first of several results.

    bhsd: the axes are [..., H, T, d], with any number of them before, as of PyTorch's function.
    """
    while isinstance(output, (tuple, list)) and output:
        output = output[0]
    if output is None:
        raise NotAudited("returned None")
    tensors = dict(problem.tensors)
    tensors["output"], held = kept_array(output)
    if held is None and tensors["output"].dtype == BITS.get(problem.dtype or ""):
        held = problem.dtype
    if held != problem.dtype or tensors["output"].dtype != tensors["query"].dtype:
        kinds = (problem.dtype or tensors["query"].dtype, held or tensors["output"].dtype)
        raise NotAudited(f"query holds {kinds[0]}, the output {kinds[1]}")
    return problem._replace(tensors=_with_four_axes(tensors) if bhsd else tensors)


def as_autocast_reads(tensor: Any) -> Any:
    """A torch tensor as PyTorch's function gets it under autocast: in the lower precision.

    Source: "Autocast Op Reference" of PyTorch (the function is of those that "autocast to" it);
    binary64 stays, as of every such operation.
    """
    torch = sys.modules.get("torch")
    if torch is None or not isinstance(tensor, getattr(torch, "Tensor", ())):
        return tensor
    if not tensor.is_floating_point() or tensor.dtype == torch.float64:
        return tensor
    if hasattr(torch, "get_autocast_dtype"):  # since PyTorch 2.4
        device = tensor.device.type
        on, kind = torch.is_autocast_enabled(device), torch.get_autocast_dtype(device)
    elif tensor.device.type == "cpu":
        on, kind = torch.is_autocast_cpu_enabled(), torch.get_autocast_cpu_dtype()
    else:
        on, kind = torch.is_autocast_enabled(), torch.get_autocast_gpu_dtype()
    return tensor.to(kind) if on else tensor


def _bound(
    prototype: Callable[..., Any], arguments: tuple[Any, ...], keywords: dict[str, Any]
) -> tuple[list[Any], dict[str, tuple[Any, bool]]]:
    """query, key and value; the others by name, and whether each is the parameter's default."""
    try:
        bound = inspect.signature(prototype).bind(*arguments, **keywords)
    except (TypeError, ValueError) as error:
        raise NotAudited(f"its arguments are not understood: {error}") from None
    stated = set(bound.arguments)
    bound.apply_defaults()
    operands: list[Any] = []
    further: dict[str, tuple[Any, bool]] = {}
    for name, value in bound.arguments.items():
        parameter = bound.signature.parameters[name]
        if parameter.kind is parameter.VAR_KEYWORD:
            further.update({key: (entry, False) for key, entry in value.items()})
        elif parameter.kind is parameter.VAR_POSITIONAL:
            if value and len(operands) + len(value) != len(_OPERANDS):
                raise NotAudited("it was given further arguments without names")
            operands += value
        elif len(operands) < len(_OPERANDS):
            operands.append(value)
        else:
            further[name] = (value, name not in stated or value is parameter.default)
    if len(operands) < len(_OPERANDS):
        # fn(*, query, key, value) or fn(**inputs)
        operands = [further.pop(name, (None, True))[0] for name in _OPERANDS]
    if any(operand is None for operand in operands):
        raise NotAudited("query, key and value were not all given")
    return operands, further


def _copied(given: dict[str, Any], contract: dict[str, Any], dtype: str | None) -> Problem:
    tensors: dict[str, Any] = {}
    for name, tensor in given.items():
        tensors[name], held = kept_array(tensor)
        if held is None:
            continue
        if name not in ("attn_mask", "sink", "alibi_slopes"):
            dtype = held
        elif held == "bfloat16":
            # Every bfloat16 is the upper half of a binary32: the same numbers, exactly.
            tensors[name] = (tensors[name].astype("uint32") << 16).view("float32")
        else:
            raise NotAudited(f"{name} holds {held}")
    if dtype in BITS and any(tensors[name].dtype != BITS[dtype] for name in _OPERANDS):
        raise NotAudited("query, key and value are not of one type")
    return Problem(tensors, contract, dtype)


def _plain(stated: Any) -> Any:
    """A Python number from an array library's scalar."""
    if hasattr(stated, "item") and getattr(stated, "ndim", 0) == 0:
        return stated.item()
    return stated


def _with_four_axes(tensors: dict[str, Any]) -> dict[str, Any]:
    """[T, d] and [N, T, d] as one head of N batch entries; batch axes before H folded into one."""
    import numpy

    axes = {tensors[name].ndim for name in (*_OPERANDS, "output")}
    if len(axes) != 1 or min(axes) < 2:
        raise NotAudited(f"query, key, value and output have {sorted(axes)} axes")
    (rank,) = axes
    result = dict(tensors)
    if rank <= 3:
        for name in (*_OPERANDS, "output", "attn_mask"):
            if name in result and result[name].ndim == 3:
                result[name] = result[name][:, None]
            elif name in result and name != "attn_mask":
                result[name] = result[name][None, None]
        return result
    leading = numpy.broadcast_shapes(*(result[n].shape[:-3] for n in (*_OPERANDS, "output")))
    for name in (*_OPERANDS, "output", "attn_mask"):
        if name not in result or result[name].ndim <= 3:
            continue
        inner = result[name].shape[-3:]
        if name == "attn_mask" and rank == 4:
            continue
        whole = numpy.broadcast_to(result[name], (*leading, *inner))
        result[name] = numpy.ascontiguousarray(whole.reshape(-1, *inner))
    return result
