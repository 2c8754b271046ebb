"""Records the attention of a model while it runs."""

from __future__ import annotations

import fnmatch
import functools
import os
import re
import threading
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any, Callable, Iterator, NamedTuple, Sequence

from . import _calls
from ._errors import AttentionError, InputError
from ._hooks import (
    TORCH_FUNCTION,
    function_of,
    holders_of,
    name_of,
    named_layers,
    patterns_of,
    prototype_of,
    set_forward,
)
from ._recorded import RecordedAudit, RecordedCall, audit_of_call
from ._recording import save_recording
from ._words import Contract, RecordedWords, element_type, split, takes

if TYPE_CHECKING:
    from typing_extensions import Unpack


@takes(Contract)
def record(
    model: Any = None,
    attention: str | Sequence[str] | Callable[..., Any] | None = None,
    *,
    folder: str | os.PathLike[str] | None = None,
    per_layer: int | None = None,
    ignore: Sequence[str] = (),
    dtype: Any = None,
    **words: Unpack[Contract],
) -> Recorder:
    """Records the calls of attention that a model makes, one recording per call.

        with gqaverify.record(model) as run:
            model(tokens)
        audited = run.audit()       # true only if every call is proved right
        audited.faults              # {"layers.2.attention": ["head_map.tiled"]}
        run.check()                 # in a test: AttentionError that names the layer

    model: anything with named_modules() whose layers have a `forward` (torch.nn.Module); calls are
        named after the layer that made them. None: calls are recorded without a layer.
    attention: what is recorded. None: torch.nn.functional.scaled_dot_product_attention, with
        attn_mask, is_causal, scale and enable_gqa, and dropout_p = 0, under the dialect "pytorch".
        A function: wherever loaded modules hold it by a name. A text or several: layers of the
        model by their names, with "*" ("layers.*.attention"), that are themselves called as
        (query [B, Hq, T, dk], key [B, Hkv, S, dk], value [B, Hkv, S, dv], keywords) and return
        the output [B, Hq, T, dv], first of a tuple or alone. Keywords mean what the contract says
        of them (true in a boolean mask attends), under the names that identify() lists.
    folder: keep the recordings there, a safetensors file for each call (`gqaverify audit FOLDER`
        reads them), and not in memory.
    per_layer: keep only so many calls of each layer.
    ignore: names of arguments that say nothing of the result.
    dtype: the type ("bfloat16", "float8_e4m3fn", "float8_e5m2") whose bits uint16 and uint8 arrays
        hold; torch tensors tell it themselves.

    Further keywords are the contract that every call has (see Contract), whatever it says.
    What is done to key and value before the call, such as expanding their heads, is not seen:
    record the layer that does it. A call that cannot be recorded is kept with its reason.

    InputError, on entry: torch is not imported and `attention` is None; no layer has that name; no
        module holds the function.
    """
    declared = split("record", dict(words), Contract).contract
    return Recorder(
        model, attention, folder, per_layer, _Said(declared, tuple(ignore), element_type(dtype))
    )


class _Said(NamedTuple):
    """What record() was told of every call."""

    contract: dict[str, Any]
    ignored: tuple[str, ...]
    dtype: str | None


class Recorder:
    """The calls of attention that were made while it was open, in their order.

    Made by record(). A sequence of RecordedCall; audit() and check() judge them.
    """

    def __init__(
        self,
        model: Any,
        attention: Any,
        folder: str | os.PathLike[str] | None,
        per_layer: int | None,
        said: _Said,
    ) -> None:
        self._calls: list[RecordedCall] = []
        self._model = model
        self._attention = attention
        self._folder = None if folder is None else os.fspath(folder)
        self._per_layer = per_layer
        self._said = said
        self._open = ExitStack()
        self._running = threading.local()
        self._lock = threading.Lock()

    def __enter__(self) -> Recorder:
        patterns = patterns_of(self._attention)
        with ExitStack() as stack:
            if patterns is None:
                self._replace_function(stack, function_of(self._attention))
            self._follow_layers(stack, patterns or [])
            self._open = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._open.close()

    def __len__(self) -> int:
        return len(self._calls)

    def __iter__(self) -> Iterator[RecordedCall]:
        return iter(self._calls)

    def __getitem__(self, index: int) -> RecordedCall:
        return self._calls[index]

    @takes(RecordedWords)
    def audit(self, **words: Unpack[RecordedWords]) -> RecordedAudit:
        """Audits every recorded call, in the order in which they were made.

        Keywords: the contract (what is said here wins over what was recorded), the tolerance, and
        sample, seed, diagnose, as for gqaverify.audit(). What could not be recorded is undecided,
        and so is a run in which nothing was called.
        """
        split("audit", dict(words), RecordedWords)
        return RecordedAudit([audit_of_call(call, dict(words)) for call in self._calls])

    @takes(RecordedWords)
    def check(self, **words: Unpack[RecordedWords]) -> None:
        """AttentionError, which names layers and faults, unless every call is proved right.

        Keywords as for audit().
        """
        __tracebackhide__ = True
        audited = self.audit(**words)
        if not audited:
            raise AttentionError(audited.message, audited)

    def _replace_function(self, stack: ExitStack, function: Callable[..., Any]) -> None:
        watching = self._watching(function, of_torch=name_of(function) == TORCH_FUNCTION)
        holders = list(holders_of(function))
        if not holders:
            raise InputError(
                "record.function_not_found",
                "attention",
                f"no loaded module holds {name_of(function)} by a name: record the layer that calls it",
            )
        for holder, name in holders:
            stack.callback(setattr, holder, name, function)
            setattr(holder, name, watching)

    def _follow_layers(self, stack: ExitStack, patterns: list[str]) -> None:
        found = False
        for name, layer in named_layers(self._model):
            forward = layer.forward
            watched = any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)
            inner = self._watching(forward, of_torch=False) if watched else forward
            found = found or watched
            set_forward(stack, layer, self._inside(name, inner, forward))
        if patterns and not found:
            raise InputError("record.no_such_layer", "attention", f"no layer is {patterns}")

    def _inside(
        self, layer: str, inner: Callable[..., Any], forward: Callable[..., Any]
    ) -> Callable[..., Any]:
        """Calls `inner`, and knows meanwhile which layer runs."""

        @functools.wraps(forward)
        def running(*arguments: Any, **keywords: Any) -> Any:
            outer = getattr(self._running, "layer", "")
            self._running.layer = layer
            try:
                return inner(*arguments, **keywords)
            finally:
                self._running.layer = outer

        return running

    def _watching(self, function: Callable[..., Any], *, of_torch: bool) -> Callable[..., Any]:
        """Calls `function`, and keeps what it was given and what it gave."""

        @functools.wraps(function)
        def recorded(*arguments: Any, **keywords: Any) -> Any:
            if getattr(self._running, "recording", False):
                return function(*arguments, **keywords)  # its own calls are a part of it
            layer = getattr(self._running, "layer", "") or name_of(function)
            if not self._wants(layer):
                return function(*arguments, **keywords)
            # Before the call, which may write into what it is given.
            given = self._given(function, arguments, keywords, of_torch)
            self._running.recording = True
            try:
                output = function(*arguments, **keywords)
            finally:
                self._running.recording = False
            self._keep(layer, given, output, of_torch)
            return output

        return recorded

    def _wants(self, layer: str) -> bool:
        return self._per_layer is None or _calls_of(layer, self._calls) < self._per_layer

    def _given(
        self,
        function: Callable[..., Any],
        arguments: tuple[Any, ...],
        keywords: dict[str, Any],
        of_torch: bool,
    ) -> _calls.Problem | str:
        declared, ignored, dtype = self._said
        prototype = function
        if of_torch:
            arguments = tuple(_calls.as_autocast_reads(entry) for entry in arguments)
            keywords = {name: _calls.as_autocast_reads(entry) for name, entry in keywords.items()}
            prototype = prototype_of(function)
            declared = {"dialect": "pytorch", **declared}
        try:
            return _calls.problem_of_call(
                prototype, arguments, keywords, declared, ignored, dtype
            )
        except Exception as error:  # the model's run is not ended by its recorder
            return _reason(error)

    def _keep(self, layer: str, given: _calls.Problem | str, output: Any, of_torch: bool) -> None:
        with self._lock:
            index = _calls_of(layer, self._calls)
            if isinstance(given, _calls.Problem):
                try:
                    bhsd = of_torch and "layout" not in self._said.contract
                    made = _calls.with_output(given, output, bhsd=bhsd)
                    self._calls.append(self._stored(layer, index, made))
                    return
                except Exception as error:
                    given = _reason(error)
            self._calls.append(RecordedCall(layer, index, {}, reason=given))

    def _stored(self, layer: str, index: int, made: _calls.Problem) -> RecordedCall:
        tensors, contract, dtype = made
        if self._folder is None:
            return RecordedCall(layer, index, contract, None, "", dtype, tensors)
        os.makedirs(self._folder, exist_ok=True)
        path = os.path.join(self._folder, _file_name(layer, index))
        save_recording(path, tensors, contract, dtype)
        return RecordedCall(layer, index, contract, path, "", dtype)


def _reason(error: Exception) -> str:
    if isinstance(error, _calls.NotAudited):
        return str(error)
    return f"could not be recorded: {type(error).__name__}: {error}"


def _calls_of(layer: str, calls: list[RecordedCall]) -> int:
    return sum(1 for call in calls if call.layer == layer)


def _file_name(layer: str, index: int) -> str:
    return f"{re.sub(r'[^A-Za-z0-9._-]+', '_', layer)}.call{index}.safetensors"
