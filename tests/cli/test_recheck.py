"""audit --witness, and the two checkers that decide its witnesses again: true ones are confirmed, lies are not.

$GQAVERIFY_RECHECK names gqaverify-recheck; beside the program it is found in the build tree, too.
"""

import copy
import json
import os
import subprocess
import sys

import safetensors_file
from command_line import BAD_INPUT, HOLDS, USAGE, WRONG, CommandLine, program, project, recordings
from test_trained_model import trained_model_layers


def checkers():
    built = os.environ.get("GQAVERIFY_RECHECK", program().parent.parent / "recheck/gqaverify-recheck")
    return {"C++": [str(built)], "Python": [sys.executable, str(project() / "recheck/recheck.py")]}


def elements(witness):
    """(case, output, row, element) of a witness."""
    for case in witness["cases"]:
        for output in case.get("outputs", []):
            for row in output.get("rows", []):
                for element in row["elements"]:
                    yield case, output, row, element


def other_bit(word):
    """Bits that differ in the lowest place."""
    return f"{int(word, 16) ^ 1:x}"


def doubled(number):
    digits, exponent = number.split("p")
    return f"{digits}p{int(exponent) + 1}"


# Each makes one statement of a true witness false.
def lie_verdict(case, output, row, element):
    violated = element["verdict"] == "violation"
    element["verdict"], element["strength"] = ("within", "none") if violated else ("violation", "proved")


def lie_output_bit(case, output, row, element):
    element["output"] = other_bit(element["output"])


def lie_head_map(case, output, row, element):
    case["contract"]["head_map"] = "contiguous" if case["contract"]["head_map"] != "contiguous" else "interleaved"


def lie_window(case, output, row, element):
    case["contract"]["window"] = [1, -1]


def lie_causal(case, output, row, element):
    case["contract"]["causal"] = not case["contract"]["causal"]


def lie_scale(case, output, row, element):
    case["contract"]["scale"] = "1/3"


def lie_tolerance(case, output, row, element):
    tolerance = output["tolerance"]
    change = {"model": {"model": "bf16-f32"}, "ulp": {"max_ulp": "1"}, "absolute_relative": {"atol": "1/100"}}
    tolerance.update(change[tolerance["kind"]])


def lie_allowance(case, output, row, element):
    for name in ("allowed", "likely"):
        if name in element:
            element[name] = [doubled(end) for end in element[name]]


def lie_units(case, output, row, element):
    units = output["tolerance"].get("units")
    if units is None:
        element["allowed"] = [doubled(end) for end in element["allowed"]]
    else:
        units["score"] = doubled(units["score"])


def lie_operand(case, output, row, element):
    words = row["query"].split()
    row["query"] = " ".join([other_bit(words[0]), *words[1:]])


def lie_key(case, output, row, element):
    last = str(row["visible"][-1])
    words = row["keys"][last].split()
    row["keys"][last] = " ".join([*words[:-1], other_bit(words[-1])])


def lie_value(case, output, row, element):
    words = element["values"].split()
    element["values"] = " ".join([other_bit(words[0]), *words[1:]])


def lie_dropped_key(case, output, row, element):
    del row["keys"][str(row["visible"].pop())]
    for each in row["elements"]:
        each["values"] = each["values"].rsplit(" ", 1)[0]


LIES = [lie_verdict, lie_output_bit, lie_head_map, lie_window, lie_causal, lie_scale, lie_tolerance, lie_allowance,
        lie_units, lie_operand, lie_key, lie_value, lie_dropped_key]


def onnx_cases():
    """The 47 attention tests of ONNX 1.18.0: under $GQAVERIFY_DATA, or in shared/data beside the project."""
    for place in filter(None, (os.environ.get("GQAVERIFY_DATA"), project().parent / "shared/data")):
        folder = os.path.join(place, "onnx-attention/v1.18.0")
        if os.path.isdir(folder):
            return folder
    return None


class Recheck(CommandLine):
    def setUp(self):
        super().setUp()
        self.witness = self.folder / "witness.json"

    def audit(self, *arguments, status):
        self.run_program("audit", *arguments, "--witness", self.witness, status=status)
        return json.loads(self.witness.read_text())

    def recheck(self, words, *arguments, status):
        command = [*words, *map(str, arguments)]
        result = subprocess.run(command, capture_output=True, text=True, timeout=600, check=False)
        self.assertEqual(result.returncode, status, f"{command}\n{result.stdout[-3000:]}\n{result.stderr[-3000:]}")
        return result.stdout

    def assert_confirmed(self, count, *arguments):
        """Both checkers confirm so many elements, and leave nothing."""
        for words in checkers().values():
            out = self.recheck(words, self.witness, *(arguments if words == checkers()["C++"] else []), status=0)
            self.assertEqual(out.splitlines()[-1].split(",")[0], f"{count} confirmed", out[-500:])

    def assert_rejected(self, witness, name):
        false = self.folder / "false.json"
        false.write_text(json.dumps(witness))
        for language, words in checkers().items():
            out = self.recheck(words, false, status=1)
            self.assertIn("\nREJECTED: ", "\n" + out, f"{name} in {language}")

    def first(self, witness, wanted=lambda row: True):
        """A witness of one element, of a row as `wanted`."""
        witness = copy.deepcopy(witness)
        case, output, row, element = next(
            found for found in elements(witness) if found[1]["name"] == "output" and wanted(found[2]))
        row["elements"], output["rows"], case["outputs"], witness["cases"] = [element], [row], [output], [case]
        self.assertEqual(len(list(elements(witness))), 1)
        return witness

    def test_passing_and_failing_recordings_are_confirmed_beside_the_recordings_too(self):
        beside = [word for path in recordings() for word in ("--recording", path)]
        for flags, status in (([], HOLDS), (["--head-map", "interleaved"], WRONG)):
            witness = self.audit(*flags, *recordings(), status=status)
            count = len(list(elements(witness)))
            self.assertGreaterEqual(count, 5 * 8)
            self.assert_confirmed(count, *beside)
            verdicts = {element["verdict"] for *_, element in elements(witness)}
            self.assertEqual(verdicts, {"within"} if status == HOLDS else {"violation"})

    def test_stated_tolerances_are_confirmed(self):
        for flags, status in ((["--atol", "1e-7", "--rtol", "1e-7"], WRONG), (["--max-ulp", 3], WRONG),
                              (["--atol", "1/100"], HOLDS), (["--model", "f64"], WRONG),
                              (["--model", "f64", "--accept", "worst-case"], WRONG)):
            witness = self.audit(*flags, "--no-diagnosis", *recordings(), status=status)
            self.assert_confirmed(len(list(elements(witness))))

    def test_keys_scores_and_values_that_repeat_are_confirmed(self):
        metadata, tensors = safetensors_file.read(next(p for p in recordings() if p.stem == "gqa_prefill"))
        shape, numbers = tensors["query"]
        for name in ("key", "value"):
            keys, width = tensors[name][0][2:]
            rows = [tensors[name][1][n : n + width] for n in range(0, len(tensors[name][1]), width)]
            kinds = [rows[n // keys * keys + n % 3] for n in range(len(rows))]
            tensors[name] = (tensors[name][0], [x for row in kinds for x in row])
        # The second half of the rows: a query that sees nothing, so that other keys have its score, too.
        half = [0.0 if n // shape[3] % shape[2] >= shape[2] // 2 else x for n, x in enumerate(numbers)]
        tensors["query"] = (shape, half)
        tensors["lse"] = (shape[:3], [1.0] * (len(numbers) // shape[3]))
        for slopes in (None, [2.0 ** -h for h in range(shape[1])]):
            if slopes:
                tensors["alibi_slopes"] = ([shape[1]], slopes)
            path = self.folder / "repeats.safetensors"
            safetensors_file.write(path, metadata, tensors)
            for model in ("f32", "tf32", "f16-f32"):
                witness = self.audit(path, "--model", model, "--no-diagnosis", status=WRONG)
                self.assert_confirmed(len(list(elements(witness))))

    def test_every_lie_is_rejected(self):
        # One wrong element, of a row that every lie is about: the maps differ for head 3, and of 24 keys
        # it sees 11 by the causal rule alone.
        metadata, tensors = safetensors_file.read(next(p for p in recordings() if p.stem == "gqa_prefill"))
        shape, numbers = tensors["output"]
        numbers[((0 * shape[1] + 3) * shape[2] + 10) * shape[3] + 5] += 1
        path = self.folder / "wrong.safetensors"
        safetensors_file.write(path, metadata, tensors)
        there = lambda row: (row["head"], row["row"], len(row["visible"])) == (3, 10, 11)
        for flags in ([], ["--atol", "1e-7", "--rtol", "1e-3"], ["--max-ulp", 2**20]):
            true = self.first(self.audit(*flags, "--no-diagnosis", path, status=WRONG), there)
            self.witness.write_text(json.dumps(true))
            self.assert_confirmed(1)
            for lie in LIES:
                false = copy.deepcopy(true)
                lie(*next(elements(false)))
                self.assertNotEqual(false, true, lie.__name__)
                self.assert_rejected(false, lie.__name__)

    def test_the_verdict_of_the_case_must_be_that_of_its_elements(self):
        true = self.audit(*recordings(), status=HOLDS)
        for change in (lambda case: case.update(verdict="fail"),
                       lambda case: case["outputs"][0].update(verdict="fail")):
            false = copy.deepcopy(true)
            change(false["cases"][0])
            self.assert_rejected(false, "verdict")

    def test_what_has_no_witness_is_not_confirmed(self):
        self.audit(self.folder / "missing.safetensors", status=BAD_INPUT)
        for words in checkers().values():
            self.assertIn("not confirmed: ", self.recheck(words, self.witness, status=1))
            self.recheck(words, self.folder / "missing.json", status=3)
            self.recheck(words, status=USAGE)

    def test_other_operands_with_true_figures_are_told_by_the_recording_alone(self):
        path = next(path for path in recordings() if path.stem == "gqa_prefill")
        metadata, tensors = safetensors_file.read(path)
        for name, number in (("query", 0), ("key", -1), ("value", -1), ("output", 0)):
            forged = self.folder / path.name
            other = copy.deepcopy(tensors)
            # All numbers of that tensor, so that no witness avoids them.
            other[name] = (tensors[name][0], [x * 1.5 for x in tensors[name][1]])
            safetensors_file.write(forged, metadata, other)
            self.audit(forged, "--no-diagnosis", status=HOLDS if name == "none" else WRONG)
            self.recheck(checkers()["C++"], self.witness, status=0)
            self.recheck(checkers()["C++"], self.witness, "--recording", forged, status=0)
            out = self.recheck(checkers()["C++"], self.witness, "--recording", path, status=1)
            self.assertIn(f"the recording has other bits in {name}", out)

    def test_exchanged_kv_heads_are_told_by_the_recording_alone(self):
        path = next(path for path in recordings() if path.stem == "gqa_prefill")
        metadata, tensors = safetensors_file.read(path)
        forged = self.folder / path.name
        other = dict(tensors)
        for name in ("key", "value"):
            shape, numbers = tensors[name]
            size = shape[2] * shape[3]
            heads = [numbers[n : n + size] for n in range(0, len(numbers), size)]
            heads = [heads[n ^ 1] for n in range(len(heads))]  # of two KV heads
            self.assertEqual(shape[1], 2)
            other[name] = (shape, [x for head in heads for x in head])
        safetensors_file.write(forged, metadata, other)
        self.audit(forged, "--no-diagnosis", status=WRONG)
        self.recheck(checkers()["C++"], self.witness, status=0)
        out = self.recheck(checkers()["C++"], self.witness, "--recording", path, status=1)
        self.assertIn("the recording has other bits in key", out)

    def test_generated_problems_of_every_type_are_confirmed(self):
        kernels = os.environ.get("GQAVERIFY_KERNELS_DIR")
        if not kernels:
            self.skipTest("no kernels")
        if os.environ.get("GQA_TEST_LIGHT") == "1":
            self.skipTest("a light run")
        for kernel, status in (("plain_kernel", HOLDS), ("faulty_kernel", HOLDS)):
            arguments = ["--kernel", os.path.join(kernels, f"{kernel}.so"), "--problems", 4, "--no-diagnosis"]
            witness = self.audit(*arguments, status=status)
            self.assert_confirmed(len(list(elements(witness))))

    def test_the_trained_model_under_the_wrong_map(self):
        layers = trained_model_layers()
        if not layers:
            self.skipTest("no data")
        witness = self.audit("--causal", "--head-map", "interleaved", *layers, status=WRONG)
        self.assertEqual({case["verdict"] for case in witness["cases"]}, {"fail"})
        self.assert_confirmed(len(list(elements(witness))), *(w for path in layers for w in ("--recording", path)))

    def test_the_attention_tests_of_onnx_1_18(self):
        folder = onnx_cases()
        if folder is None:
            self.skipTest("no data")
        for flags in ([], ["--atol", "1e-7", "--rtol", "1e-3"]):
            witness = self.audit(*flags, "--no-diagnosis", folder, status=WRONG)
            verdicts = [case["verdict"] for case in witness["cases"]]
            self.assertEqual((verdicts.count("fail"), verdicts.count("pass")), (31, 16))
            self.assert_confirmed(len(list(elements(witness))))

    def test_the_file_is_written_whole_or_not_at_all(self):
        self.run_program("audit", *recordings(), "--witness", self.folder / "none/witness.json", status=BAD_INPUT)
        self.assertEqual(list(self.folder.iterdir()), [])
        with open("/dev/full", "wb") as full:
            result = subprocess.run([str(program()), "audit", *map(str, recordings()), "--witness", str(self.witness)],
                                    stdout=full, stderr=subprocess.PIPE, check=False)
        self.assertEqual(result.returncode, BAD_INPUT, result.stderr)
        self.assertEqual([path.name for path in self.folder.iterdir()], ["witness.json"])
        self.assertEqual(json.loads(self.witness.read_text())["schema"], "gqaverify.witness/1")

    def test_every_precision_model_is_known_to_both_checkers(self):
        path = next(path for path in recordings() if path.stem == "gqa_decode")
        wanted = self.run_program("audit", "--model", "none", path, status=USAGE)
        names = (wanted.stdout + wanted.stderr).split("write one of ")[1].split("\n")[0].rstrip(".").split(", ")
        self.assertIn("f32", names)
        for name in names:
            words = [program(), "audit", path, "--model", name, "--no-diagnosis", "--witness", self.witness]
            subprocess.run([str(word) for word in words], stdout=subprocess.DEVNULL, timeout=300, check=False)
            self.assert_confirmed(len(list(elements(json.loads(self.witness.read_text())))))
