"""Healthy attention kernels of every precision preset, emulated with NumPy.

Each takes query [H, T, d], key and value [H, S, d] in binary32 (numbers of the storage format), the
scale, and a random generator, and returns the output [H, T, d] as its kernel would store it. They sum
in the ways in which kernels do: tile by tile with a running maximum, two passes, strictly one after
the other, pairwise, on tensor cores that round toward zero every so many products.
"""

import math

import numpy as np

F32 = np.float32
LOG2_E = F32(1.4426950408889634)


def drop_bits(x, bits):
    """Rounds binary32 to nearest even without its last `bits` bits."""
    b = np.ascontiguousarray(x, F32).view(np.uint32)
    b = b + np.uint32((1 << (bits - 1)) - 1) + ((b >> np.uint32(bits)) & np.uint32(1))
    return (b & np.uint32((0xFFFFFFFF << bits) & 0xFFFFFFFF)).view(F32)


def bf16(x):
    return drop_bits(x, 16)


def tf32(x):
    return drop_bits(x, 13)


def f16(x):
    return np.asarray(x, F32).astype(np.float16).astype(F32)


def f32(x):
    return np.asarray(x, F32)


def e4m3(x):
    x = np.asarray(x, F32)
    _, exponent = np.frexp(np.abs(x))
    least = np.maximum(exponent - 1, -6)
    return np.clip(np.ldexp(np.rint(np.ldexp(x, 3 - least)), least - 3), -448, 448).astype(F32)


def toward_zero(x):
    y = x.astype(F32)
    return np.where(np.abs(y.astype(np.float64)) > np.abs(x), np.nextafter(y, F32(0)), y)


def product(a, b, start=None):
    """The BLAS's order."""
    result = np.matmul(a, b)
    return result if start is None else start + result


def sequential(a, b, start=None):
    shape = a.shape[:-1] + (b.shape[-1],)
    total = np.zeros(shape, F32) if start is None else start
    for t in range(a.shape[-1]):
        total = total + a[..., :, t, None] * b[..., t, None, :]
    return total


def tensor_core(at_once):
    def multiply(a, b, start=None):
        shape = a.shape[:-1] + (b.shape[-1],)
        total = np.zeros(shape, F32) if start is None else start
        wide_a, wide_b = a.astype(np.float64), b.astype(np.float64)
        for k in range(0, a.shape[-1], at_once):
            part = np.matmul(wide_a[..., k : k + at_once], wide_b[..., k : k + at_once, :])
            total = toward_zero(total.astype(np.float64) + part)
        return total

    return multiply


def pairwise(a, b, start=None):
    parts = [
        sequential(a[..., j : j + 4], b[..., j : j + 4, :]) for j in range(0, a.shape[-1], 4)
    ]
    while len(parts) > 1:
        parts = [
            parts[i] + parts[i + 1] if i + 1 < len(parts) else parts[i]
            for i in range(0, len(parts), 2)
        ]
    return parts[0] if start is None else start + parts[0]


def of_rounded(rounding, multiply=product):
    return lambda a, b, start=None: multiply(rounding(a), rounding(b), start)


def of_three_parts(multiply=product):
    def three(a, b, start=None):
        high_a, high_b = bf16(a), bf16(b)
        low_a, low_b = bf16(a - high_a), bf16(b - high_b)
        total = multiply(low_a, high_b, start)
        total = multiply(high_a, low_b, total)
        return multiply(high_a, high_b, total)

    return three


def transposed(k):
    return np.swapaxes(k, -1, -2)


def tiled(q, k, v, scale, rng, store, tile=64, weights=f32, sum_rounded=False, qk=product,
          pv=product):
    """Online softmax over tiles of keys in base 2, the exponential within 2 ulp."""
    heads, rows, _ = q.shape
    largest = np.full((heads, rows, 1), -np.inf, F32)
    total = np.zeros((heads, rows, 1), F32)
    output = np.zeros((heads, rows, v.shape[-1]), F32)
    factor = F32(scale) * LOG2_E
    for j in range(0, k.shape[1], tile):
        s = qk(q, transposed(k[:, j : j + tile]))
        new = np.maximum(largest, s.max(-1, keepdims=True))
        x = (s.astype(np.float64) * factor - (new * factor).astype(np.float64)).astype(F32)
        exact = np.exp2(x.astype(np.float64))
        p = (exact * (1 + rng.uniform(-2, 2, exact.shape) * 2.0**-23)).astype(F32)
        with np.errstate(invalid="ignore"):
            rescale = np.where(
                np.isneginf(largest), F32(0), np.exp2((largest - new) * factor)
            ).astype(F32)
        rounded = weights(p)
        summed = (rounded if sum_rounded else p).sum(-1, keepdims=True, dtype=F32)
        total = total * rescale + summed
        output = pv(rounded, v[:, j : j + tile], (output * rescale).astype(F32))
        largest = new
    return store(output / total)


def two_pass(q, k, v, scale, store, scores=f32, scaled=f32, weights=f32, normalised=None,
             qk=product, pv=product, sequential_sum=False):
    s = scaled(scores(qk(q, transposed(k))) * F32(scale))
    p = np.exp(s - s.max(-1, keepdims=True)).astype(F32)
    if sequential_sum:
        total = np.zeros(s.shape[:-1] + (1,), F32)
        for j in range(k.shape[1]):
            total = total + p[..., j : j + 1]
    else:
        total = p.sum(-1, keepdims=True, dtype=F32)
    if normalised is not None:
        return store(pv(normalised(p / total), v))
    return store(pv(weights(p), v) / total)


def key_by_key(q, k, v, scale, store, weights=f32):
    """A plain loop over the keys with a running maximum."""
    heads, rows, _ = q.shape
    s = (sequential(q, transposed(k)) * F32(scale)).astype(F32)
    largest = np.full((heads, rows, 1), -np.inf, F32)
    total = np.zeros((heads, rows, 1), F32)
    output = np.zeros((heads, rows, v.shape[-1]), F32)
    for j in range(k.shape[1]):
        new = np.maximum(largest, s[..., j : j + 1])
        p = np.exp(s[..., j : j + 1] - new)
        rescale = np.exp(largest - new)
        total = total * rescale + p
        output = output * rescale + weights(p) * v[:, j : j + 1]
        largest = new
    return store(output / total)


def eight_bits(kind):
    if kind != "tile":
        return lambda p: (e4m3(p * F32(kind)) / F32(kind)).astype(F32)

    def per_tile(p):
        scale = F32(448) / np.maximum(p.max(-1, keepdims=True), F32(1e-30))
        return (e4m3(p * scale) / scale).astype(F32)

    return per_tile


def scaled_operands(q, k, v, scale, store, half):
    root = F32(math.sqrt(scale))
    return two_pass(half(q * root), half(k * root), v, 1.0, store, scores=half, normalised=half)


def kernels():
    """{preset: {kernel: function of q, k, v, scale, rng}}."""
    table = {}

    def add(preset, name, run):
        table.setdefault(preset, {})[name] = run

    for tile in (64, 128):
        add("f32", f"tiles of {tile}",
            lambda q, k, v, c, r, t=tile: tiled(q, k, v, c, r, f32, t))
    add("f32", "sequential", lambda q, k, v, c, r: two_pass(
        q, k, v, c, f32, qk=sequential, pv=sequential, sequential_sum=True))
    add("f32", "pairwise", lambda q, k, v, c, r: two_pass(
        q, k, v, c, f32, qk=sequential, pv=pairwise))
    add("f32", "normalised", lambda q, k, v, c, r: two_pass(q, k, v, c, f32, normalised=f32))
    add("f32", "key by key", lambda q, k, v, c, r: key_by_key(q, k, v, c, f32))
    for name, half in (("f16", f16), ("bf16", bf16)):
        fused = name + "-f32"
        for tile in (64, 128):
            add(fused, f"tiles of {tile}", lambda q, k, v, c, r, h=half, t=tile: tiled(
                q, k, v, c, r, h, t, h))
        add(fused, "rounded weights summed", lambda q, k, v, c, r, h=half: tiled(
            q, k, v, c, r, h, 128, h, True))
        add(fused, "tensor cores", lambda q, k, v, c, r, h=half: tiled(
            q, k, v, c, r, h, 128, h, qk=tensor_core(16), pv=tensor_core(16)))
        add(fused, "sequential", lambda q, k, v, c, r, h=half: two_pass(
            q, k, v, c, h, weights=h, qk=sequential, pv=sequential, sequential_sum=True))
        add(fused, "key by key", lambda q, k, v, c, r, h=half: key_by_key(q, k, v, c, h))
        add(fused, "key by key, 16-bit weights",
            lambda q, k, v, c, r, h=half: key_by_key(q, k, v, c, h, h))
        add(fused, "normalised", lambda q, k, v, c, r, h=half: two_pass(
            q, k, v, c, h, normalised=h))
        eager = name + "-stored"
        add(eager, "eager", lambda q, k, v, c, r, h=half: two_pass(
            q, k, v, c, h, h, h, normalised=h))
        add(eager, "eager, sequential", lambda q, k, v, c, r, h=half: two_pass(
            q, k, v, c, h, h, h, normalised=h, pv=sequential, sequential_sum=True))
        add(eager, "eager, tensor cores", lambda q, k, v, c, r, h=half: two_pass(
            q, k, v, c, h, h, h, normalised=h, qk=tensor_core(16), pv=tensor_core(16)))
        add(eager, "16-bit scores, fused weights", lambda q, k, v, c, r, h=half: two_pass(
            q, k, v, c, h, scaled=h, weights=h))
        add(eager, "scaled operands",
            lambda q, k, v, c, r, h=half: scaled_operands(q, k, v, c, h, h))
    for kind in ("tile", 448, 256):
        add("fp8-weights", f"weights times {kind}", lambda q, k, v, c, r, n=kind: tiled(
            q, k, v, c, r, bf16, 128, eight_bits(n)))
    add("fp8-weights", "rounded weights summed", lambda q, k, v, c, r: tiled(
        q, k, v, c, r, bf16, 64, eight_bits(448), True))
    add("fp8-weights", "tensor cores", lambda q, k, v, c, r: tiled(
        q, k, v, c, r, bf16, 128, eight_bits("tile"), qk=tensor_core(32), pv=tensor_core(32)))
    for preset, rounding, at_once in (
        ("tf32", tf32, 8), ("bf16-products", bf16, 16), ("f16-products", f16, 16)):
        add(preset, "tiles of 64", lambda q, k, v, c, r, R=rounding: tiled(
            q, k, v, c, r, f32, 64, qk=of_rounded(R), pv=of_rounded(R)))
        add(preset, "normalised", lambda q, k, v, c, r, R=rounding: two_pass(
            q, k, v, c, f32, normalised=f32, qk=of_rounded(R), pv=of_rounded(R)))
        add(preset, "sequential", lambda q, k, v, c, r, R=rounding: two_pass(
            q, k, v, c, f32, qk=of_rounded(R, sequential), pv=of_rounded(R, sequential),
            sequential_sum=True))
        add(preset, "tensor cores", lambda q, k, v, c, r, R=rounding, n=at_once: tiled(
            q, k, v, c, r, f32, 128, qk=of_rounded(R, tensor_core(n)),
            pv=of_rounded(R, tensor_core(n))))
    add("bf16x3", "tiles of 64", lambda q, k, v, c, r: tiled(
        q, k, v, c, r, f32, 64, qk=of_three_parts(), pv=of_three_parts()))
    add("bf16x3", "sequential", lambda q, k, v, c, r: two_pass(
        q, k, v, c, f32, qk=of_three_parts(sequential), pv=of_three_parts(sequential),
        sequential_sum=True))
    add("bf16x3", "tensor cores", lambda q, k, v, c, r: tiled(
        q, k, v, c, r, f32, 128, qk=of_three_parts(tensor_core(16)),
        pv=of_three_parts(tensor_core(16))))
    return table


# How a preset's tensors are stored: a rounding, the safetensors type.
STORAGE = {
    "f32": (f32, "F32"), "tf32": (f32, "F32"), "bf16x3": (f32, "F32"),
    "f16-products": (f32, "F32"), "bf16-products": (f32, "F32"),
    "f16-f32": (f16, "F16"), "f16-stored": (f16, "F16"),
    "bf16-f32": (bf16, "BF16"), "bf16-stored": (bf16, "BF16"),
    "fp8-weights": (e4m3, "BF16"),
}

SETTINGS = [
    "normal", "uniform", "queries x 2", "queries x 4", "values + 1", "equal scores", "sink 8",
    "sink 12", "sink 17", "sink 25", "sink 17, its value small", "sink 12, its value large",
    "sink 17, values near 1", "sink 25, its value 0", "values are keys", "large equal scores",
    "3 kinds of keys", "10 kinds of keys", "3 kinds of keys and values",
    "10 kinds of keys and values", "3 kinds of values", "3 kinds of keys where the query sees",
    "integers to 1", "integers to 3",
]


def operands(rng, setting, heads, rows, keys, size):
    """Inputs [H, T, d], [H, S, d], [H, S, d] in binary64."""
    normal = rng.standard_normal
    q, k, v = normal((heads, rows, size)), normal((heads, keys, size)), normal((heads, keys, size))
    if setting == "uniform":
        q, k, v = [rng.random(x.shape) for x in (q, k, v)]
    if setting.startswith("queries x"):
        q = q * float(setting.split()[-1])
    if setting == "values + 1":
        v = v + 1
    if setting == "equal scores":
        q = q * 0
        v = 1.3 + 0.02 * v
    if setting.startswith("sink"):
        gap = float(setting.split()[1].rstrip(","))
        q[..., 0] = 4
        k[..., 0] = 0
        k[:, 0] = 0
        k[:, 0, 0] = gap * math.sqrt(size) / 4
        if "small" in setting:
            v[:, 0] /= 50
        if "large" in setting:
            v[:, 0] *= 50
        if "near 1" in setting:
            v = 1.3 + 0.02 * v
        if "value 0" in setting:
            v[:, 0] = 0
    if setting == "values are keys":
        v = k + 0.0
    if setting == "large equal scores":
        common = rng.choice([-1.0, 1.0], (heads, 1, size))
        q = q + 2 * common
        k = k * 0.5 + 2 * common
        v = k + 0.0
    if setting.startswith("integers"):
        most = int(setting.split()[-1])
        q, k = [rng.integers(-most, most + 1, x.shape).astype(float) for x in (q, k)]
    if "kinds of" in setting:
        kinds = min(int(setting.split()[0]), keys)
        pick = rng.integers(0, kinds, keys)
        if "values" in setting:
            v = 1 + v[:, pick]
        if "sees" in setting:
            half = size // 2
            q[..., half:] = 0
            k[..., :half] = k[:, pick][..., :half]
        elif "keys" in setting:
            k = k[:, pick]
    return q, k, v
