#!/usr/bin/env python3
"""Checks the witnesses of `gqaverify audit --witness FILE` on integers and fractions alone: recheck.py WITNESS...

Every element is decided again from its operand bits and the declared contract, by the formulas of docs/tolerance.md, and
what the witness says of it must agree (docs/witness.md). That shows what these operands give. Whether they are those of
a recording is asked by gqaverify-recheck --recording, which checks the same in C++.
Exit status: 0 there are witnesses and all are confirmed, 1 not, 3 unreadable, 64 wrong usage."""
import json
import math
import sys
from fractions import Fraction as Q
from types import SimpleNamespace as Facts

# Bits in all, of the exponent, of the significand; least and largest exponent; is there an infinity?
FORMATS = {"binary64": (64, 11, 53, -1022, 1023, True), "binary32": (32, 8, 24, -126, 127, True),
           "binary16": (16, 5, 11, -14, 15, True), "bfloat16": (16, 8, 8, -126, 127, True),
           "float8_e4m3fn": (8, 4, 4, -6, 8, False), "float8_e5m2": (8, 5, 3, -14, 15, True)}
# Logarithms of u, u_p, u_o, u_q, u_x, u_v (0: no rounding), K, those of t_p, t_o, t_i; are weights scaled?
MODELS = {line.split()[0]: line.split()[1:] for line in """f64 -53 -53 -53 0 0 0 0 -1022 -1022 -1022 0
f32 -24 -24 -24 0 0 0 0 -126 -126 -126 0\nbf16x3 -24 -16 -24 0 -16 -16 5.333333333333333 -126 -126 -126 0
tf32 -24 -11 -24 0 -11 -11 8 -126 -126 -126 0\nf16-products -24 -11 -24 0 -11 -11 16 -25 -126 -126 0
bf16-products -24 -8 -24 0 -8 -8 16 -126 -126 -126 0\nf16-f32 -24 -11 -11 0 0 0 16 -25 -25 -126 0
bf16-f32 -24 -8 -8 0 0 0 16 -126 -126 -126 0\nf16-stored -24 -11 -11 -11 -11 0 16 -25 -25 -126 0
bf16-stored -24 -8 -8 -8 -8 0 16 -126 -126 -126 0\nfp8-weights -24 -4 -8 0 0 0 32 -18 -126 -126 1
f16 -11 -11 -11 -11 0 0 0 -25 -25 -25 0\nbf16 -8 -8 -8 -8 0 0 0 -126 -126 -126 0""".split("\n")}

class Rejected(Exception): """The witness says what is not so."""
class Open(Exception): """More bits are needed."""

class I:
    """A real number between lo / 2^P and hi / 2^P. Every operation encloses."""
    P = 256
    def __init__(self, lo, hi): self.lo, self.hi = lo, hi
    def __add__(self, other): return I(self.lo + num(other).lo, self.hi + num(other).hi)
    def __neg__(self): return I(-self.hi, -self.lo)
    def __sub__(self, other): return self + -num(other)
    def __rsub__(self, other): return num(other) + -self
    def __mul__(self, other):
        ends = [x * y for x in (self.lo, self.hi) for y in (num(other).lo, num(other).hi)]
        return I(min(ends) >> I.P, -(-max(ends) >> I.P))
    def __truediv__(self, other):
        if num(other).lo <= 0: raise Open
        ends = [(x << I.P, y) for x in (self.lo, self.hi) for y in (num(other).lo, num(other).hi)]
        return I(min(x // y for x, y in ends), max(-(-x // y) for x, y in ends))
    def __rtruediv__(self, other): return num(other) / self
    def __abs__(self): return I(max(self.lo, -self.hi, 0), max(-self.lo, self.hi))
    __radd__, __rmul__ = __add__, __mul__

def num(x):
    return x if isinstance(x, I) else I((x.numerator << I.P) // x.denominator, -((-x.numerator << I.P) // x.denominator))
def two(exponent): return Q(2) ** exponent
def most(*xs): return I(max(num(x).lo for x in xs), max(num(x).hi for x in xs))
def least(*xs): return I(min(num(x).lo for x in xs), min(num(x).hi for x in xs))
def square(x): return abs(x) * abs(x)
def total(xs, start=0): return sum(xs, num(start))
def demand(holds, reason):
    if not holds: raise Rejected(reason)

def sqrt(x):  # of what is not negative, though its enclosure may reach below zero
    low, high = (math.isqrt(max(n, 0) << I.P) for n in (num(x).lo, num(x).hi))
    return I(low, high + (high * high != max(num(x).hi, 0) << I.P))

def exp_at(n):
    """Of n / 2^P: exp(a) = exp(a / 2^h)^(2^h) with a / 2^h < 2^-7, by Taylor, a = |n / 2^P|; what follows a term of at
    most one unit is less than that term. exp(-a) = 1 / exp(a)."""
    if n < -(I.P + 2) << I.P: return I(0, 1)
    if n > 1 << I.P + 16: raise Open
    h = max(0, abs(n).bit_length() - I.P) + 7
    g = I.P + 2 * h + 16
    r, low, high = (abs(n) << g - I.P) >> h, [1 << g], [1 << g]
    while high[-1] > 1:
        low.append((low[-1] * r >> g) // len(low))
        high.append(-(-high[-1] * (r + 1) // (len(high) << g)))
    low, high = sum(low), sum(high) + 1
    for _ in range(h): low, high = low * low >> g, -(-high * high >> g)
    if n < 0: low, high = (1 << 2 * g) // high, -(-(1 << 2 * g) // low)
    return I(low >> g - I.P, -(-high >> g - I.P))

def exp(x): return I(exp_at(x.lo).lo, exp_at(x.hi).hi)

def log(x):
    """ln x = y + ln(1 + z), z = x exp(-y) - 1, |z| < 2^-32: z - z^2/2 + ..., until the rest is below one unit."""
    if x.lo <= 0: raise Open
    y = num(Q(math.log(x.hi) - I.P * math.log(2)))
    z = x * exp(-y) - 1
    if abs(z).hi >> I.P - 32: raise Open
    return total((power(z, k) / k * (-1) ** (k + 1) for k in range(1, I.P // 32 + 2)), y) + I(-1, 1)

def tanh(x):
    if x.lo < 0 < x.hi: raise Open
    t = exp(abs(x) * -2)
    return (1 - t) / (1 + t) if x.lo >= 0 else (t - 1) / (1 + t)

def power(x, n):
    result = num(1)
    while n: result, x, n = (result * x if n & 1 else result), num(x) * x, n >> 1
    return result

def at_most(x, y):
    """x <= y, if it is certain either way."""
    if not isinstance(x, I) and not isinstance(y, I): return x <= y
    if num(x).hi > num(y).lo and num(x).lo <= num(y).hi: raise Open
    return num(x).hi <= num(y).lo

def value(form, text):
    """The exact value of a float's bits; a Python float only where it is not finite."""
    bits, exponent_bits, p, smallest, _, infinite = FORMATS[form]
    n = int(text, 16)
    demand(n >> bits == 0, f"{text} has more bits than {form}")
    fraction, e = n & (1 << p - 1) - 1, n >> p - 1 & (1 << exponent_bits) - 1
    sign = -1 if n >> bits - 1 else 1
    if e == (1 << exponent_bits) - 1 and (infinite or fraction == (1 << p - 1) - 1):
        return math.nan if fraction else sign * math.inf
    return sign * Q(fraction + (min(e, 1) << p - 1)) * two(smallest - p + max(e, 1))

def vector(form, text): return [value(form, bits) for bits in text.split()]
def finite(*xs): return not any(isinstance(x, float) for x in xs)
def dot(xs, ys): return sum((x * y for x, y in zip(xs, ys)), Q(0))
def dyadic(text): return int(text.split("p")[0], 16) * two(int(text.split("p")[1]))

def model_of(tolerance, form):
    """The named model's units, which the witness must state alike, and how the output was rounded at last."""
    row = MODELS[tolerance["model"]]
    u, p, o, q, x, v, tp, to, ti = (two(int(e)) if e != "0" else Q(0) for e in row[:6] + row[7:10])
    own = [u, q, u, u, p, u, o, x, v, Q(float(row[6])), tp, to, ti, row[10] == "1", Q(6)]
    said = [s if isinstance(s, bool) else dyadic(s) for s in tolerance["units"].values()]
    demand(own == said, f"{tolerance['model']} has other units")
    _, _, digits, smallest, _, _ = FORMATS[form]
    wide, tiny = two(-digits) < o and not tolerance["narrow"], two(smallest if smallest <= -126 else smallest - digits)
    return Facts(u=u, p=p, q=q, x=x, v=v, K=own[9], tp=tp, ti=ti, scaled=own[13], twice=2 * u if own[9] else u,
                 ro=two(-digits) if wide else max(o, two(-digits)), to=tiny if wide else max(to, tiny))

def stored(m, x): return most(m.ro * x, m.to)
def lost(term, unit, gone): return most(0, least(term, unit, gone * unit - term))
def common(spacing, deviation):
    larger = most(spacing, deviation)
    return spacing / larger if larger.lo > 0 else I(0, 1 << I.P)

def score_variance(m, r, k):
    return (m.u ** 2 * ((Q(r.dk, 6) + Q(2, 3)) * r.products[k] + Q(r.dk, 9) * square(r.raw[k])) +
            Q(2, 3) * (m.x ** 2 * r.products[k] + m.q ** 2 * square(r.raw[k])) + (0 if r.plain else
            m.u ** 2 / 3 * (4 * square(r.s[k]) + square(r.raw[k]) + 2 * square(r.both[k]))))
def later(m): return power(1 + m.u, 6) * power(1 + m.q, 2)
def score_underflow(m, r, k):
    tiny = m.ti * most(1, r.scale) * (sqrt(r.dk) * (sqrt(r.dk) + r.q2 + r.k2[k]) + 2)
    return tiny if r.plain else later(m) * tiny + 6 * m.ti * most(1, r.stage_cap)
def score_error(m, r, k):
    grown = power(1 + m.twice, r.dk + 6) * power(1 + m.q, 2) * power(1 + m.x, 2)
    error = (grown - 1) * r.scale * r.q2 * r.k2[k] + grown * score_underflow(m, r, k)
    return error if r.plain else later(m) * error + (later(m) - 1) * (abs(r.s[k]) + abs(r.raw[k]) + r.both[k])
def score_bounds(m, r, k):
    raw, s, moved = abs(r.raw[k]), abs(r.s[k]), score_error(m, r, k)
    chop = m.u * r.dk / m.K * (raw + sqrt(r.products[k])) if m.K else 0
    likely = 6 * sqrt(score_variance(m, r, k)) + 2 * m.u * raw + chop + score_underflow(m, r, k) + stored(m, s)
    return likely, moved + stored(m, s + moved)
def deviation(weights, xs):
    whole = total(weights)
    mean = total(w * x for w, x in zip(weights, xs)) / whole
    return sqrt(total(w * square(x - mean) for w, x in zip(weights, xs)) / whole), mean
def weigh(r):
    """Softmax. A sink is one more score, last."""
    r.all, r.n = r.s + [r.sink] * (r.sink is not None), len(r.s)
    r.top, peak = most(*r.all), max(num(s).hi for s in r.all)
    strengths = [exp(s - I(peak, peak)) for s in r.all]
    r.total = total(strengths)
    r.w, r.lse = [e / r.total for e in strengths], I(peak, peak) + log(r.total)
def same(labels):
    """The places of equal labels, where they are two or more."""
    places = {}
    for k, label in enumerate(labels): places.setdefault(label, []).append(k)
    return [x for x in places.values() if len(x) > 1]
def together(m, r, x):
    """The variance of errors that keys have in common, where each moves the result by x_k of its own."""
    return total(most(*(r.v[k] for k in c)) * square(total(x[k] for k in c)) for c in r.alike + r.copies)
def derive(m, r):
    """What both bounds need of a row."""
    r.alike = same([exact_score(r, j) for j in r.visible] or [0] * r.n)
    r.copies = [c for c in same([tuple(r.vectors[j]) for j in r.visible]) if c not in r.alike]
    r.more_w = sum(len(c) ** 2 for c in r.alike)
    n, w = r.n, r.w[:r.n]
    r.v = v = [score_variance(m, r, k) + m.u ** 2 / 3 * (square(r.raw[k]) + square(r.s[k] - r.top) + 4) for k in range(n)]
    r.wv, r.sd = [square(a) * b for a, b in zip(w, v)], deviation(r.w, r.all)[0]
    r.sink_v = total(square(r.w[n]) * m.u ** 2 / 3 * (square(num(s)) + square(s - r.top) + 4) for s in r.all[n:])
    share = [most(0, least(1, 2 - a * Q(n, 8))) for a in w]
    r.weak = [a * b for a, b in zip(share, w)]
    weak_sd, r.weak_mean = deviation(r.weak, r.s)
    r.equal, r.weak_equal = common(m.p, deviation(w, r.s)[0]), common(m.p, weak_sd)
    r.stalled = common(2 * m.u, sqrt(total(square(a) for a in w) / n - square(total(w) / n)))
    r.stored_equal = common(2 * m.q * most(*(a * abs(s) for a, s in zip(share, r.s))), weak_sd) if m.q else 0
    r.lost_w, r.tp = total(lost(a, m.u, 5) for a in w), m.tp / r.total if m.scaled else m.tp
    D, far, high = (most(0, *x) for x in ((score_error(m, r, k) for k in range(n)), (abs(s - r.top) for s in r.all),
                                          (abs(num(s)) for s in r.all)))
    r.E, N = D + 4 * m.u * (far + 3 * D + high + log(num(n + 1)) + 1), len(r.all)
    r.bounded = r.E.lo < 3000 << I.P
    if not r.bounded: return
    above = exp(r.E) * power(1 + 4 * m.u, N + 2) * (1 + m.p)
    r.alpha = above * power(1 + m.twice, 2 * N + 4) * (1 + m.v) - 1
    r.beta = above * power(1 + m.u, 2 * N + 4) - 1
    r.tiny = N * above * (1 + most(r.alpha, r.beta))
    r.least = exp(-r.E) * power(1 - 4 * m.u, N + 2) * (1 - m.p) * power(1 - m.u, 2 * N + 4) - r.tiny * (4 * m.ti + m.tp)
    r.bounded = not at_most(r.least, 0)
def column_bounds(m, r, v, o):
    """likely and worst of docs/tolerance.md; `v`: values of the visible keys, `o`: the exact output."""
    n, a, w, wv = r.n, abs(o), r.w[:r.n], [x * y for x, y in zip(r.w, v)]
    squares = total(square(x) for x in wv)
    sd_v, A, sums = deviation(r.w, v + [Q(0)] * (len(r.all) - n))[0], a + sqrt(squares), abs(sum(v, Q(0)))
    weak = abs(total(x * y for x, y in zip(r.weak, v)))
    scored = abs(total(x * y * (s - r.weak_mean) for x, y, s in zip(r.weak, v, r.s))) if m.q else 0
    centre = [total(x * k[t] for x, k in zip(w, r.keys)) for t in range(len(r.query) if m.x else 0)]
    q_cov = square(r.scale) * total(square(q * total(x * (k[t] - c) for x, k in zip(wv, r.keys)))
                                    for t, (q, c) in enumerate(zip(r.query, centre)))
    common_p = m.p ** 2 / 3 * total(square(total(wv[k] for k in c)) for c in r.alike)
    common_v = m.v ** 2 / 3 * total(square(total(wv[k] for k in c)) for c in same(v))
    var = (total(x * square(y - o) for x, y in zip(r.wv, v)) + r.sink_v * square(o) + ((m.p ** 2 + m.v ** 2) / 3 +
           m.u ** 2 * (Q(n, 6) + Q(r.more_w, 24))) * squares + m.u ** 2 * (Q(2 * n, 9) + Q(2 * r.more_w, 45)) * square(o) +
           together(m, r, [x * (y - o) for x, y in zip(w, v)]) + common_p + common_v + m.x ** 2 / 3 * q_cov + (square(num(r.tp)) +
           m.ti ** 2) / 3 * sum((y * y for y in v), Q(0)) + m.ti ** 2 * Q(2 * n, 3) * (1 + square(o)))
    drift = common(2 * m.u * a, sqrt(squares / n - square(total(wv) / n)))
    likely = (6 * sqrt(var) + stored(m, a) + 2 * m.u * r.sd * sd_v + most(r.equal * (m.p * a + r.tp * sums),
              r.weak_equal * m.p * weak) + m.v * a * common(2 * m.v * a, sd_v) + r.stored_equal * scored +
              Q(n, 2) * a * m.u * (r.stalled + drift) + total(lost(abs(x), m.u * A, 5) for x in wv) + a * r.lost_w)
    if m.tp >= two(-100): likely += total(lost(x, r.tp, 9) * abs(y) for x, y in zip(w, v))
    if m.K: likely += m.u * n / m.K * A + m.u * r.dk / m.K * r.sd * sd_v
    if not r.bounded: return likely, None
    gone = r.tiny * ((2 * m.ti + m.tp) * max(map(abs, v)) + 2 * m.ti + (4 * m.ti + m.tp) * a)
    moved = (r.alpha * total(abs(x) for x in wv) + r.beta * a + gone) / r.least
    return likely, moved + stored(m, a + moved)
def weight_bounds(m, r, k, o, of_lse):
    """Bounds of a weight, or of lse: the errors of all numerators meet in the denominator."""
    n1, N, log_total = r.n + 1, len(r.all), log(r.total)
    mean = total(w * s for w, s in zip(r.w, r.all))
    var = (total(r.wv) + r.sink_v + together(m, r, r.w) + m.x ** 2 / 3 * total(w * x for w, x in zip(r.w, r.products)) +
           m.u ** 2 * (Q(n1, 9) + Q(r.more_w, 45)))
    shared = Q(r.n, 2) * m.u * r.stalled + r.lost_w + 2 * m.q * r.stored_equal * abs(mean)
    exponent = r.E + m.u * (abs(r.top) + 2 * log_total)
    above = exp(exponent) * power(1 + m.u, 4 + 4 * N)
    below = exp(-exponent) * power(1 - m.u, 4 + 4 * N) * power(1 - m.u, 2 * N + 2)
    if of_lse:
        rounding, gone = m.u * (2 * abs(r.top) + 6 * abs(log_total) + abs(o)), (n1 + 1) * m.ti
        moved = abs(log(below)) + rounding
        likely = 6 * sqrt(var) + 3 * m.u * abs(mean) + shared + rounding + stored(m, abs(o)) + gone
        return likely, moved + stored(m, abs(o) + moved) + gone
    w, gone = r.w[k], 2 * (m.tp + m.ti)
    var = square(1 - w) * r.v[k] + var + (m.p ** 2 + m.u ** 2) / 3
    relative = above * (1 + m.p) * power(1 + m.u, 2) / below - 1
    likely = w * (6 * sqrt(var) + 3 * m.u * abs(r.s[k] - mean) + shared) + stored(m, w) + gone
    return likely, w * relative + stored(m, w * (1 + relative)) + gone

def look(case, row):
    """The exact operands of a row, and which keys it sees by the declared rules."""
    c, d, types, r = case["contract"], case["sizes"], case["types"], Facts(**row)
    group, rule = d["q_heads"] // d["kv_heads"], c["head_map"]
    kv = rule[r.head] if isinstance(rule, list) else {"contiguous": r.head // group, "interleaved": r.head % d["kv_heads"]}[rule]
    demand(kv == r.kv_head, f"query head {r.head} reads KV head {kv} by the declared map, not {r.kv_head}")
    length = row.get("length", d["keys"])
    demand(("length" in row) == ("nonpad_kv_seqlen" in types) and 0 <= length <= d["keys"] and 0 <= r.row < d["queries"]
           and 0 <= r.batch < d["batch"] and 0 <= r.head < d["q_heads"], "the row is not one of the declared sizes")
    short, (left, right), form = length - d["queries"], c["window"], types.get("attn_mask", "none")
    offsets = {"top_left": 0, "bottom_right": short, "onnx": d["past"] or ("length" in row and short)}
    p = r.row + offsets[c["causal_alignment"]]
    begin, end = max(0, p - left if left >= 0 else 0), min([length] + [p + 1] * c["causal"] + [p + right + 1] * (right >= 0))
    entries = row.get("mask", "").split() if form != "none" else ["1"] * (end - begin)
    demand(len(entries) == max(0, end - begin), "the mask has not one entry for each key that the other rules allow")
    bias = lambda e: (value(form, e) if form in FORMATS else 0 if int(e, 16) else -math.inf) if e != "-" else -math.inf
    r.added = {j: x for j, x in zip(range(begin, end), map(bias, entries)) if x != -math.inf}
    demand(list(r.added) == r.visible, "these keys are not those that causal, window, lengths and mask leave visible")
    slope = value(types["alibi_slopes"], row["slope"]) if "alibi_slopes" in types else 0
    sink = value(types["sink"], row["sink"]) if "sink" in types else -math.inf
    r.away = {j: slope * abs(p - j) for j in r.added}
    r.sink, r.dk, r.query = None if sink == -math.inf else sink, d["key_size"], vector(types["query"], r.query)
    form_of = lambda j: types["past_key" if j < d["past"] else "key"]
    r.vectors = {int(j): vector(form_of(int(j)), text) for j, text in r.keys.items()}
    demand(all(len(x) == r.dk for x in [r.query, *r.vectors.values()]), "a vector has not dk elements")
    r.dots = {j: dot(r.query, k) for j, k in r.vectors.items() if finite(*r.query, *k)}
    r.exact_scale = Q(c["scale"]) if c["scale"] != "default" else Q(1, math.isqrt(r.dk)) if math.isqrt(r.dk) ** 2 == r.dk else None
    r.biased, r.cap = "alibi_slopes" in types or form in FORMATS, Q(c["softcap"])
    r.twofold = "alibi_slopes" in types and form in FORMATS
    return r

def enclose(r, keys, stage):
    """Scores of these keys after a stage: 0 scaled, 1 softcapped, 2 biased; and what bounds of them need."""
    capped, biased = stage > 0 and r.cap, stage > 1 and r.biased
    r.scale = 1 / sqrt(r.dk) if r.exact_scale is None else num(r.exact_scale)
    r.raw = [num(r.dots[j] * r.exact_scale) if r.exact_scale else r.dots[j] * r.scale for j in keys]
    r.s = [r.cap * tanh(x / r.cap) if capped else x for x in r.raw]
    if biased: r.s = [x + (r.added[j] - r.away[j]) for j, x in zip(keys, r.s)]
    r.both = [abs(r.added[j]) + abs(r.away[j]) if biased and r.twofold else Q(0) for j in keys]
    r.stage_cap = r.cap if capped else Q(0)
    r.plain, r.keys = not capped and not biased, [r.vectors[j] for j in keys]

def norms(r):
    fourth = lambda x: sqrt(sum((t ** 4 for t in x), Q(0)))
    r.q2, r.k2 = sqrt(dot(r.query, r.query)), [sqrt(dot(k, k)) for k in r.keys]
    r.products = [square(r.scale) * fourth(r.query) * fourth(k) for k in r.keys]

def exact_score(r, j):
    """Equal for keys with equal scores."""
    a, b = r.dots[j], r.added[j] - r.away[j]
    return (0, a * r.exact_scale + b) if r.exact_scale and not r.cap else (a, b)

def groups_of(r, v):
    """The values of keys whose scores are equal; a sink is one more key, of value 0."""
    groups = {}
    for j, x in zip(r.visible, v): groups.setdefault(exact_score(r, j), []).append(x)
    if r.sink is not None: groups.setdefault((0, r.sink), []).append(Q(0))
    return groups

def rational(r, v):
    """The exact output, if it is seen to be rational: every group of equal scores has the same mean value."""
    means = {sum(g) / len(g) for g in groups_of(r, v).values()}
    return means.pop() if len(means) == 1 else None

def ulp(form, x):
    _, _, p, smallest, _, _ = FORMATS[form]
    def binade(y):
        e = y.numerator.bit_length() - y.denominator.bit_length()
        return smallest if y == 0 else max(smallest, e if y >= two(e) else e - 1)
    low, high = (abs(x), abs(x)) if isinstance(x, Q) else (Q(n, 1 << I.P) for n in (abs(x).lo, abs(x).hi))
    if binade(low) != binade(high): raise Open
    return two(binade(low) - p + 1)

def judge(form, got, o, tolerance, likely, worst):
    """(verdict, strength, allowed) of an output beside its exact value `o`; worst None: nothing bounds it."""
    _, _, p, _, top, infinite = FORMATS[form]
    largest, model = two(top) * (2 - two(1 - p if infinite else 2 - p)), tolerance["kind"] == "model"
    accept = tolerance.get("accept") == "worst-case"
    def reaches(allowed):  # may what was computed have rounded to `got`, beyond the largest number?
        if got == got and at_most(o if got > 0 else -o, 0): return False
        return at_most(largest + two(top - p), abs(o) + allowed)
    def by(test, otherwise):
        possible = test(worst) if worst is not None else otherwise
        if possible is False: return "violation", "proved"
        if accept: return "within" if possible or test(likely) else "undecided", "none"
        return ("within", "none") if test(likely) else ("violation", "statistical")
    if model: allowed = worst if accept else likely if worst is None else least(likely, worst)
    elif tolerance["kind"] == "ulp": allowed = Q(tolerance["max_ulp"]) * ulp(form, o)
    else: allowed = Q(tolerance["atol"]) + Q(tolerance["rtol"]) * abs(o)
    if got != got and infinite: return "violation", "proved", allowed
    if not finite(got) or abs(got) >= largest:
        if model: answer = by(reaches, reaches(likely) if worst is None else None)
        elif not finite(got): answer = ("within", "none") if reaches(Q(0)) else ("violation", "proved")
        if not finite(got) or model and answer[0] == "within": return *answer, allowed
    error = abs(got - o)
    if model: return *by(lambda bound: at_most(error, bound), None), allowed
    return *(("within", "none") if at_most(error, allowed) else ("violation", "proved")), allowed

def agree(what, own, said, width):
    """What the witness says of a number must enclose it as tightly as `width`, of it, tells."""
    if own is None or said == "unbounded" or said[1] == "inf":
        return demand(own is None and (said == "unbounded" or said[1] == "inf"), f"{what}: bounded or not?")
    own, (low, high) = num(own), map(dyadic, said)
    if Q(own.hi - own.lo, 1 << I.P) > width(Q(own.hi, 1 << I.P)): raise Open
    slack = width(Q(own.hi, 1 << I.P))
    demand(0 <= high - low <= slack and low - slack <= Q(own.hi, 1 << I.P) and Q(own.lo, 1 << I.P) <= high + slack,
           f"{what} is {float(Q(own.hi, 1 << I.P)):.6g}, the witness says {float(low):.6g} to {float(high):.6g}")

def score_of(m, r, form, j, stage):
    enclose(r, [j], stage)
    exact = r.plain and r.exact_scale is not None or r.dots[j] == 0 or r.exact_scale is not None and not (stage and r.cap)
    o = r.dots[j] * (r.exact_scale or 0) + (r.added[j] - r.away[j] if stage > 1 and r.biased else 0) if exact else r.s[0]
    size = sum(abs(x * y) for x, y in zip(r.query, r.vectors[j])) + abs(r.added.get(j, 0)) + abs(r.away.get(j, 0)) + 1
    if m: norms(r)
    return o, size, score_bounds(m, r, 0) if m else (None, None)

def values_of(case, r, e):
    keys, past, words = r.visible or range(case["sizes"]["keys"]), case["sizes"]["past"], e.get("values", "").split()
    demand(not words or len(words) == len(keys), "there is not one value for each key")
    return [value(case["types"]["past_value" if j < past else "value"], word) for j, word in zip(keys, words)]

def number_of(case, out, r, m, e):
    """The exact value of an element that is a number, a magnitude of what it is made of, and its two bounds."""
    name, stage, j, d, v = out["name"], out.get("mode"), e["column"], case["sizes"], values_of(case, r, e)
    if stage is not None and stage < 3: return score_of(m, r, out["format"], j, stage)
    if name == "lse" and not r.visible:
        return r.sink, abs(r.sink) + 1, ((3 * m.u + m.ro) * abs(r.sink), 2 * (3 * m.u + m.ro) * abs(r.sink)) if m else (None, None)
    if not r.visible:  # the mean of all values: a softmax of equal scores
        n = d["keys"]
        r.s, r.raw, r.products, r.k2, r.both, r.sink = [num(0)] * n, [num(0)] * n, [num(0)] * n, [num(0)] * n, [Q(0)] * n, None
        r.dk, r.q2, r.scale, r.plain, r.query, r.keys, o = 0, num(0), num(0), True, [], [[]] * n, Q(1, n)
        if name == "output": o = sum(v, Q(0)) / n
    else:
        enclose(r, r.visible, 2)
        if m: norms(r)
    if stage == 3 and r.visible and j not in r.visible: return Q(0), Q(1), (Q(0), Q(0)) if m else (None, None)
    weigh(r)
    if m: derive(m, r)
    k = r.visible.index(j) if j in r.visible else 0
    if name == "output":
        if r.visible: o = rational(r, v)
        if o is None: o = total(x * y for x, y in zip(r.w, v))
        return o, max(map(abs, v)), column_bounds(m, r, v, o) if m else (None, None)
    if r.visible: groups = groups_of(r, [Q(1)] * r.n)
    if name == "lse":
        one = score_of(None, Facts(**vars(r)), None, r.visible[0], 2)[0] if len(r.all) == 1 else None
        o = one if isinstance(one, Q) else r.lse
    elif r.visible: o = Q(1, len(r.all)) if len(groups) == 1 else r.w[k]
    return o, 1 + abs(r.top).hi // (1 << I.P), weight_bounds(m, r, k, o, name == "lse") if m else (None, None)

def check(case, out, row, e):
    """Decides one element and compares; its verdict in words."""
    name, stage, j = out["name"], out.get("mode"), e["column"]
    got, said = value(out["format"], e["output"]), (e["verdict"], e["strength"])
    if name.startswith("present"):
        found = ("within", "none") if e["output"] == e["values"] else ("violation", "proved")
        demand(said == found, f"the verdict is {found[0]}, {found[1]}")
        return e["verdict"]
    r, m = look(case, row), None
    scores = stage is not None and stage < 3
    if out["tolerance"]["kind"] == "model": m = model_of(out["tolerance"], out["format"])
    policy = "zero" if r.sink is not None else case["contract"]["empty_row"]
    must = None  # zero, nan, any, -inf: no number is asked for
    if scores: must = "-inf" if stage == 2 and j not in r.added else None if j in r.dots or j in r.added else "anything"
    elif not r.visible and name == "lse": must = "-inf" if r.sink is None else None if finite(r.sink) else str(r.sink)
    elif not r.visible: must = {"zero": "0", "nan": "nan", "any": "anything", "mean": None}[policy]
    demand(e.get("demanded") == must, f"what must be there is {must}")
    if must is not None:
        right = must == "anything" or (got != got if must == "nan" else got == float(must))
        demand(said == (("within", "none") if right else ("violation", "proved")), f"it must be {must}")
        return e["verdict"]
    keys = [j] if scores else r.visible
    parts = [r.added.get(k, Q(0)) for k in keys] + [r.away.get(k, Q(0)) for k in keys]
    if not scores: parts += [Q(0) if r.sink is None else r.sink, *values_of(case, r, e)]
    if any(k not in r.dots for k in keys) or (not scores or stage == 2) and not finite(*parts):
        demand(said == ("undecided", "none"), "what is read is not finite: nothing can be decided")
        return "undecided: an operand is not finite"
    for I.P in (256, 512, 1024, 2048, 4096, 8192):
        try:
            o, size, (likely, worst) = number_of(case, out, Facts(**vars(r)), m, e)
            *found, allowed = judge(out["format"], got, o, out["tolerance"], likely, worst)
            agree("the exact value", o, e["reference"], lambda _: size * two(-64))
            if finite(got): agree("the error", abs(got - o), e["error"], lambda _: size * two(-64))
            for what, own in {"allowed": allowed, **({"likely": likely, "worst": worst} if m else {})}.items():
                agree(what, own, e[what], lambda x: abs(x) * two(-30))
            demand(said == tuple(found), f"the verdict is {found[0]}, {found[1]}")
            error = float(Q(num(abs(got - o)).hi, 1 << I.P)) if finite(got) else math.inf
            return f"{found[0]} ({found[1]}): off by {error:.6g}, allowed {float(dyadic(e['allowed'][1])):.6g}"
        except Open: pass
    raise Rejected("cannot be decided with 8192 bits")

def main(paths):
    if not paths: sys.exit(print(__doc__, file=sys.stderr) or 64)
    counts = {"confirmed": 0, "REJECTED": 0, "not confirmed": 0}
    def tell(word, place, text):
        counts[word] += 1
        print(f"{word}: {place}: {text}")
    for path in paths:
        try: cases = json.load(open(path, encoding="utf-8"))["cases"]
        except (OSError, ValueError, KeyError, TypeError) as error: sys.exit(print(f"{path}: {error}", file=sys.stderr) or 3)
        for case in cases:
            for out in case.get("outputs", []):
                place, found = f"{case['path']}: {out['name']}", []
                for row, e in ((row, e) for row in out.get("rows", []) for e in row["elements"]):
                    at = f"{place}[{row['batch']},{row['head']},{row['row']},{e['column']}]"
                    try:
                        found.append(e["verdict"])
                        tell("confirmed", at, check(case, out, row, e))
                    except Rejected as lie: tell("REJECTED", at, lie)
                    except (KeyError, ValueError, TypeError, IndexError) as error: tell("REJECTED", at, f"malformed: {error!r}")
                if not found: tell("not confirmed", place, "no witness")
                elif (out["verdict"] == "fail") != ("violation" in found):
                    tell("REJECTED", place, f"the verdict {out['verdict']} is not that of its elements")
            verdicts = [out["verdict"] for out in case.get("outputs", [])]
            if not verdicts: tell("not confirmed", case["path"], case.get("message", "no output"))
            elif case["verdict"] != min(verdicts, key=["error", "fail", "undecided", "pass"].index):
                tell("REJECTED", case["path"], f"the verdict {case['verdict']} is not that of its outputs")
    print(", ".join(f"{n} {word}" for word, n in counts.items()))
    sys.exit(0 if counts["confirmed"] and not counts["REJECTED"] and not counts["not confirmed"] else 1)

if __name__ == "__main__": main(sys.argv[1:])
