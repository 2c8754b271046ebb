"""Ranks of matrices, and of what a group of heads makes of its history."""

from fractions import Fraction as Q
from math import gcd

from certificate_numbers import (
    Room, demand, exact, integer, integers, matrices, matrix, times, transposed)  # fmt: skip


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
