"""Strict reading of one fixture file (fixtures/FORMAT.md), for the fixture oracle.

Reading refuses what the format does not name: unknown fields, ragged arrays, JSON numbers where
exact text is due, shapes that do not fit. Nothing is guessed or filled in but the stated defaults.
"""

import json
from dataclasses import dataclass, field

from fixture_numbers import (FixtureError, parse_canonical, parse_canonical_log, parse_log,
                             parse_rational)

SCHEMA = "gqaverify.fixture/1"
REQUIRED = {"schema", "name", "statement", "expect"}
SCORES = ("scaled_query", "strengths", "equal_scores", "layer")
OPTIONAL = {"source", "contract", "key", "score_shift", "bias", "sink", "attn_mask",
            "nonpad_kv_seqlen", "compare", "permutation", "equal_outputs", "unequal_outputs",
            "pooled", "segment", "rotary_embedding", "position_shifts", "merged",
            "online_softmax_tile_sizes", "gradients", "value", "other_layers", *SCORES}
CONTRACT_CHOICES = {"causal_alignment": ("bottom_right", "top_left", "onnx"),
                    "empty_row": ("zero", "nan")}
HEAD_MAPS = ("contiguous", "interleaved")
CONTRACT_FIELDS = {"head_map", "causal", "window", *CONTRACT_CHOICES}


@dataclass
class Fixture:
    """Operands of one attention problem; a nested list per tensor, None where not stated."""

    head_map: list
    value: list
    query_heads: int
    queries: int
    scaled_query: list = None
    key: list = None
    strengths: list = None
    score_shift: list = None
    bias: list = None
    sink: list = None
    attn_mask: list = None
    lengths: list = None
    rotary: dict = None
    unrotated: tuple = None
    layer_input: list = None
    contract: dict = field(default_factory=dict)

    @property
    def batches(self):
        return len(self.value)

    @property
    def kv_heads(self):
        return len(self.value[0])

    @property
    def keys(self):
        return len(self.value[0][0])

    @property
    def value_size(self):
        return len(self.value[0][0][0])


def parse_json(text):
    return json.loads(text, object_pairs_hook=_without_duplicates)


def _without_duplicates(pairs):
    result = dict(pairs)
    if len(result) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise FixtureError("json.duplicate_key", twice, "stated twice in one object")
    return result


def require(condition, code, where, message):
    if not condition:
        raise FixtureError(code, where, message)


def check_fields(value, required, optional, where):
    require(isinstance(value, dict), "fixture.field_type", where, "expected an object")
    for name in value:
        path = f"{where}.{name}" if where else name
        require(name in required or name in optional, "fixture.unknown_field", path,
                "no such field")
    for name in sorted(required):
        path = f"{where}.{name}" if where else name
        require(name in value, "fixture.missing_field", path, "this field is required")


def text(parse):
    def read(value, where):
        require(isinstance(value, str), "fixture.field_type", where, "expected exact text")
        return parse(value, where)
    return read


number, logarithm, expected = text(parse_rational), text(parse_log), text(parse_canonical)
expected_logarithm = text(parse_canonical_log)


def boolean(value, where, code="fixture.field_type"):
    require(isinstance(value, bool), code, where, "expected true or false")
    return value


def integer(value, where, code="fixture.field_type"):
    require(isinstance(value, int) and not isinstance(value, bool), code, where,
            "expected an integer")
    return value


def strength(value, where):
    result = number(value, where)
    require(result > 0, "fixture.strength_not_positive", where, f'"{value}"')
    return result


def tensor(value, rank, leaf, where):
    """Nested lists of `rank` levels with read leaves; all siblings have one shape."""
    if rank == 0:
        return leaf(value, where)
    require(isinstance(value, list), "fixture.field_type", where, "expected an array")
    result = [tensor(item, rank - 1, leaf, f"{where}[{n}]") for n, item in enumerate(value)]
    for n, item in enumerate(result):
        require(shape(item, rank - 1) == shape(result[0], rank - 1), "fixture.ragged",
                f"{where}[{n}]", "differs in shape from its first sibling")
    return result


def shape(value, rank):
    """Sizes along `rank` axes; axes below an empty one count as 0."""
    if rank == 0:
        return ()
    return (len(value),) + (shape(value[0], rank - 1) if value else (0,) * (rank - 1))


def tensor_of(value, sizes, leaf, where):
    result = tensor(value, len(sizes), leaf, where)
    require(shape(result, len(sizes)) == tuple(sizes), "contract.shape_mismatch", where,
            f"shape {shape(result, len(sizes))}, expected {tuple(sizes)}")
    return result
