"""What a fixture states against what its operands give, for the fixture oracle."""

from fixture_attention import affine_weights, attend, permuted, pooled
from fixture_document import (boolean, check_fields, expected, expected_logarithm, integer, number,
                              require, tensor, tensor_of)
from fixture_layer import with_other_weights
from fixture_numbers import canonical, canonical_log
from fixture_operands import read_head_map
from fixture_other_ways import gradients, merged_output, moved, online_output, part


class Difference(Exception):
    """A well-formed fixture states something that is not so."""


def agree(got, stated, where):
    if isinstance(stated, list) and isinstance(got, list):
        if len(got) != len(stated):
            raise Difference(f"{where}: {len(stated)} entries stated, {len(got)} computed")
        for n, (left, right) in enumerate(zip(got, stated)):
            agree(left, right, f"{where}[{n}]")
    elif got != stated:
        raise Difference(f"{where}: {shown(stated)} stated, {shown(got)} computed")


def shown(value):
    if isinstance(value, dict):
        return canonical_log(value)
    return str(value) if isinstance(value, (bool, list)) else canonical(value)


def output_sizes(fixture):
    return fixture.batches, fixture.query_heads, fixture.queries, fixture.value_size


def check_expect(stated, fixture, output, weights, empty):
    check_fields(stated, {"output"}, {"weights", "head_map", "empty_rows"}, "expect")
    agree(output, tensor_of(stated["output"], output_sizes(fixture), expected, "expect.output"),
          "expect.output")
    if "weights" in stated:
        sizes = output_sizes(fixture)[:3] + (fixture.keys,)
        agree(weights, tensor_of(stated["weights"], sizes, expected, "expect.weights"),
              "expect.weights")
    if "head_map" in stated:
        agree(fixture.head_map, tensor(stated["head_map"], 1, integer, "expect.head_map"),
              "expect.head_map")
    if "empty_rows" in stated:
        agree(empty, tensor(stated["empty_rows"], 2, integer, "expect.empty_rows"),
              "expect.empty_rows")


def check_compare(entries, fixture, output):
    require(isinstance(entries, list) and entries, "fixture.field_type", "compare",
            "expected a list")
    for n, entry in enumerate(entries):
        where = f"compare[{n}]"
        check_fields(entry, {"head_map", "changed_heads", "output"}, (), where)
        head_map = read_head_map(entry["head_map"], fixture.query_heads, fixture.kv_heads,
                                 f"{where}.head_map")
        other, _, _ = attend(fixture, head_map)
        stated = tensor_of(entry["output"], output_sizes(fixture), expected, f"{where}.output")
        agree(other, stated, f"{where}.output")
        changed = [h for h in range(fixture.query_heads)
                   if head_output(other, h) != head_output(output, h)]
        agree(changed, tensor(entry["changed_heads"], 1, integer, f"{where}.changed_heads"),
              f"{where}.changed_heads")


def head_output(output, head):
    return [batch[head] for batch in output]


def check_permutation(stated, fixture, output):
    check_fields(stated, {"query_heads", "kv_heads"}, (), "permutation")
    orders = []
    for name, count in (("query_heads", fixture.query_heads), ("kv_heads", fixture.kv_heads)):
        order = tensor(stated[name], 1, integer, f"permutation.{name}")
        require(sorted(order) == list(range(count)), "fixture.field_type", f"permutation.{name}",
                f"not a permutation of 0..{count - 1}")
        orders.append(order)
    renamed, _, _ = attend(permuted(fixture, *orders))
    agree(renamed, [[batch[old] for old in orders[0]] for batch in output], "permutation")


def check_pairs(pairs, name, fixture, output):
    for n, pair in enumerate(tensor(pairs, 2, integer, name)):
        require(len(pair) == 2 and all(0 <= head < fixture.query_heads for head in pair),
                "fixture.field_type", f"{name}[{n}]", "expected two query heads")
        equal = head_output(output, pair[0]) == head_output(output, pair[1])
        agree(equal, name == "equal_outputs", f"{name}[{n}]: outputs are equal")


def check_pooled(stated, fixture, output):
    check_fields(stated, {"kv_num_heads", "output", "lossless"}, (), "pooled")
    count = integer(stated["kv_num_heads"], "pooled.kv_num_heads")
    require(count > 0 and fixture.kv_heads % count == 0 and fixture.query_heads % count == 0,
            "contract.heads_not_divisible", "pooled.kv_num_heads", f"{count} KV heads")
    result, _, _ = attend(pooled(fixture, count))
    agree(result, tensor_of(stated["output"], output_sizes(fixture), expected, "pooled.output"),
          "pooled.output")
    agree(result == output, boolean(stated["lossless"], "pooled.lossless"), "pooled.lossless")


def check_segment(entries, fixture):
    require(isinstance(entries, list) and entries, "fixture.field_type", "segment",
            "expected a list")
    for n, entry in enumerate(entries):
        where = f"segment[{n}]"
        check_fields(entry, {"point", "attainable"}, {"weights"}, where)
        point = tensor_of(entry["point"], (fixture.value_size,), number, f"{where}.point")
        weights = affine_weights(fixture.value[0][0], point)
        attainable = weights is not None and all(weight > 0 for weight in weights)
        agree(attainable, boolean(entry["attainable"], f"{where}.attainable"),
              f"{where}.attainable")
        require(attainable or "weights" not in entry, "fixture.unknown_field",
                f"{where}.weights", "only an attainable point has weights")
        if "weights" in entry:
            agree(weights, tensor_of(entry["weights"], (fixture.keys,), expected,
                                     f"{where}.weights"), f"{where}.weights")


def check_position_shifts(shifts, fixture, output, weights):
    require(fixture.rotary, "fixture.missing_field", "rotary_embedding", "nothing has a position")
    for shift in tensor(shifts, 1, integer, "position_shifts"):
        other, other_weights, _ = moved(fixture, shift)
        agree(other, output, f"positions moved by {shift}: output")
        agree(other_weights, weights, f"positions moved by {shift}: weights")


def check_merged(entries, fixture, output):
    require(isinstance(entries, list) and entries, "fixture.field_type", "merged",
            "expected a list")
    rows = output_sizes(fixture)[:3]
    for n, entry in enumerate(entries):
        where = f"merged[{n}]"
        check_fields(entry, {"splits", "outputs", "shares"}, (), where)
        splits = tensor(entry["splits"], 1, integer, f"{where}.splits")
        bounds = [0, *splits, fixture.keys]
        require(splits and bounds == sorted(set(bounds)), "fixture.splits", f"{where}.splits",
                f"{splits} of {fixture.keys} keys")
        parts = [part(fixture, *bound) for bound in zip(bounds, bounds[1:])]
        for p, (name, sizes) in enumerate((("outputs", output_sizes(fixture)), ("shares", rows))):
            stated = tensor_of(entry[name], (len(parts), *sizes), expected, f"{where}.{name}")
            agree([found[p] for found in parts], stated, f"{where}.{name}")
        agree(merged_output(fixture, *zip(*parts)), output, f"{where}: merged output")


def check_tiles(sizes, fixture, output):
    for size in tensor(sizes, 1, integer, "online_softmax_tile_sizes"):
        require(size > 0, "fixture.tile_size", "online_softmax_tile_sizes", f"{size}")
        agree(online_output(fixture, size), output, f"online softmax in tiles of {size}")


def check_gradients(stated, fixture):
    by_query = fixture.scaled_query is not None
    names = {"grad_output", "grad_value"} | ({"grad_scaled_query", "grad_key"} if by_query else set())
    check_fields(stated, names, (), "gradients")
    grad_output = tensor_of(stated["grad_output"], output_sizes(fixture), number,
                            "gradients.grad_output")
    sizes = fixture.batches, fixture.kv_heads, fixture.keys
    found = gradients(fixture, grad_output)
    shapes = [("grad_value", found[2], (*sizes, fixture.value_size), expected)]
    if by_query:
        width = len(fixture.key[0][0][0])
        shapes += [("grad_scaled_query", found[0], (*output_sizes(fixture)[:3], width), expected),
                   ("grad_key", found[1], (*sizes, width), expected_logarithm)]
    for name, computed, shape, leaf in shapes:
        agree(computed, tensor_of(stated[name], shape, leaf, f"gradients.{name}"),
              f"gradients.{name}")


def check_other_layers(entries, fixture, output):
    require(fixture.layer_input, "fixture.missing_field", "layer", "there is none")
    require(isinstance(entries, list) and entries, "fixture.field_type", "other_layers",
            "expected a list")
    for n, entry in enumerate(entries):
        where = f"other_layers[{n}]"
        check_fields(entry, {"key_weight", "value_weight", "output", "equal"}, (), where)
        other, _, _ = attend(with_other_weights(fixture, entry, where))
        stated = tensor_of(entry["output"], output_sizes(fixture), expected, f"{where}.output")
        agree(other, stated, f"{where}.output")
        agree(other == output, boolean(entry["equal"], f"{where}.equal"), f"{where}.equal")
