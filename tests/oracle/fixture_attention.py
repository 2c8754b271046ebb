"""Attention on one fixture, written out element by element in fractions, for the fixture oracle.

It follows the definition in the contract, one sum after another; nothing is shared, cached or
rearranged, because it exists to disagree with faster code.
"""

from dataclasses import replace
from fractions import Fraction

from fixture_numbers import FixtureError, log_add, log_exp, log_scale


def visible_keys(fixture, b, h, i):
    contract = fixture.contract
    length = fixture.keys if fixture.lengths is None else fixture.lengths[b]
    alignment = contract.get("causal_alignment", "bottom_right")
    if alignment == "onnx":
        alignment = "top_left" if fixture.lengths is None else "bottom_right"
    position = i + (length - fixture.queries if alignment == "bottom_right" else 0)
    left, right = contract.get("window", [-1, -1])
    return [j for j in range(length)
            if not (contract.get("causal", False) and j > position)
            and not (left >= 0 and j < position - left)
            and not (right >= 0 and j > position + right)
            and mask_allows(fixture.attn_mask, b, h, i, j)]


def mask_allows(mask, b, h, i, j):
    if mask is None:
        return True
    for index in (b, h, i, j):
        mask = mask[0 if len(mask) == 1 else index]
    return mask


def strength(fixture, head_map, b, h, i, j):
    """exp of the score of key j."""
    where = f"score[{b}][{h}][{i}][{j}]"
    log, factor = {}, Fraction(1)
    if fixture.scaled_query is not None:
        key = fixture.key[b][head_map[h]][j]
        for coordinate, entry in zip(fixture.scaled_query[b][h][i], key):
            log = log_add(log, log_scale(coordinate, entry))
    if fixture.strengths is not None:
        factor = fixture.strengths[b][h][i][j]
    if fixture.bias is not None:
        log = log_add(log, fixture.bias[b][h][i][j])
    if fixture.score_shift is not None:
        log = log_add(log, fixture.score_shift[b][h][i])
    return factor * log_exp(log, where)


def attend_row(fixture, head_map, b, h, i):
    """(output, weights, empty) of one query row; None stands for nan."""
    visible = visible_keys(fixture, b, h, i)
    weights = [Fraction(0)] * fixture.keys
    if not visible and fixture.sink is None and fixture.contract.get("empty_row") == "nan":
        return [None] * fixture.value_size, weights, True
    total = Fraction(0) if fixture.sink is None else log_exp(fixture.sink[h], f"sink[{h}]")
    for j in visible:
        weights[j] = strength(fixture, head_map, b, h, i, j)
        total += weights[j]
    for j in visible:
        weights[j] /= total
    output = [sum((weights[j] * fixture.value[b][head_map[h]][j][c] for j in visible), Fraction(0))
              for c in range(fixture.value_size)]
    return output, weights, not visible


def attend(fixture, head_map=None):
    """Outputs, weights and the list of empty rows [b, h, i]."""
    head_map = fixture.head_map if head_map is None else head_map
    rows = [[[attend_row(fixture, head_map, b, h, i) for i in range(fixture.queries)]
             for h in range(fixture.query_heads)] for b in range(fixture.batches)]
    empty = [[b, h, i] for b, heads in enumerate(rows) for h, queries in enumerate(heads)
             for i, row in enumerate(queries) if row[2]]
    output, weights = ([[[row[part] for row in queries] for queries in heads] for heads in rows]
                       for part in (0, 1))
    return output, weights, empty


def permuted(fixture, query_heads, kv_heads):
    """The same problem with its query heads and KV heads renamed, and the map carried along."""
    def pick(tensor, order):
        return tensor and [[batch[old] for old in order] for batch in tensor]

    mask = fixture.attn_mask
    if mask is not None and len(mask[0]) != 1:
        mask = pick(mask, query_heads)
    return replace(
        fixture,
        head_map=[kv_heads.index(fixture.head_map[old]) for old in query_heads],
        value=pick(fixture.value, kv_heads), key=pick(fixture.key, kv_heads),
        scaled_query=pick(fixture.scaled_query, query_heads),
        strengths=pick(fixture.strengths, query_heads), bias=pick(fixture.bias, query_heads),
        score_shift=pick(fixture.score_shift, query_heads), attn_mask=mask,
        sink=fixture.sink and [fixture.sink[old] for old in query_heads])


def pooled(fixture, count):
    """KV heads averaged over consecutive groups down to `count`, under the contiguous map."""
    size = fixture.kv_heads // count

    def mean(tensor):
        return tensor and [
            [[[sum(coordinates, Fraction(0)) / size for coordinates in zip(*rows)]
              for rows in zip(*batch[g * size:(g + 1) * size])] for g in range(count)]
            for batch in tensor]

    head_map = [h // (fixture.query_heads // count) for h in range(fixture.query_heads)]
    return replace(fixture, value=mean(fixture.value), key=mean(fixture.key), head_map=head_map)


def affine_weights(values, point):
    """The affine weights of `point` over affinely independent `values`, or None if off their hull.

    Gauss-Jordan elimination of [values^T; 1 ... 1] w = [point; 1].
    """
    count = len(values)
    rows = [[value[c] for value in values] + [point[c]] for c in range(len(point))]
    rows.append([Fraction(1)] * (count + 1))
    for column in range(count):
        pivot = next((r for r in range(column, len(rows)) if rows[r][column] != 0), None)
        if pivot is None:
            raise FixtureError("fixture.values_dependent", "segment",
                               "value[0][0] is not affinely independent")
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for r, row in enumerate(rows):
            if r != column:
                rows[r] = [a - row[column] * b for a, b in zip(row, rows[column])]
    if any(row[count] != 0 for row in rows[count:]):
        return None
    return [rows[k][count] for k in range(count)]
