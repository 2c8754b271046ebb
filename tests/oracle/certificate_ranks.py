"""Ranks of matrices, and of what a group of heads makes of its history."""

from fractions import Fraction as Q
from math import gcd, isqrt

from certificate_numbers import (
    Room, demand, dot, exact, integer, integers, matrices, matrix, times, transposed, vector)  # fmt: skip


def minor_size(c, m):
    """The minor's determinant modulo the modulus, by fraction-free expansion of an integer matrix."""
    modulus, rows, columns = exact(c["modulus"]), integers(c["rows"]), integers(c["columns"])
    demand(modulus.denominator == 1 and modulus > 1)
    modulus = modulus.numerator
    for chosen, size in ((rows, len(m)), (columns, len(m[0]))):
        demand(len(set(chosen)) == len(chosen) and all(0 <= i < size for i in chosen), "indices")
    demand(len(rows) == len(columns))
    minor = []
    for r in rows:
        demand(all(gcd(m[r][k].denominator, modulus) == 1 for k in columns), "a denominator has no inverse")
        minor.append([m[r][k].numerator * pow(m[r][k].denominator, -1, modulus) % modulus for k in columns])
    determinant, size = 1, len(minor)
    for k in range(size):
        pivot = next((r for r in range(k, size) if minor[r][k]), None)
        demand(pivot is not None, "the minor is zero")
        if pivot != k:
            minor[k], minor[pivot], determinant = minor[pivot], minor[k], -determinant
        demand(gcd(minor[k][k], modulus) == 1, "a pivot has no inverse")
        determinant = determinant * minor[k][k] % modulus
        inverse = pow(minor[k][k], -1, modulus)
        for r in range(k + 1, size):
            factor = minor[r][k] * inverse % modulus
            if factor:
                minor[r] = [(x - factor * y) % modulus for x, y in zip(minor[r], minor[k])]
    demand(determinant % modulus == exact(c["determinant"]) != 0, "the determinant is another")
    return size


def factor_count(c, m):
    left, right = matrix(c["left"]), matrix(c["right"])
    demand(times(left, right) == m, "the factors give another matrix")
    return len(right)


def rank_lower_bound(c):
    minor_size(c, matrix(c["matrix"]))


def rank_upper_bound(c):
    factor_count(c, matrix(c["matrix"]))


def stated_patterns(c, heads):
    reachable = c["patterns"] is None
    if reachable:
        keys, visible, patterns, room = matrix(c["keys"]), matrix(c["visible"]), [], Room()
        for queries in matrices(c["query_bases"]):
            demand((len(visible), len(visible[0])) == (len(queries), len(keys)))
            rows = []
            for bases, seen in zip(queries, visible):
                demand(all(b > 0 for b in bases) and set(seen) <= {0, 1})
                row = [room.power_product(bases, k) if s else Q(0) for k, s in zip(keys, seen)]
                demand(sum(row) != 0)
                rows.append([x / sum(row) for x in row])
            patterns.append(rows)
    else:
        patterns = matrices(c["patterns"])
        demand(c["keys"] is None and c["query_bases"] is None and c["visible"] is None)
    demand(all(min(row) >= 0 and sum(row) == 1 for p in patterns for row in p), "not row-stochastic")
    demand(len(patterns) in (1, heads))
    return patterns * (heads if len(patterns) == 1 else 1)


def shared(c, name, heads):
    histories = matrices(c[name])
    demand(len(histories) in (1, heads))
    return histories * (heads if len(histories) == 1 else 1)


def stacked_output_rank(c):
    quantity = c["quantity"]
    if quantity == "pattern":
        m = stated_patterns(c, 1)[0]
    elif quantity in ("scores_along_heads", "scores_along_keys"):
        queries = matrices(c["queries"])
        scores = [times(q, transposed(k)) for q, k in zip(queries, shared(c, "keys", len(queries)))]
        flat = quantity == "scores_along_heads"
        m = [[x for row in s for x in row] for s in scores] if flat else [row for s in scores for row in s]
    else:
        heads = integer(c["heads"])
        demand(quantity in ("values", "stacked_output", "summed_output") and 1 <= heads <= 65536)
        blocks = shared(c, "values", heads)
        if quantity != "values":
            blocks = [times(p, v) for p, v in zip(stated_patterns(c, heads), blocks)]
            if c["projections"] is not None:
                projections = matrices(c["projections"])
                demand(len(projections) == heads)
                blocks = [times(b, w) for b, w in zip(blocks, projections)]
            else:
                demand(quantity == "stacked_output")
        if quantity == "summed_output":
            m = [[sum(x, Q(0)) for x in zip(*rows)] for rows in zip(*blocks)]
        else:
            m = [[x for row in rows for x in row] for rows in zip(*blocks)]
    least = minor_size(c, m)
    if c["left"] is None or c["right"] is None:
        demand(c["left"] is None and c["right"] is None)
    else:
        demand(factor_count(c, m) == least, "the bounds differ")


class Interval:
    """A real number between lower / 2^P and upper / 2^P, P = 160; every operation encloses."""

    P = 160

    def __init__(self, lower, upper):
        self.lower, self.upper = lower, upper

    @classmethod
    def of(cls, x):
        return cls((x.numerator << cls.P) // x.denominator, -((-x.numerator << cls.P) // x.denominator))

    def __add__(self, other):
        return Interval(self.lower + other.lower, self.upper + other.upper)

    def __sub__(self, other):
        return Interval(self.lower - other.upper, self.upper - other.lower)

    def __mul__(self, other):
        ends = [x * y for x in (self.lower, self.upper) for y in (other.lower, other.upper)]
        return Interval(min(ends) >> self.P, -(-max(ends) >> self.P))

    def __truediv__(self, other):
        demand(other.lower > 0, "a divisor may be zero")
        ends = [(x << self.P, y) for x in (self.lower, self.upper) for y in (other.lower, other.upper)]
        return Interval(min(x // y for x, y in ends), max(-(-x // y) for x, y in ends))

    def below(self, other):
        return self.upper < other.lower

    def largest(self):
        return Interval(0, max(abs(self.lower), abs(self.upper)))

    def exp(self):
        """By exp(x) = exp(x / 2^k)^(2^k) at more bits, of both ends; the rest of the series is below 2^-400."""
        bits, k = 512, 16
        demand(max(abs(self.lower), abs(self.upper)) <= 4097 << self.P, "an exponent is too large")
        ends = []
        for end, slack in ((self.lower, -1), (self.upper, 1)):
            r = end << (bits - self.P - k)
            term = total = 1 << bits
            for n in range(1, 90):
                term = term * r // (n << bits)
                total += term
            total += slack * (1 << 20)
            for _ in range(k):
                total = (total * total >> bits) + slack * (1 << 4)
            ends.append(total)
        return Interval(max(ends[0] >> (bits - self.P), 0), -(-ends[1] >> (bits - self.P)))


def total_of(intervals):
    result = Interval(0, 0)
    for x in intervals:
        result = result + x
    return result


def interval_times(a, b):
    columns = transposed(b)
    return [[total_of(x * y for x, y in zip(row, column)) for column in columns] for row in a]


def enclosed_group_rank(c):
    queries, keys, values = matrices(c["queries"]), matrix(c["keys"]), matrix(c["values"])
    projections, square = matrices(c["projections"]), exact(c["scale_squared"])
    demand(len(projections) == len(queries) and len(projections[0]) == len(values[0]) and square >= 0)
    demand(len(keys) == len(values) and len(queries[0]) <= len(keys))
    root = isqrt((square.numerator << 2 * Interval.P) // square.denominator)
    scale, outputs = Interval(root, root + 1), [[] for _ in queries[0]]
    exact_values = [[Interval.of(x) for x in row] for row in values]
    for head in queries:
        for i, query in enumerate(head):
            seen = len(keys) - len(head) + i + 1
            scores = [scale * Interval.of(dot(query, key)) for key in keys[:seen]]
            shift = Interval.of(Q(max(s.lower >> Interval.P for s in scores)))
            strengths = [(s - shift).exp() for s in scores]
            whole = total_of(strengths)
            for column in transposed(exact_values[:seen]):
                outputs[i].append(total_of(s * v for s, v in zip(strengths, column)) / whole)
    size, width = len(values[0]), len(values[0]) * len(queries)
    weights = [[Interval(0, 0)] * width for _ in range(width)]
    for h, projection in enumerate(projections):
        for a in range(size):
            for b in range(size):
                weights[h * size + a][h * size + b] = Interval.of(dot(projection[a], projection[b]))
    m = interval_times(interval_times(transposed(outputs), outputs), weights)
    inverse = matrix(c["inverse"])
    demand(len(inverse) == width == len(inverse[0]))
    near = interval_times([[Interval.of(x) for x in row] for row in inverse], m)
    one = Interval.of(Q(1))
    for r, row in enumerate(near):
        rest = total_of(((one if r == k else Interval(0, 0)) - x).largest() for k, x in enumerate(row))
        demand(rest.below(one), "it may be singular")
    low, high, least, most = (exact(c[name]) for name in (
        "least_participation", "most_participation", "least_stable", "most_stable"))  # fmt: skip
    demand(low > 0 and least > 0 and most > 0)
    trace = total_of(m[i][i] for i in range(width))
    squared = interval_times(m, m)
    ratio = trace * trace / total_of(squared[i][i] for i in range(width))
    demand(Interval.of(low).below(ratio) and ratio.below(Interval.of(high)), "participation ratio")
    bound = trace / Interval.of(least)
    power = [[x / bound for x in row] for row in m]
    for _ in range(6):
        power = interval_times(power, power)
    demand(total_of(power[i][i] for i in range(width)).below(one), "stable rank above")
    x = vector(c["direction"])
    demand(len(x) == len(outputs))
    combined = interval_times([[Interval.of(entry) for entry in x]], outputs)
    quotient = interval_times(interval_times(combined, weights), transposed(combined))[0][0]
    demand((trace / Interval.of(most)).below(quotient / Interval.of(dot(x, x))), "stable rank below")
