"""gqaverify audit --sample: what is chosen, and that every report says so."""

import subprocess
import xml.etree.ElementTree

import long_problem
import safetensors_file
from command_line import BAD_INPUT, HOLDS, USAGE, WRONG, CommandLine, program, recordings


def split_mix_64(seed):
    """Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014."""
    mask = 2**64 - 1
    while True:
        seed = (seed + 0x9E3779B97F4A7C15) & mask
        z = seed
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & mask
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & mask
        yield z ^ (z >> 31)


def chosen_rows(rows, of, seed):
    """Floyd's choice of `rows` numbers below `of`, as the documentation states it."""
    source, chosen = split_mix_64(seed), set()
    for last in range(of - rows, of):
        n = last + 1
        drawn = next(z for z in source if z >= 2**64 % n) % n
        chosen.add(last if drawn in chosen else drawn)
    return chosen


class Sample(CommandLine):
    def test_the_rows_are_those_of_the_stated_generator(self):
        # A row of the output is (head, query row): broken ones are those that were chosen.
        path = recordings()[0]
        metadata, tensors = safetensors_file.read(path)
        shape, output = tensors["output"]
        batch, heads, queries, width = shape
        of = batch * heads * queries
        for seed in (0, 7, 2**64 - 1):
            chosen = chosen_rows(5, of, seed)
            for broken, status in ((set(range(of)) - chosen, HOLDS), (chosen, WRONG)):
                changed = [
                    x + 1 if i // width in broken else x for i, x in enumerate(output)
                ]
                target = self.folder / "case.safetensors"
                safetensors_file.write(target, metadata, tensors | {"output": (shape, changed)})
                for flags in ([], ["--no-filter"], ["--threads", 1]):
                    sample = ["--sample", 5, "--seed", seed]
                    case = self.run_json("audit", *sample, *flags, target, status=status)["cases"][0]
                    self.assertEqual(case["sample"], {"rows": 5, "of": of, "seed": seed})
                    self.assertEqual(case["elements"], 5 * width)
                    self.assertEqual(case["violations"], 5 * width if status == WRONG else 0)

    def test_every_report_says_that_it_is_a_sample(self):
        path = recordings()[0]
        target = self.folder / "report.xml"
        out = self.run_program(
            "audit", "--sample", 9, "--seed", 7, "--junit", target, path, status=HOLDS
        ).stdout
        self.assertRegex(out, r"pass on a sample of 9 of \d+ rows \(seed 7\): the other rows were not")
        self.assertTrue(out.endswith("1 of 1 passed on samples\n"), out)
        suite = xml.etree.ElementTree.parse(target).getroot().find("testsuite")
        self.assertRegex(suite[0].get("name"), r"^output \(a sample of 9 of \d+ rows \(seed 7\)\)$")
        for words in (["audit", path], ["audit", "--junit", target, path]):
            whole = self.run_json(*words, status=HOLDS)["cases"][0]
            self.assertNotIn("sample", whole)
        self.assertNotIn("a sample of", target.read_text())

    def test_outputs_by_row_are_sampled_and_caches_are_whole(self):
        path = long_problem.write(self.folder / "case.safetensors", queries=40, keys=8)
        metadata, tensors = safetensors_file.read(path)
        tensors["present_key"] = tensors["key"]
        safetensors_file.write(path, metadata, tensors)
        outputs = self.run_json("audit", "--sample", 10, path, status=WRONG)["cases"][0]["outputs"]
        counted = {output["name"]: output["elements"] for output in outputs}
        width, rows = long_problem.WIDTH, 10
        keys = long_problem.KV_HEADS * 8 * width
        self.assertEqual(counted, {"output": rows * width, "present_key": keys, "lse": rows})

    def test_more_rows_than_there_are_is_all_of_them(self):
        path = recordings()[0]
        whole = self.run_json("audit", path, status=HOLDS)["cases"][0]
        case = self.run_json("audit", "--sample", 10**9, path, status=HOLDS)["cases"][0]
        self.assertEqual(case["elements"], whole["elements"])
        self.assertEqual(case["sample"]["rows"], case["sample"]["of"])

    def test_wrong_values(self):
        path = recordings()[0]
        for flags in (["--sample", 0], ["--sample=-1"], ["--sample", "x"], ["--seed", 1]):
            self.run_program("audit", *flags, path, status=USAGE)
        # The words of the usage message do not end up in a report.
        result = subprocess.run(
            [str(program()), "audit", "--sample", "1", str(self.folder)],
            capture_output=True,
            check=False,
        )
        self.assertEqual(result.returncode, BAD_INPUT)
