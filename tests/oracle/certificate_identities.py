"""Counterexamples and bytes."""

from fractions import Fraction as Q

from certificate_numbers import (
    LARGEST_BITS, Room, any_of, apply, demand, dot, entries, exact, index, integer, integers, matrices,
    matrix, mean, mean_row, times, transposed, vector)  # fmt: skip


def attention(keys, values, bases, scale):
    exponents = [[x * scale for x in row] for row in keys]
    demand(all(len(row) == len(bases) and all(x.denominator == 1 for x in row) for row in exponents), "exponents")
    lowest = [min(column) for column in zip(*exponents)]
    room = Room()
    spread = [max(column) - low for column, low in zip(zip(*exponents), lowest)]
    # Sizes as the other checker bounds them: numerator and denominator of every base apart.
    strengths = []
    for row in exponents:
        up = [x - low for x, low in zip(row, lowest)]
        down = [s - x for s, x in zip(spread, up)]
        numerators, denominators = [Q(b.numerator) for b in bases], [Q(b.denominator) for b in bases]
        strengths.append(room.power_product(numerators + denominators, up + down))
    total = sum(strengths)
    demand(total.numerator.bit_length() <= 4 * LARGEST_BITS // len(values[0]), "a power is too large")
    return [dot(strengths, column) / total for column in zip(*values)]


def counterexample(c):
    identity = c["identity"]
    if identity == "mean_key_score_sum":
        queries, keys = matrix(c["queries"]), matrix(c["keys"])
        demand(len(queries) == len(keys))
        left = [sum((dot(q, k) for q, k in zip(queries, keys)), Q(0))]
        right = [dot([sum(x) for x in zip(*queries)], mean_row(keys))]
    elif identity == "mean_pooled_output":
        keys, values, bases = matrices(c["keys"]), matrices(c["values"]), vector(c["bases"])
        demand(len(keys) == len(values) and all(b > 0 for b in bases))
        h, scale = index(c["head"], len(keys)), exact(c["key_scale"])
        demand(len(keys[0]) == len(values[0]))
        left = attention(keys[h], values[h], bases, scale)
        right = attention(mean(keys), mean(values), bases, scale)
    elif identity == "mean_key_softens":
        query, keys = vector(c["query"]), matrix(c["keys"])
        h, pooled = index(c["head"], len(keys)), mean_row(keys)
        demand(dot(pooled, pooled) < dot(keys[h], keys[h]), "the mean key is no shorter")
        left, right = [abs(dot(query, keys[h]))], [abs(dot(query, pooled))]
        demand(left < right, "the mean key is softer")
    elif identity == "head_maps":
        query_heads, groups = integer(c["query_heads"]), integer(c["groups"])
        demand(1 <= groups <= query_heads <= 4096)
        left = [Q(i * groups // query_heads) for i in range(query_heads)]
        right = [Q(i // (query_heads // groups)) for i in range(query_heads)]
    elif identity == "layer_of_other_weights":
        left, right = (layer_output(c, name) for name in ("weights", "other_weights"))
    else:
        demand(identity == "output_as_values_times_matrix", "unknown identity")
        values, patterns, projections = matrix(c["values"]), matrices(c["patterns"]), matrices(c["projections"])
        rows = vector(c["row_combination"])
        demand(len(patterns) == len(projections) and len(rows) == len(values))
        demand(all(min(row) >= 0 and sum(row) == 1 for p in patterns for row in p))
        demand(not any_of(apply(transposed(values), rows)))
        total = None
        for p, w in zip(patterns, projections):
            block = times(times(p, values), w)
            demand(len(rows) == len(block))
            part = apply(transposed(block), rows)
            total = part if total is None else [a + b for a, b in zip(total, part)]
        left, right = total, [Q(0)] * len(total)
    demand(left == vector(c["left"]) and right == vector(c["right"]) and left != right, "sides")


def layer_output(c, name):
    """Heads of one layer side by side: scores in units of ln 2."""
    x, weights = matrix(c["input"]), c[name]
    demand(isinstance(weights, dict) and set(weights) == {"query", "key", "value"})
    queries, keys, values = (matrices(weights[part]) for part in ("query", "key", "value"))
    demand(len(keys) == len(values) and len(queries) % len(keys) == 0)
    result = []
    for h, q in enumerate(queries):
        g = h // (len(queries) // len(keys))
        k, v = times(x, keys[g]), times(x, values[g])
        for row in times(x, q):
            demand(len(row) == len(k[0]))
            result += attention([[dot(row, key)] for key in k], v, [Q(2)], Q(1))
    return result


def byte_ledger(c):
    def positive(value):
        value = integer(value)
        demand(value >= 1)
        return value

    batch, positions, page = positive(c["batch"]), positive(c["positions"]), positive(c["page_size"])
    per_layer = 0
    for size, block in (("key_size", "key_block"), ("value_size", "value_block")):
        block_bytes, block_elements = (positive(x) for x in integers(c[block])) if len(c[block]) == 2 else demand(False)
        per_layer += positive(c["kv_num_heads"]) * -(-positive(c[size]) // block_elements) * block_bytes
    per_position = total = 0
    for layers in entries(c["layers"], lambda x: x):
        demand(isinstance(layers, dict) and set(layers) == {"count", "window"})
        count = positive(layers["count"])
        kept = positions if layers["window"] is None else min(positions, positive(layers["window"]))
        per_position += count * per_layer
        total += count * batch * -(-kept // page) * page * per_layer
    demand(exact(c["bytes_per_position"]) == per_position and exact(c["bytes"]) == total, "bytes")
