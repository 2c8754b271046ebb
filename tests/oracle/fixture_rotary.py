"""Rotary embedding of a fixture's query and key, one position at a time, for the fixture oracle."""

from fractions import Fraction

from fixture_document import (boolean, check_fields, integer, number, require, tensor_of)
from fixture_numbers import log_add, log_scale

LARGEST_POSITION = 4096


def read_rotary(stated, batches, queries, keys, key_size):
    where = "rotary_embedding"
    check_fields(stated, {"rotations", "interleaved", "query_position_ids", "key_position_ids"}, (),
                 where)
    rotations = []
    require(isinstance(stated["rotations"], list), "fixture.field_type", f"{where}.rotations",
            "expected a list")
    for entry in stated["rotations"]:
        check_fields(entry, {"cosine", "sine"}, (), f"{where}.rotations")
        cosine, sine = (number(entry[name], f"{where}.rotations.{name}")
                        for name in ("cosine", "sine"))
        require(cosine ** 2 + sine ** 2 == 1, "fixture.rotation", f"{where}.rotations",
                f"{cosine}, {sine} is not on the circle")
        rotations.append((cosine, sine))
    require(rotations, "fixture.rotation", f"{where}.rotations", "there is none")
    require(2 * len(rotations) <= key_size, "contract.shape_mismatch", f"{where}.rotations",
            f"{len(rotations)} pairs in {key_size} coordinates")
    count = len(rotations)
    pairs = [(2 * p, 2 * p + 1) if boolean(stated["interleaved"], f"{where}.interleaved")
             else (p, p + count) for p in range(count)]
    positions = {}
    for name, length in (("query_position_ids", queries), ("key_position_ids", keys)):
        positions[name] = tensor_of(stated[name], (batches, length), integer, f"{where}.{name}")
        for ids in positions[name]:
            require(all(0 <= at <= LARGEST_POSITION for at in ids), "fixture.position",
                    f"{where}.{name}", f"outside 0..{LARGEST_POSITION}")
    return {"rotations": rotations, "pairs": pairs, **positions}


def turned(row, rotary, position, add, scale):
    """The row after `position` turns of every pair, done one by one."""
    row = list(row)
    for (cosine, sine), (x, y) in zip(rotary["rotations"], rotary["pairs"]):
        if position < 0:
            sine = -sine
        for _ in range(abs(position)):
            row[x], row[y] = (add(scale(row[x], cosine), scale(row[y], -sine)),
                              add(scale(row[x], sine), scale(row[y], cosine)))
    return row


def rotated(query, key, rotary, shift=0):
    """Query (logarithms) and key (fractions) with all positions moved by `shift`."""
    query = [[[turned(row, rotary, at + shift, log_add, log_scale)
               for row, at in zip(head, rotary["query_position_ids"][b])] for head in heads]
             for b, heads in enumerate(query)]
    key = [[[turned(row, rotary, at + shift, Fraction.__add__, Fraction.__mul__)
             for row, at in zip(head, rotary["key_position_ids"][b])] for head in heads]
           for b, heads in enumerate(key)]
    return query, key
