#!/usr/bin/env python3
"""The 210-case enumeration in plain Python fractions: what the engine is measured against.

Every Hq from 1 through 12, every divisor Hkv of Hq and six weight families, with
4 keys, 3 value coordinates, one query position and head-specific weights. Each
case computes direct lookup, consecutive expansion and the interleaved control.

Prints one JSON line; `seconds` is the fastest of --repeats enumerations.
"""

import argparse
import json
import sys
import time
from fractions import Fraction

KEYS = 4
PRIMES = (2, 3, 5, 7, 11, 13, 17, 19)

# Strength of key j for query head h; a weight is a strength over the sum of them.
FAMILIES = {
    "uniform": lambda h, j: Fraction(1),
    "arithmetic": lambda h, j: Fraction(h + j + 1),
    "descending": lambda h, j: Fraction(h + 4 - j),
    "powers_of_two": lambda h, j: Fraction(2 ** ((h + j) % 4)),
    "reciprocals": lambda h, j: Fraction(1, h + j + 1),
    "primes": lambda h, j: Fraction(PRIMES[(h + j) % 8], PRIMES[(j + 3) % 8]),
}


def value_row(g, j):
    """The three coordinates of the value of KV head g at key j."""
    return (
        Fraction(10 * g + j),
        Fraction(j + 1, g + 2),
        Fraction((-1) ** j * (g + 1)) + Fraction(1, j + 1),
    )


def weights_of(family, h):
    strengths = [family(h, j) for j in range(KEYS)]
    total = sum(strengths)
    return [strength / total for strength in strengths]


def weighted_sum(weights, rows):
    return tuple(
        sum((w * row[c] for w, row in zip(weights, rows)), Fraction(0)) for c in range(len(rows[0]))
    )


def run_case(family, query_heads, kv_heads):
    """Returns (direct == expanded, the two maps differ, direct != interleaved)."""
    values = [[value_row(g, j) for j in range(KEYS)] for g in range(kv_heads)]
    weights = [weights_of(family, h) for h in range(query_heads)]
    group = query_heads // kv_heads

    direct = [weighted_sum(weights[h], values[h // group]) for h in range(query_heads)]
    # Expansion repeats each history `group` times; then every head reads its own.
    expanded_values = [list(history) for history in values for _ in range(group)]
    expanded = [weighted_sum(weights[h], expanded_values[h]) for h in range(query_heads)]
    interleaved = [weighted_sum(weights[h], values[h % kv_heads]) for h in range(query_heads)]

    map_differs = any(h // group != h % kv_heads for h in range(query_heads))
    return direct == expanded, map_differs, direct != interleaved


def enumerate_cases(max_heads):
    counts = {"cases": 0, "equal": 0, "map_differs": 0, "map_coincides": 0, "detected": 0}
    for query_heads in range(1, max_heads + 1):
        for kv_heads in range(1, query_heads + 1):
            if query_heads % kv_heads != 0:
                continue
            for family in FAMILIES.values():
                equal, map_differs, told_apart = run_case(family, query_heads, kv_heads)
                counts["cases"] += 1
                counts["equal"] += equal
                counts["map_differs"] += map_differs
                counts["map_coincides"] += not map_differs
                counts["detected"] += told_apart
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--max-heads", type=int, default=12)
    parser.add_argument("--repeats", type=int, default=5)
    arguments = parser.parse_args()
    if arguments.max_heads < 1 or arguments.repeats < 1:
        parser.error("--max-heads and --repeats must be at least 1")

    best = float("inf")
    for _ in range(arguments.repeats):
        start = time.perf_counter()
        counts = enumerate_cases(arguments.max_heads)
        best = min(best, time.perf_counter() - start)
    print(json.dumps({"max_heads": arguments.max_heads, **counts, "seconds": best}))
    as_it_should = counts["equal"] == counts["cases"] and counts["detected"] == counts["map_differs"]
    return 0 if as_it_should else 1


if __name__ == "__main__":
    sys.exit(main())
