"""Strict reading of one fixture file (fixtures/FORMAT.md), for the fixture oracle.

Reading refuses what the format does not name: unknown fields, ragged arrays, JSON numbers where
exact text is due, shapes that do not fit. Nothing is guessed or filled in but the stated defaults.
"""

import json
import re
from dataclasses import dataclass, field

from fixture_numbers import FixtureError, parse_canonical, parse_log, parse_rational

SCHEMA = "gqaverify.fixture/1"
REQUIRED = {"schema", "name", "statement", "value", "expect"}
SCORES = ("scaled_query", "strengths", "equal_scores")
OPTIONAL = {"source", "contract", "key", "score_shift", "bias", "sink", "attn_mask",
            "nonpad_kv_seqlen", "compare", "permutation", "equal_outputs", "unequal_outputs",
            "pooled", "segment", *SCORES}
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


def read_fixture(document, stem):
    check_fields(document, REQUIRED, OPTIONAL, "")
    require(document["schema"] == SCHEMA, "fixture.unknown_schema", "schema", f"not {SCHEMA}")
    require(document["name"] == stem and re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", stem),
            "fixture.name", "name", f'the kebab-case stem of the file is due, "{stem}"')
    statement = document["statement"]
    require(isinstance(statement, str) and statement.endswith("."), "fixture.field_type",
            "statement", "expected one sentence")
    require(isinstance(document.get("source", ""), str), "fixture.field_type", "source",
            "expected text")
    stated = [name for name in SCORES if name in document]
    require(stated, "fixture.missing_field", SCORES[0], f"one of {', '.join(SCORES)} is due")
    require(len(stated) == 1, "fixture.scores_stated_twice", stated[-1], f"besides {stated[0]}")
    require("key" in document or stated != ["scaled_query"], "fixture.missing_field", "key",
            "a scaled query needs keys")
    require("key" not in document or stated == ["scaled_query"], "fixture.unknown_field", "key",
            "keys belong to a scaled query")
    contract = read_contract(document.get("contract", {}))
    return read_operands(document, contract)


def read_contract(contract):
    require(isinstance(contract, dict), "contract.field_type", "contract", "expected an object")
    for name in contract:
        require(name in CONTRACT_FIELDS, "contract.unknown_field", f"contract.{name}",
                "no such field in a fixture")
    boolean(contract.get("causal", False), "contract.causal", "contract.field_type")
    for name, choices in CONTRACT_CHOICES.items():
        value = contract.get(name, choices[0])
        require(isinstance(value, str), "contract.field_type", f"contract.{name}", "expected text")
        require(value in choices, "contract.unknown_value", f"contract.{name}", f'"{value}"')
    window = contract.get("window", [-1, -1])
    require(isinstance(window, list) and len(window) == 2, "contract.field_type",
            "contract.window", "expected [left, right]")
    for bound in window:
        integer(bound, "contract.window", "contract.field_type")
        require(bound >= -1, "contract.window", "contract.window", f"{bound} is below -1")
    return contract


def read_head_map(stated, query_heads, kv_heads, where):
    """The KV head of every query head, from a name or a list."""
    if isinstance(stated, list):
        result = [integer(entry, where, "contract.field_type") for entry in stated]
        require(len(result) == query_heads, "contract.head_map_length", where,
                f"{len(result)} entries for {query_heads} query heads")
        require(all(0 <= entry < kv_heads for entry in result), "contract.head_map_entry", where,
                f"an entry is outside 0..{kv_heads - 1}")
        return result
    require(isinstance(stated, str), "contract.field_type", where, "expected a name or a list")
    require(stated in HEAD_MAPS, "contract.unknown_value", where, f'"{stated}"')
    require(query_heads % kv_heads == 0, "contract.heads_not_divisible", where,
            f"{query_heads} query heads on {kv_heads} KV heads")
    if stated == "interleaved":
        return [head % kv_heads for head in range(query_heads)]
    return [head // (query_heads // kv_heads) for head in range(query_heads)]


def read_operands(document, contract):
    value = tensor(document["value"], 4, number, "value")
    batches, kv_heads, keys, value_size = shape(value, 4)
    operands = {}
    if "equal_scores" in document:
        stated = document["equal_scores"]
        check_fields(stated, {"query_heads", "queries"}, (), "equal_scores")
        query_heads, queries = (integer(stated[name], f"equal_scores.{name}")
                                for name in ("query_heads", "queries"))
    elif "strengths" in document:
        operands["strengths"] = tensor(document["strengths"], 4, strength, "strengths")
        _, query_heads, queries, _ = shape(operands["strengths"], 4)
    else:
        operands["scaled_query"] = tensor(document["scaled_query"], 4, logarithm, "scaled_query")
        _, query_heads, queries, key_size = shape(operands["scaled_query"], 4)
        require(key_size > 0, "contract.zero_head_size", "scaled_query", "dk is 0")
        operands["key"] = tensor_of(document["key"], (batches, kv_heads, keys, key_size), number,
                                    "key")
    require(query_heads > 0 and kv_heads > 0, "contract.no_heads", "value", "a head count is 0")
    require(value_size > 0, "contract.zero_head_size", "value", "dv is 0")
    # An empty batch, no query or no key would make a fixture that checks nothing.
    require(batches > 0 and queries > 0 and keys > 0, "contract.shape_mismatch", "value",
            "an axis is empty")
    scores = (batches, query_heads, queries, keys)
    for name in ("scaled_query", "strengths"):
        got = shape(operands[name], 3) if name in operands else scores[:3]
        require(got == scores[:3], "contract.shape_mismatch", name, f"shape {got}")
    if "strengths" in operands:
        require(shape(operands["strengths"], 4) == scores, "contract.shape_mismatch", "strengths",
                f"expected {scores}")
    for name, sizes in (("score_shift", scores[:3]), ("bias", scores), ("sink", scores[1:2])):
        if name in document:
            operands[name] = tensor_of(document[name], sizes, logarithm, name)
    operands["attn_mask"] = read_mask(document, scores)
    operands["lengths"] = read_lengths(document, batches, keys)
    head_map = read_head_map(contract.get("head_map", "contiguous"), query_heads, kv_heads,
                             "contract.head_map")
    return Fixture(head_map, value, query_heads, queries, contract=contract, **operands)


def read_mask(document, scores):
    if "attn_mask" not in document:
        return None
    mask = tensor(document["attn_mask"], 4, boolean, "attn_mask")
    require(all(got in (1, due) for got, due in zip(shape(mask, 4), scores)),
            "contract.mask_not_broadcastable", "attn_mask",
            f"shape {shape(mask, 4)} against {scores}")
    return mask


def read_lengths(document, batches, keys):
    if "nonpad_kv_seqlen" not in document:
        return None
    lengths = tensor(document["nonpad_kv_seqlen"], 1, integer, "nonpad_kv_seqlen")
    require(len(lengths) == batches and all(0 <= length <= keys for length in lengths),
            "contract.lengths", "nonpad_kv_seqlen",
            f"{batches} numbers within 0..{keys} are due")
    return lengths
