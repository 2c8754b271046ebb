"""A layer's projections, entry by entry, for the fixture oracle."""

from dataclasses import replace
from fractions import Fraction

from fixture_document import check_fields, logarithm, number, require, shape, tensor
from fixture_numbers import log_add, log_scale
from fixture_rotary import rotated

STATED_BY_A_LAYER = ("scaled_query", "key", "value", "strengths", "equal_scores")


def projected(inputs, weights, zero, add, scale):
    def entry(row, x):
        total = zero
        for w, factor in zip(row, x):
            total = add(total, scale(w, factor))
        return total

    return [[[[entry(row, x) for row in head] for x in positions] for head in weights]
            for positions in inputs]


def read_weight(stated, name, width, leaf, where):
    weight = tensor(stated[name], 3, leaf, f"{where}.{name}")
    got = shape(weight, 3)
    require(got[1] > 0 and got[2] == width, "contract.shape_mismatch", f"{where}.{name}",
            f"shape {got} for an input of width {width}")
    return weight


def read_history(stated, inputs, key_size, where):
    width = shape(inputs, 3)[2]
    key = read_weight(stated, "key_weight", width, number, where)
    value = read_weight(stated, "value_weight", width, number, where)
    require((len(key), shape(key, 3)[1]) == (len(value), key_size), "contract.shape_mismatch",
            f"{where}.key_weight", f"shape {shape(key, 3)}")
    return tuple(projected(inputs, weight, Fraction(0), Fraction.__add__, Fraction.__mul__)
                 for weight in (key, value))


def read_layer(stated):
    """(input, scaled query, key, value)."""
    check_fields(stated, {"input", "query_weight", "key_weight", "value_weight"}, (), "layer")
    inputs = tensor(stated["input"], 3, number, "layer.input")
    query = read_weight(stated, "query_weight", shape(inputs, 3)[2], logarithm, "layer")
    key, value = read_history(stated, inputs, shape(query, 3)[1], "layer")
    return inputs, projected(inputs, query, {}, log_add, log_scale), key, value


def with_other_weights(fixture, entry, where):
    """The same queries on keys and values by other weights, under the contiguous map."""
    key, value = read_history(entry, fixture.layer_input, len(fixture.scaled_query[0][0][0]), where)
    if fixture.rotary:
        _, key = rotated(fixture.unrotated[0], key, fixture.rotary)
    heads = len(key[0])
    require(heads > 0 and fixture.query_heads % heads == 0, "contract.heads_not_divisible", where,
            f"{heads} KV heads")
    head_map = [h // (fixture.query_heads // heads) for h in range(fixture.query_heads)]
    return replace(fixture, key=key, value=value, head_map=head_map)
