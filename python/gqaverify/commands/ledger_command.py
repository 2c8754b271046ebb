"""`gqaverify ledger` from Python. Written by python/generate.py."""

from dataclasses import dataclass
from typing import Any, Dict, List, Optional, Sequence, Union

from .._program import Each, Input, Record, Report, Words, run


@dataclass(frozen=True)
class LedgerStated(Record):
    """A figure to confirm."""

    name: str
    stated: Union[int, str]
    exact: Union[int, str]
    holds: bool


@dataclass(frozen=True, repr=False)
class LedgerReport(Report):
    """Bytes of a KV cache.

    class_defaults: fields taken from the defaults of its class.
    """

    source: Union[str, None]
    model_type: Union[str, None]
    class_defaults: List[str]
    model: Dict[str, Any]
    bytes_per_layer_position: Union[int, str]
    bytes_per_position: Union[int, str]
    parameters: Union[Dict[str, Any], None]
    stated: List[LedgerStated]
    bytes_per_position_beyond_windows: Optional[Union[int, str]] = None
    use: Optional[Dict[str, Any]] = None
    layers: Optional[List[Dict[str, Any]]] = None
    bytes: Optional[Union[int, str]] = None
    bytes_saved: Optional[Union[int, str]] = None
    tensor_parallel: Optional[Dict[str, Any]] = None
    comparison: Optional[List[Dict[str, Any]]] = None
    budget: Optional[Dict[str, Any]] = None


def ledger(
    config: Optional[Input] = None,
    *,
    layers: Optional[int] = None,
    layers_without_cache: Optional[int] = None,
    q_heads: Optional[int] = None,
    kv_heads: Optional[int] = None,
    head_size: Optional[int] = None,
    value_size: Optional[int] = None,
    hidden_size: Optional[int] = None,
    window: Optional[int] = None,
    windowed_layers: Optional[int] = None,
    type: Optional[Words] = None,
    key_type: Optional[Words] = None,
    value_type: Optional[Words] = None,
    pad_blocks: Optional[bool] = None,
    positions: Optional[int] = None,
    batch: Optional[int] = None,
    ranks: Optional[int] = None,
    page_size: Optional[int] = None,
    budget: Optional[Words] = None,
    expect: Optional[Union[Words, Sequence[Words]]] = None,
    certificate: Optional[Input] = None,
) -> LedgerReport:
    """Exact bytes of a KV cache and parameters of its projections.

    config: A model's config.json, or the directory that holds it.
    layers: Layers with a KV cache; not with CONFIG.
    layers_without_cache: Other layers of the model; not with CONFIG.
    q_heads: Query heads; not with CONFIG.
    kv_heads: KV heads; not with CONFIG.
    head_size: Elements of one head's key, and of its value; not with CONFIG.
    value_size: Elements of one head's value; not with CONFIG.
    hidden_size: Model width, for the projections; not with CONFIG.
    window: Positions that a windowed layer keeps; not with CONFIG.
    windowed_layers: How many layers are windowed (default with window: all); only with window.
    type: Type of keys and values (default: the file's dtype): float16, bfloat16, float8_e4m3fn,
        int8, q8_0, ... or BYTES/ELEMENTS of a block, such as 34/32.
    key_type: Type of the keys alone.
    value_type: Type of the values alone.
    pad_blocks: A head that is not a whole number of blocks takes whole ones.
    positions: Positions of each sequence.
    batch: Sequences (default 1).
    ranks: Tensor-parallel ranks (default 1).
    page_size: Positions of a page (default 1).
    budget: How many positions fit in so many bytes per rank.
    expect: NAME=NUMBER, a figure to be confirmed or refuted, such as bytes_per_position.
    certificate: Write the certificate to FILE.

    InputError: what is given is not what it must be. ProgramError: the program is missing, or
    failed.
    """
    return run(
        LedgerReport,
        ["ledger"],
        [config],
        {
            "--layers": layers,
            "--layers-without-cache": layers_without_cache,
            "--q-heads": q_heads,
            "--kv-heads": kv_heads,
            "--head-size": head_size,
            "--value-size": value_size,
            "--hidden-size": hidden_size,
            "--window": window,
            "--windowed-layers": windowed_layers,
            "--type": type,
            "--key-type": key_type,
            "--value-type": value_type,
            "--pad-blocks": pad_blocks,
            "--positions": positions,
            "--batch": batch,
            "--ranks": ranks,
            "--page-size": page_size,
            "--budget": budget,
            "--expect": Each(expect),
            "--certificate": certificate,
        },
    )
