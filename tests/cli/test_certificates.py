"""Every certificate that a command writes, and mutations of them, before a second checker; questions of one
key coordinate before a second way to decide them; the table of docs/theory.md before the ledger.

$GQA_TEST_MULTIPLIER times as many mutations and questions are drawn."""

import json
import os
import random
import re
import subprocess
import sys
from fractions import Fraction as Q

from command_line import HOLDS, WRONG, CommandLine, program, project

MANY = int(os.environ.get("GQA_TEST_MULTIPLIER", "1"))
LAYERS = {
    "rotations": {"rotary": {"rotations": [["3/5", "4/5"]]}},
    "distinct": {"rotary": {"angles": "distinct", "pairs": "adjacent"}},
    "normalised": {"query_norm": [1, 2], "key_norm": ["1/2", 3], "norm_epsilon": "1e-6"},
    "rotated-normalised": {"rotary": {"rotations": [["5/13", "12/13"]]}, "key_norm": [1, 1], "norm_epsilon": "1/8"},
    "plain": {},
}


# Positive roots, by Euclid's algorithm and Sturm's theorem on lists of fractions.
def trimmed(p):
    while p and p[-1] == 0:
        p = p[:-1]
    return p


def remainder(a, b):
    a = list(a)
    while len(a) >= len(b):
        factor = a[-1] / b[-1]
        a = trimmed([x - factor * y for x, y in zip(a, [Q(0)] * (len(a) - len(b)) + list(b))][:-1])
    return a


def greatest_divisor(a, b):
    while b:
        a, b = b, remainder(a, b)
    return [x / a[-1] for x in a]


def positive_root_exists(p):
    """Sturm's theorem on (0, infinity), p(0) made nonzero; roots may be multiple."""
    while p[0] == 0:
        p = p[1:]
    chain = [p, trimmed([i * x for i, x in enumerate(p)][1:])]
    while chain[-1]:
        chain.append([-x for x in remainder(chain[-2], chain[-1])])

    def changes(values):
        signs = [x > 0 for x in values if x != 0]
        return sum(a != b for a, b in zip(signs, signs[1:]))

    chain = [q for q in chain if q]
    return changes(q[0] for q in chain) > changes(q[-1] for q in chain)


def is_reached(values, keys, point):
    common = []
    for c, p in enumerate(point):
        equation = [Q(0)] * (max(keys) - min(keys) + 1)
        for value, key in zip(values, keys):
            equation[key - min(keys)] += value[c] - p
        equation = trimmed(equation)
        common = greatest_divisor(common, equation) if common and equation else common or equation
    return not common or positive_root_exists(common)


class Certificates(CommandLine):
    def weights(self, rng):
        def heads(rows, alike):
            one = [[rng.randint(-1, 1) for _ in range(2)] for _ in range(rows)]
            return [one if alike else [[rng.randint(-1, 1) for _ in range(2)] for _ in range(rows)] for _ in range(2)]

        document = {"key_weight": heads(2, rng.random() < 0.3), "value_weight": heads(1, rng.random() < 0.8),
                    "query_weight": heads(2, False)}  # fmt: skip
        if rng.random() < 0.5:
            document["query_weight"] = [[q[0], [0, 0]] for q in document["query_weight"]]
            document["key_weight"] = [[[0, 0], k[1]] for k in document["key_weight"]]
        if rng.random() < 0.3:
            document["query_bias"] = [[rng.randint(-1, 1), 0] for _ in range(2)]
        return document

    def write_all(self):
        """One folder for each command's certificates."""
        rng = random.Random(1)
        self.run_program("claims", "--certificates", self.folder / "claims", status=HOLDS)
        for number, (name, layer) in enumerate(list(LAYERS.items()) * 3):
            path = self.folder / "weights.json"
            document = self.weights(rng)
            if number % 2 == 0 and "normalised" not in name:
                document["key_bias"] = [[rng.randint(0, 1), 1] for _ in range(2)]
            path.write_text(json.dumps(document))
            words = [str(program()), "pool", str(path), "--layer", json.dumps(layer),
                     "--certificates", str(self.folder / f"pool-{number}")]  # fmt: skip
            result = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertIn(result.returncode, (HOLDS, WRONG), result.stderr)
        for number in range(12):
            values = ";".join(",".join(str(rng.randint(-3, 3)) for _ in range(1 + number % 2)) for _ in range(4))
            point = ",".join(rng.choice(("0", "1/2", "1")) for _ in range(1 + number % 2))
            keys = ";".join(str(rng.randint(0, 4)) for _ in range(4))
            words = [str(program()), "attain", f"--values={values}", f"--point={point}", f"--keys={keys}",
                     "--certificate", str(self.folder / f"attain-{number}.json")]  # fmt: skip
            result = subprocess.run(words, capture_output=True, text=True, check=False)
            self.assertIn(result.returncode, (HOLDS, WRONG), f"{words} {result.stderr}")
        group = ["rank", "--group-size", 3, "--positions", 5, "--value-size", 2]
        for number, more in enumerate(([], ["--tied"], ["--constant-column"], ["--softmax-reachable", "--causal"],
                                       ["--model-size", 4], ["--model-size", 1, "--tied"])):  # fmt: skip
            self.run_program(*group, *more, "--certificates", self.folder / f"rank-{number}", status=HOLDS)
        cache = ["--layers", 2, "--q-heads", 4, "--kv-heads", 2, "--head-size", 8, "--type", "float16"]
        self.run_program("ledger", *cache, "--positions", 7, "--certificate", self.folder / "ledger.json", status=HOLDS)
        # One of the trained groups stands for all: the second checker takes seconds for each.
        def is_taken(path):
            return path.name != "weights.json" and (MANY > 1 or not re.search(r"claim-gg-(?!1\.json)", path.name))

        return sorted(filter(is_taken, self.folder.rglob("*.json")))

    def test_a_second_checker_agrees_on_all_and_on_mutations(self):
        paths = self.write_all()
        self.assertGreater(len(paths), 150)
        self.run_program("check", *paths, status=HOLDS)
        words = [sys.executable, str(project() / "tests/oracle/check_certificates.py"), "--against", str(program()),
                 "--mutations", str(1000 * MANY), *map(str, paths)]  # fmt: skip
        result = subprocess.run(words, capture_output=True, text=True, check=False)
        self.assertEqual(result.returncode, 0, result.stdout[-4000:] + result.stderr[-2000:])
        self.assertIn(" 0 disagreements", result.stdout)

    def test_questions_of_one_key_coordinate_are_decided_as_by_sturm(self):
        rng, answers = random.Random(2), set()
        for _ in range(60 * MANY):
            count, size = rng.randint(2, 6), rng.randint(1, 2)
            values = [[rng.randint(-4, 4) for _ in range(size)] for _ in range(count)]
            keys = [rng.randint(-4, 4) for _ in range(count)]
            base = Q(rng.randint(1, 5), rng.randint(1, 5))
            weights = [base**key if rng.random() < 0.9 else Q(rng.randint(1, 9)) for key in keys]
            point = [sum(w * v[c] for w, v in zip(weights, values)) / sum(weights) for c in range(size)]
            words = ["attain", "--values=" + ";".join(",".join(map(str, v)) for v in values),
                     "--keys=" + ";".join(map(str, keys)), "--point=" + ",".join(map(str, point))]  # fmt: skip
            expected = is_reached(values, keys, point)
            self.run_program(*words, status=HOLDS if expected else WRONG)
            answers.add(expected)
        self.assertEqual(answers, {True, False})


class StatementsTable(CommandLine):
    """docs/theory.md, "Every statement of four texts"."""

    def test_no_cell_is_empty_and_verdicts_are_those_of_the_ledger(self):
        text = (project() / "docs/theory.md").read_text()
        lines = text.split("## Every statement of four texts")[1].split("\n## ")[0].split("\n")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines if line.startswith("| ")][1:]
        self.assertGreater(len(rows), 100)
        ledger = {c["id"]: c["verdict"] for c in self.run_json("claims", status=HOLDS)["claims"]}
        cited = set()
        for row in rows:
            self.assertEqual(len(row), 6, row)
            self.assertTrue(all(row), row)
            claims = re.findall(r"\((\w+)\)", row[3])
            cited.update(claims)
            self.assertEqual(row[3] == "none", not claims, row)
            verdicts = {ledger[claim] for claim in claims}
            if claims:
                self.assertEqual(set(row[4].split(", ")), verdicts, row)
            else:
                self.assertIn(row[4], ("definition", "computed", "empirical", "advice", "not decided"), row)
        # Merging of partial results is in none of the four.
        self.assertEqual(set(ledger) - cited, {"cc"})
