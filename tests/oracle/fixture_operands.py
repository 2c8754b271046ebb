"""Operands of one fixture, read strictly into a Fixture, for the fixture oracle."""

import re

from fixture_document import (CONTRACT_CHOICES, CONTRACT_FIELDS, HEAD_MAPS, OPTIONAL, REQUIRED,
                              SCHEMA, SCORES, Fixture, boolean, check_fields, integer, logarithm,
                              number, require, shape, strength, tensor, tensor_of)
from fixture_layer import STATED_BY_A_LAYER, read_layer
from fixture_rotary import read_rotary, rotated


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
    require(len(stated) == 1 or "layer" in stated, "fixture.scores_stated_twice", stated[-1], f"besides {stated[0]}")
    if "layer" in document:
        for name in STATED_BY_A_LAYER:
            require(name not in document, "fixture.scores_stated_twice", name, "beside a layer")
    else:
        require("value" in document, "fixture.missing_field", "value", "this field is required")
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
    operands = {}
    if "layer" in document:
        operands["layer_input"], operands["scaled_query"], operands["key"], value = read_layer(
            document["layer"])
    else:
        value = tensor(document["value"], 4, number, "value")
    batches, kv_heads, keys, value_size = shape(value, 4)
    if "equal_scores" in document:
        stated = document["equal_scores"]
        check_fields(stated, {"query_heads", "queries"}, (), "equal_scores")
        query_heads, queries = (integer(stated[name], f"equal_scores.{name}")
                                for name in ("query_heads", "queries"))
    elif "strengths" in document:
        operands["strengths"] = tensor(document["strengths"], 4, strength, "strengths")
        _, query_heads, queries, _ = shape(operands["strengths"], 4)
    elif "layer" in document:
        _, query_heads, queries, key_size = shape(operands["scaled_query"], 4)
    else:
        operands["scaled_query"] = tensor(document["scaled_query"], 4, logarithm, "scaled_query")
        _, query_heads, queries, key_size = shape(operands["scaled_query"], 4)
        require(key_size > 0, "contract.zero_head_size", "scaled_query", "dk is 0")
        operands["key"] = tensor_of(document["key"], (batches, kv_heads, keys, key_size), number,
                                    "key")
    if "rotary_embedding" in document:
        require("key" in operands, "fixture.missing_field", "scaled_query", "nothing to turn")
        rotary = read_rotary(document["rotary_embedding"], batches, queries, keys, key_size)
        unrotated = operands["scaled_query"], operands["key"]
        operands["scaled_query"], operands["key"] = rotated(*unrotated, rotary)
        operands.update(rotary=rotary, unrotated=unrotated)
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
