"""Exact bytes, and the enumeration."""

from __future__ import annotations

import json
import os
from typing import Any, Mapping

from . import _core
from ._words import source_of


def ledger(
    config: str | os.PathLike[str] | Mapping[str, Any],
    *,
    positions: int | None = None,
    batch: int = 1,
    ranks: int = 1,
    page_size: int = 1,
    budget: int | None = None,
    key_type: str | None = None,
    value_type: str | None = None,
    pad_blocks: bool = False,
) -> dict[str, Any]:
    """Exact bytes of a KV cache and parameters of its projections, as "gqaverify.ledger/1".

    config: a model's config.json, the directory that holds it, or its fields.
    positions: of each of `batch` sequences; without them there are no totals.
    ranks: of tensor parallelism. page_size: positions of a page.
    budget: bytes on each rank, for the number of positions that fits.
    key_type, value_type: "float16", "float8_e4m3fn", "q8_0", ..., or BYTES/ELEMENTS of a block;
        without them the configuration's dtype.
    pad_blocks: a head that is not a whole number of blocks takes whole ones.

    Raises InputError that names a field which is missing or contradicts another, and OSError if
    the file cannot be read.
    """
    text, source = source_of(config)
    text_json, _ = _core.ledger(
        text,
        source,
        key_type,
        value_type,
        pad_blocks,
        positions,
        batch,
        ranks,
        page_size,
        None if budget is None else str(int(budget)),
    )
    report: dict[str, Any] = json.loads(text_json)
    return report


def enumerate_cases(max_heads: int = 12, *, engine: str = "gmp") -> dict[str, Any]:
    """Every Hq up to max_heads, every divisor Hkv, six weight fixtures, in exact fractions.

    As "gqaverify.enumerate/1": "cases" and how many are "equal" under direct group lookup and
    consecutive expansion, and the "controls" that told the interleaved map apart. engine: "gmp"
    or "boost".
    """
    report: dict[str, Any] = json.loads(_core.enumerate_cases(max_heads, engine))
    return report
