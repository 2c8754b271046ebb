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

from fixture_attention import attend
from fixture_checks import (Difference, check_compare, check_expect, check_gradients, check_merged,
                            check_other_layers, check_pairs, check_permutation, check_pooled,
                            check_position_shifts, check_segment, check_tiles)
from fixture_document import check_fields, parse_json
from fixture_numbers import FixtureError
from fixture_operands import read_fixture

DEFAULT = Path(__file__).resolve().parents[2] / "fixtures" / "exact"


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
    if "other_layers" in document:
        check_other_layers(document["other_layers"], fixture, output)
    if "position_shifts" in document:
        check_position_shifts(document["position_shifts"], fixture, output, weights)
    # An empty row states NaN by policy; parts and tiles give it zero.
    sums = [[[[entry or 0 for entry in row] for row in head] for head in heads] for heads in output]
    if "merged" in document:
        check_merged(document["merged"], fixture, sums)
    if "online_softmax_tile_sizes" in document:
        check_tiles(document["online_softmax_tile_sizes"], fixture, sums)
    if "gradients" in document:
        check_gradients(document["gradients"], fixture)


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
               "pooled": ("output", "lossless"), "segment": ("attainable", "weights"),
               "merged": ("outputs", "shares"), "other_layers": ("output", "equal"),
               "gradients": ("grad_scaled_query", "grad_key", "grad_value")}
    for name, parts in results.items():
        for path in leaves(document.get(name, {}), [name]):
            if parts is None or any(part in path for part in parts):
                yield path


def changed(value, path):
    if "grad_key" in path:
        return "ln(2)" if value == "0" else "0"
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
        place[path[-1]] = changed(place[path[-1]], path)
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
