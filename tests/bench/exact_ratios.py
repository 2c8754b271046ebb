#!/usr/bin/env python3
"""Runs exact_bench and the fractions script alternately and prints the two ratios.

Usage: exact_ratios.py PATH/TO/exact_bench [ROUNDS]

Every round measures both sides, so that whatever else the machine does falls on both; the
medians over the rounds are compared. The script is timed around its enumeration alone, the
benchmark likewise, inside their processes.
"""

import json
import pathlib
import statistics
import subprocess
import sys


def cpp_times(program):
    output = subprocess.run(
        [program, "--benchmark_format=json", "--benchmark_min_time=0.3"],
        check=True, capture_output=True, text=True).stdout
    return {entry["name"]: entry["real_time"] for entry in json.loads(output)["benchmarks"]}


def python_milliseconds():
    script = pathlib.Path(__file__).with_name("enumerate_fractions.py")
    output = subprocess.run([sys.executable, str(script)], check=True, capture_output=True,
                            text=True).stdout
    result = json.loads(output)
    if (result["cases"], result["equal"], result["detected"]) != (210, 210, 72):
        raise SystemExit(f"the script's enumeration is wrong: {result}")
    return result["seconds"] * 1e3


def main():
    if len(sys.argv) not in (2, 3):
        raise SystemExit(__doc__)
    rounds = int(sys.argv[2]) if len(sys.argv) == 3 else 5
    fractions, gmp, boost, naive, cleared = [], [], [], [], []
    for _ in range(rounds):
        fractions.append(python_milliseconds())
        times = cpp_times(sys.argv[1])
        gmp.append(times["enumeration/gmp/real_time"])
        boost.append(times["enumeration/boost/real_time"])
        naive.append(times["weighted_sums_naive"])
        cleared.append(times["weighted_sums_cleared"])
    median = statistics.median
    print(f"210 cases: Python fractions {median(fractions):.1f} ms, gmp {median(gmp):.2f} ms, "
          f"boost {median(boost):.2f} ms")
    print(f"  fractions / gmp   = {median(f / g for f, g in zip(fractions, gmp)):.0f}"
          f"   (wanted: at least 100)")
    print(f"  fractions / boost = {median(f / b for f, b in zip(fractions, boost)):.0f}")
    print(f"weighted sums T=32 S=128 dv=32: naive {median(naive):.2f} ms, "
          f"cleared {median(cleared):.2f} ms")
    print(f"  naive / cleared   = {median(n / c for n, c in zip(naive, cleared)):.1f}"
          f"  (wanted: at least 8)")


if __name__ == "__main__":
    main()
