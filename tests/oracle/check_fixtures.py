#!/usr/bin/env python3
"""Recomputes every exact fixture in fractions and fails on any difference.

Independent of the C++ code: it shares the text of fixtures/FORMAT.md with it and nothing else.

Usage: check_fixtures.py [--mutate] [file or directory ...]      (default: fixtures/exact)

--mutate changes every stated expectation in turn and requires that the check notices, so that a
check that checks nothing cannot pass. Exit code 0: all right; 1: a difference; 2: nothing to check.
"""

import argparse
import copy
import json
import re
import sys
from pathlib import Path

from fixture_attention import affine_weights, attend, permuted, pooled
from fixture_document import (boolean, check_fields, expected, integer, number, parse_json,
                              read_fixture, read_head_map, require, tensor, tensor_of)
from fixture_numbers import FixtureError, canonical

DEFAULT = Path(__file__).resolve().parents[2] / "fixtures" / "exact"


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


def check_positive(document, stem):
    fixture = read_fixture(document, stem)
    output, weights, empty = attend(fixture)
    check_expect(document["expect"], fixture, output, weights, empty)
    if "compare" in document:
        check_compare(document["compare"], fixture, output)
    if "permutation" in document:
        check_permutation(document["permutation"], fixture, output)
    for name in ("equal_outputs", "unequal_outputs"):
        if name in document:
            check_pairs(document[name], name, fixture, output)
    if "pooled" in document:
        check_pooled(document["pooled"], fixture, output)
    if "segment" in document:
        check_segment(document["segment"], fixture)


def check_negative(text, stem, error):
    check_fields(error, {"code"}, {"where"}, "expect.error")
    try:
        fixture = read_fixture(parse_json(text), stem)
        attend(fixture)
    except FixtureError as refused:
        if refused.code != error["code"]:
            raise Difference(f'refused as "{refused.code}" ({refused}), stated "{error["code"]}"')
        # `where` names a field; the path of the offending place must run through it.
        if error.get("where", "") not in re.split(r"[.\[\]]+", refused.where) + [""]:
            raise Difference(f'refused at "{refused.where}", stated "{error["where"]}"')
        return
    raise Difference(f'accepted, though it states the error "{error["code"]}"')


def check_text(text, stem):
    """Checks one fixture; True if it is a negative one. Raises on any difference."""
    document = json.loads(text)
    stated = document.get("expect") if isinstance(document, dict) else None
    if isinstance(stated, dict) and "error" in stated:
        check_fields(stated, {"error"}, (), "expect")
        check_negative(text, stem, stated["error"])
        return True
    check_positive(parse_json(text), stem)
    return False


def expectation_paths(document):
    """Paths to every stated result: all that must make the check fail when it is changed."""
    def leaves(value, path):
        if isinstance(value, (list, dict)):
            items = value.items() if isinstance(value, dict) else enumerate(value)
            for name, item in items:
                yield from leaves(item, path + [name])
        else:
            yield path

    results = {"expect": None, "compare": ("changed_heads", "output"),
               "pooled": ("output", "lossless"), "segment": ("attainable", "weights")}
    for name, parts in results.items():
        for path in leaves(document.get(name, {}), [name]):
            if parts is None or any(part in path for part in parts):
                yield path


def changed(value):
    if isinstance(value, bool):
        return not value
    if isinstance(value, int):
        return value + 1
    if value == "nan" or "." in value or not re.search("[0-9]", value):
        return "0"
    return "1" if value == "0" else "0"


def check_mutations(text, stem):
    """Changes each expectation in turn; returns how many there were. Raises if one goes unnoticed."""
    original, count = json.loads(text), 0
    if "error" in original["expect"]:
        return 0
    for path in expectation_paths(original):
        document = copy.deepcopy(original)
        place = document
        for name in path[:-1]:
            place = place[name]
        place[path[-1]] = changed(place[path[-1]])
        count += 1
        try:
            check_positive(document, stem)
        except (FixtureError, Difference):
            continue
        raise Difference(f"changing {path} goes unnoticed")
    return count


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--mutate", action="store_true", help="check the check itself as well")
    parser.add_argument("paths", nargs="*", type=Path, default=[DEFAULT])
    arguments = parser.parse_args()
    files = [file for path in arguments.paths
             for file in (sorted(path.glob("*.json")) if path.is_dir() else [path])]
    failures = negative = mutations = 0
    for file in files:
        try:
            text = file.read_text(encoding="utf-8")
            negative += check_text(text, file.stem)
            if arguments.mutate:
                mutations += check_mutations(text, file.stem)
        except (FixtureError, Difference, ValueError, OSError) as problem:
            failures += 1
            print(f"FAIL {file.name}: {problem}")
    if not files:
        print("FAIL no fixture found")
        return 2
    print(f"{len(files) - failures} of {len(files)} fixtures right, {negative} of them negative"
          + (f"; {mutations} changed expectations noticed" if arguments.mutate else ""))
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
