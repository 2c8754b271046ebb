"""Moved positions, merged parts, tiles and gradients of a fixture, for the fixture oracle.

Each is written from its definition: parts from the strengths of their own keys, gradients by the
quotient rule from numerators and denominators.
"""

from dataclasses import replace
from fractions import Fraction

from fixture_attention import attend, strength, visible_keys
from fixture_numbers import log_add, log_exp, log_scale
from fixture_rotary import rotated


def rows_of(fixture):
    for b in range(fixture.batches):
        for h in range(fixture.query_heads):
            for i in range(fixture.queries):
                yield b, h, i


def nested(fixture, entry):
    return [[[entry(b, h, i) for i in range(fixture.queries)] for h in range(fixture.query_heads)]
            for b in range(fixture.batches)]


def strengths_of(fixture, b, h, i):
    visible = visible_keys(fixture, b, h, i)
    return {j: strength(fixture, fixture.head_map, b, h, i, j) for j in visible}


def sink_of(fixture, h):
    return Fraction(0) if fixture.sink is None else log_exp(fixture.sink[h], f"sink[{h}]")


def moved(fixture, shift):
    query, key = rotated(*fixture.unrotated, fixture.rotary, shift)
    return attend(replace(fixture, scaled_query=query, key=key))


def part(fixture, begin, end):
    """(outputs, shares) of the keys begin..end-1 alone."""
    def output(b, h, i):
        mine = {j: a for j, a in strengths_of(fixture, b, h, i).items() if begin <= j < end}
        total = sum(mine.values(), Fraction(0))
        history = fixture.value[b][fixture.head_map[h]]
        return [sum((a * history[j][c] for j, a in mine.items()), Fraction(0)) / (total or 1)
                for c in range(fixture.value_size)]

    def share(b, h, i):
        all_strengths = strengths_of(fixture, b, h, i)
        mine = sum((a for j, a in all_strengths.items() if begin <= j < end), Fraction(0))
        return mine / ((sum(all_strengths.values(), Fraction(0)) + sink_of(fixture, h)) or 1)

    return nested(fixture, output), nested(fixture, share)


def merged_output(fixture, outputs, shares):
    return nested(fixture, lambda b, h, i: [
        sum((s[b][h][i] * o[b][h][i][c] for s, o in zip(shares, outputs)), Fraction(0))
        for c in range(fixture.value_size)])


def online_output(fixture, tile):
    """Running maximum, rescaled accumulator; strengths stand for exp(score)."""
    def output(b, h, i):
        strengths = strengths_of(fixture, b, h, i)
        history = fixture.value[b][fixture.head_map[h]]
        best, denominator, sums = None, Fraction(0), [Fraction(0)] * fixture.value_size
        if fixture.sink is not None:
            best, denominator = sink_of(fixture, h), Fraction(1)
        for begin in range(0, fixture.keys, tile):
            here = {j: strengths[j] for j in range(begin, min(begin + tile, fixture.keys))
                    if j in strengths}
            if not here:
                continue
            new = max(here.values()) if best is None else max(best, *here.values())
            scale = Fraction(0) if best is None else best / new
            best, denominator, sums = new, denominator * scale, [x * scale for x in sums]
            for j, a in here.items():
                denominator += a / best
                sums = [x + a / best * v for x, v in zip(sums, history[j])]
        return [x / (denominator or 1) for x in sums]

    return nested(fixture, output)


def gradients(fixture, grad_output):
    """(grad_scaled_query, grad_key, grad_value); the first two only where a query is stated."""
    by_query = fixture.scaled_query is not None
    grad_value = [[[[Fraction(0)] * fixture.value_size for _ in head] for head in heads]
                  for heads in fixture.value]
    grad_query = by_query and [[[[Fraction(0)] * len(row) for row in head] for head in heads]
                               for heads in fixture.scaled_query]
    grad_key = by_query and [[[[{} for _ in row] for row in head] for head in heads]
                             for heads in fixture.key]
    for b, h, i in rows_of(fixture):
        g = fixture.head_map[h]
        strengths, above = strengths_of(fixture, b, h, i), grad_output[b][h][i]
        denominator = sum(strengths.values(), Fraction(0)) + sink_of(fixture, h)
        numerators = [sum((a * fixture.value[b][g][j][c] for j, a in strengths.items()),
                          Fraction(0)) for c in range(fixture.value_size)]
        for j, a in strengths.items():
            for c, up in enumerate(above):
                grad_value[b][g][j][c] += up * a / denominator
            # output_c = N_c / D, dN_c = v_jc da, dD = da, da = a d(score).
            score = sum(up * a * (v * denominator - n) / denominator ** 2
                        for up, v, n in zip(above, fixture.value[b][g][j], numerators))
            if not by_query:
                continue
            for t, entry in enumerate(fixture.key[b][g][j]):
                grad_query[b][h][i][t] += score * entry
                grad_key[b][g][j][t] = log_add(grad_key[b][g][j][t],
                                               log_scale(fixture.scaled_query[b][h][i][t], score))
    return grad_query, grad_key, grad_value
