"""Attention in plain NumPy, for the tests: an oracle that shares nothing with the library."""

import numpy as np

BATCH, Q_HEADS, KV_HEADS, QUERIES, KEYS, WIDTH = 2, 6, 2, 5, 7, 8


def operands(seed, dtype=np.float32, kv_heads=KV_HEADS, queries=QUERIES, keys=KEYS):
    """query [B, Hq, T, d], key and value [B, Hkv, S, d], normally distributed."""
    random = np.random.default_rng(seed)
    shapes = [
        (BATCH, Q_HEADS, queries, WIDTH),
        (BATCH, kv_heads, keys, WIDTH),
        (BATCH, kv_heads, keys, WIDTH),
    ]
    return [random.standard_normal(shape).astype(dtype) for shape in shapes]


def attend(query, key, value, *, is_causal=False, window=None, scale=None, attn_mask=None,
           repeat=np.repeat):
    """Bottom-right causal attention in float64, rounded to the query's type.

    `repeat` expands the KV heads: numpy.repeat is PyTorch's repeat_interleave.
    """
    query_, key_, value_ = (np.asarray(x, np.float64) for x in (query, key, value))
    group = query_.shape[1] // key_.shape[1]
    if repeat is np.tile:
        key_, value_ = (np.tile(x, (1, group, 1, 1)) for x in (key_, value_))
    else:
        key_, value_ = (repeat(x, group, axis=1) for x in (key_, value_))
    scale = 1 / np.sqrt(query_.shape[-1]) if scale is None else scale
    scores = scale * query_ @ key_.swapaxes(-1, -2)
    rows, columns = scores.shape[-2:]
    position = np.arange(rows)[:, None] + columns - rows
    keys = np.arange(columns)
    visible = np.ones((rows, columns), bool)
    if is_causal:
        visible &= keys <= position
    if window is not None and window[0] >= 0:
        visible &= keys >= position - window[0]
    if window is not None and window[1] >= 0:
        visible &= keys <= position + window[1]
    if attn_mask is not None and attn_mask.dtype == bool:
        visible = visible & attn_mask
    elif attn_mask is not None:
        scores = scores + np.asarray(attn_mask, np.float64)
    visible = np.broadcast_to(visible, scores.shape)
    scores = np.where(visible, scores, -np.inf)
    largest = scores.max(-1, keepdims=True)
    weights = np.where(visible, np.exp(scores - np.where(np.isinf(largest), 0, largest)), 0)
    total = weights.sum(-1, keepdims=True)
    weights = weights / np.where(total == 0, 1, total)
    # The value of a hidden key counts nothing, whatever it holds: 0 * NaN would be NaN.
    terms = np.where(visible[..., None], weights[..., None] * value_[:, :, None], 0)
    output = terms.sum(-2)
    return output.astype(np.asarray(query).dtype)


def bfloat16_bits(array):
    """float32 numbers rounded to bfloat16 (half to even), as uint16."""
    bits = np.asarray(array, np.float32).view(np.uint32)
    return ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)


def from_bfloat16(bits):
    return (bits.astype(np.uint32) << 16).view(np.float32)


def e5m2_bits(array):
    """Finite numbers rounded to float8 e5m2 by way of binary16 (half to even twice), as uint8."""
    bits = np.asarray(array, np.float16).view(np.uint16).astype(np.uint32)
    return ((bits + 0x7F + ((bits >> 8) & 1)) >> 8).astype(np.uint8)


def from_e5m2(bits):
    """e5m2 is the upper half of binary16."""
    return (bits.astype(np.uint16) << 8).view(np.float16).astype(np.float32)
