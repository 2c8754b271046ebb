"""gqaverify audit: recorded gradients beside output or alone, and what is wrong with them."""

import math
import subprocess
import xml.etree.ElementTree

import safetensors_file
from command_line import BAD_INPUT, HOLDS, WRONG, CommandLine, program
from html_page import Page, faults_of


def attention_gradients(q, k, v, g, scale):
    """One history, q [H][T][dk], k [S][dk], v [S][dv], g [H][T][dv]; (dq, dk of each head, dv of
    each head), in Python's floats, causal from the bottom right. One loop per index."""
    dot = lambda a, b: math.fsum(x * y for x, y in zip(a, b))
    dq, dks, dvs = [], [], []
    for head in range(len(q)):
        dk = [[0.0] * len(k[0]) for _ in k]
        dv = [[0.0] * len(v[0]) for _ in v]
        dq.append([])
        for i, row in enumerate(q[head]):
            seen = range(i + len(k) - len(q[head]) + 1)
            scores = [scale * dot(row, k[j]) for j in seen]
            top = max(scores)
            weights = [math.exp(s - top) for s in scores]
            total = math.fsum(weights)
            weights = [w / total for w in weights]
            along = [dot(g[head][i], v[j]) for j in seen]
            delta = dot(weights, along)
            ds = [w * (a - delta) for w, a in zip(weights, along)]
            dq[head].append([scale * dot(ds, [k[j][t] for j in seen]) for t in range(len(row))])
            for j in seen:
                for t, x in enumerate(row):
                    dk[j][t] += scale * ds[j] * x
                for c, x in enumerate(g[head][i]):
                    dv[j][c] += weights[j] * x
        dks.append(dk)
        dvs.append(dv)
    return dq, dks, dvs


def flat(values):
    return [x for value in values for x in flat(value)] if isinstance(values, list) else [values]


def summed(parts):
    return [[math.fsum(column) for column in zip(*rows)] for rows in zip(*parts)]


def pattern(rows, columns, seed):
    """Numbers that binary32 holds."""
    return [[((r * 7 + c * 13 + seed * 29) % 33 - 16) / 8 for c in range(columns)] for r in range(rows)]


class Gradients(CommandLine):
    HEADS, QUERIES, KEYS, WIDTH = 4, 3, 5, 4

    def setUp(self):
        super().setUp()
        self.q = [pattern(self.QUERIES, self.WIDTH, h) for h in range(self.HEADS)]
        self.k = pattern(self.KEYS, self.WIDTH, 11)
        self.v = pattern(self.KEYS, self.WIDTH, 17)
        self.g = [pattern(self.QUERIES, self.WIDTH, 23 + h) for h in range(self.HEADS)]
        self.dq, self.dk, self.dv = attention_gradients(self.q, self.k, self.v, self.g, 0.5)

    def recording(self, name="gradients.safetensors", **more):
        by_query = [1, self.HEADS, self.QUERIES, self.WIDTH]
        by_key = [1, 1, self.KEYS, self.WIDTH]
        tensors = {
            "query": (by_query, flat(self.q)),
            "key": (by_key, flat(self.k)),
            "value": (by_key, flat(self.v)),
            "grad_output": (by_query, flat(self.g)),
            "grad_query": (by_query, flat(self.dq)),
            "grad_key": (by_key, flat(summed(self.dk))),
            "grad_value": (by_key, flat(summed(self.dv))),
        }
        for key, value in more.items():
            if value is None:
                del tensors[key]
            else:
                tensors[key] = (tensors[key][0] if key in tensors else by_query, value)
        path = self.folder / name
        safetensors_file.write(path, {"attention": '{"causal": true}'}, tensors)
        return path

    def test_right_gradients_pass_whatever_the_tolerance(self):
        path = self.recording()
        for flags in ([], ["--no-filter"], ["--model", "f32"], ["--atol", 1e-5], ["--max-ulp", 4096]):
            case = self.run_json("audit", *flags, path, status=HOLDS)["cases"][0]
            found = [(o["name"], o["verdict"], o["elements"]) for o in case["outputs"]]
            self.assertEqual(
                found,
                [("grad_query", "pass", 48), ("grad_key", "pass", 20), ("grad_value", "pass", 20)],
            )
            self.assertEqual(case["diagnosis"]["status"], "none")
        out = self.run_program("audit", path, status=HOLDS).stdout
        self.assertIn("grad_query: 48 elements", out)
        self.assertIn("grad_value: pass, 20 elements", out)

    def test_the_page_maps_the_errors_of_every_gradient(self):
        path = self.recording(grad_key=flat(self.dk[0]))
        html = self.folder / "page.html"
        self.run_program("audit", path, "--html", html, status=WRONG)
        page = Page(html.read_text(encoding="utf-8"))
        self.assertEqual(faults_of(page), [])
        text = page.text()
        for name in ("grad_query", "grad_key", "grad_value"):
            self.assertIn(f"Errors of {name}", text)
        self.assertEqual(text.count("query heads down (b: batch entry, h: head), query rows across"), 1)
        self.assertEqual(text.count("KV heads down (b: batch entry, h: head), keys across"), 2)
        self.assertEqual(text.count("Histogram of certified errors in ulp"), 3)
        # The verdict's own words are of what fails, not of the first output.
        banner = page.text(next(e for e in page.all("div") if (e.get("class") or "").startswith("banner")))
        self.assertIn("20 of 20 elements of grad_key violate the tolerance.", banner)
        self.assertNotIn("of what is allowed", banner)
        self.assertLess(text.index("Errors of grad_key"), text.index("Errors of grad_query"))
        # The worst elements of the gradient that fails, and none of the one that passes.
        self.assertEqual(text.count("The worst elements: batch entry, KV head, key, column"), 1)
        after = text.split("Errors of grad_key")[1].split("Errors of grad_value")
        self.assertIn("The worst elements", after[0])
        self.assertNotIn("The worst elements", after[1])

    def test_gradients_that_are_not_summed_are_named(self):
        for head in (0, self.HEADS - 1):
            path = self.recording(grad_key=flat(self.dk[head]), grad_value=flat(self.dv[head]))
            for flags in ([], ["--no-filter"], ["--atol", 1e-5]):
                case = self.run_json("audit", *flags, path, status=WRONG)["cases"][0]
                self.assertEqual([o["verdict"] for o in case["outputs"]], ["pass", "fail", "fail"])
                self.assertEqual(case["outputs"][1]["strength"], "proved")
                diagnosis = case["diagnosis"]
                self.assertEqual(diagnosis["status"], "named")
                self.assertEqual(
                    [(e["tensor"], e["descriptions"]) for e in diagnosis["explanations"]],
                    [
                        (name, [f"gradient.not_summed (query head {head} of each group)"])
                        for name in ("grad_key", "grad_value")
                    ],
                )
            out = self.run_program("audit", path, status=WRONG).stdout
            self.assertIn("holds only one query head's part", out)
            self.assertIn("20 violations, proved: beyond the worst case of f32: all of batch 0, every KV head", out)

    def test_means_and_scales_are_named(self):
        mean = [x / self.HEADS for x in flat(summed(self.dk))]
        path = self.recording(grad_key=mean, grad_query=[2 * x for x in flat(self.dq)])
        case = self.run_json("audit", path, status=WRONG)["cases"][0]
        self.assertEqual(
            [(e["tensor"], e["faults"]) for e in case["diagnosis"]["explanations"]],
            [
                ("grad_query", ["gradient.scale_missing"]),
                ("grad_key", ["gradient.averaged"]),
            ],
        )
        path = self.recording(grad_value=[x + 1 for x in flat(summed(self.dv))])
        case = self.run_json("audit", path, status=WRONG)["cases"][0]
        self.assertEqual(case["diagnosis"]["status"], "unexplained")

    def test_what_is_missing_is_named(self):
        result = self.run_program("audit", self.recording(grad_output=None), status=BAD_INPUT)
        self.assertIn("grad_output", result.stdout)
        self.assertIn("[contract.missing_tensor]", result.stdout)
        path = self.recording(grad_query=None, grad_key=None, grad_value=None)
        result = self.run_program("audit", path, status=BAD_INPUT)
        self.assertIn(f"{path}: output: is needed and absent", result.stdout)

    def test_beside_an_output_and_in_junit(self):
        # Equal scores nowhere: the output is made as the program needs it, in Python's floats.
        output = []
        for head in range(self.HEADS):
            for i, row in enumerate(self.q[head]):
                seen = range(i + self.KEYS - self.QUERIES + 1)
                weights = [math.exp(0.5 * math.fsum(a * b for a, b in zip(row, self.k[j]))) for j in seen]
                total = math.fsum(weights)
                for c in range(self.WIDTH):
                    output.append(math.fsum(w * self.v[j][c] for w, j in zip(weights, seen)) / total)
        path = self.recording(output=output, grad_value=flat(self.dv[0]))
        target = self.folder / "report.xml"
        words = [str(program()), "audit", "--junit", str(target), str(path)]
        result = subprocess.run(words, capture_output=True, timeout=300, check=False)
        self.assertEqual(result.returncode, WRONG, result.stderr)
        suite = xml.etree.ElementTree.parse(target).getroot().find("testsuite")
        self.assertEqual(
            [(case.get("name"), len(case)) for case in suite],
            [("output", 0), ("grad_query", 0), ("grad_key", 0), ("grad_value", 1)],
        )
        self.assertIn("gradient.not_summed", suite[3].find("failure").get("message"))

    def test_a_journal_goes_on_and_another_gradient_is_refused(self):
        path = self.recording()
        journal = self.folder / "audit.journal"
        first = self.run_json("audit", "--journal", journal, path, status=HOLDS)
        again = self.run_json("audit", "--journal", journal, path, status=HOLDS)
        self.assertEqual(first, again)
        self.recording(grad_key=flat(self.dk[0]))
        result = self.run_program("audit", "--journal", journal, path, status=BAD_INPUT)
        self.assertIn("grad_key", result.stderr + result.stdout)

    def test_a_sample_leaves_gradients_whole(self):
        case = self.run_json("audit", "--sample", 2, "--seed", 1, self.recording(), status=HOLDS)["cases"][0]
        self.assertEqual([o["elements"] for o in case["outputs"]], [48, 20, 20])

    def test_packed_documents_have_their_own_gradients(self):
        # The same pass twice, one behind the other.
        rows = lambda heads: [[flat(heads[h][i]) for h in range(len(heads))] for i in range(len(heads[0]))]
        keys = lambda matrix: [[row] for row in matrix]
        shapes = {
            "query": rows(self.q), "grad_output": rows(self.g), "grad_query": rows(self.dq),
            "key": keys(self.k), "value": keys(self.v),
            "grad_key": keys(summed(self.dk)), "grad_value": keys(summed(self.dv)),
        }
        tensors = {
            name: ([2 * len(value), len(value[0]), self.WIDTH], flat(value) * 2)
            for name, value in shapes.items()
        }
        tensors["cu_seqlens_q"] = ([3], [0, self.QUERIES, 2 * self.QUERIES], "I32")
        tensors["cu_seqlens_k"] = ([3], [0, self.KEYS, 2 * self.KEYS], "I32")
        path = self.folder / "packed.safetensors"
        metadata = {"attention": '{"layout": "THD", "causal": true}'}
        safetensors_file.write(path, metadata, tensors)
        cases = self.run_json("audit", path, status=HOLDS)["cases"]
        self.assertEqual([len(case["outputs"]) for case in cases], [3, 3])
        part = flat(keys(self.dk[1]))
        tensors["grad_key"] = (tensors["grad_key"][0], part * 2)
        safetensors_file.write(path, metadata, tensors)
        cases = self.run_json("audit", path, status=WRONG)["cases"]
        named = [case["diagnosis"] for case in cases if "diagnosis" in case]
        self.assertEqual(named[0]["explanations"][0]["faults"], ["gradient.not_summed"])
        # Keys without a query row would be looked at by nobody.
        tensors["cu_seqlens_q"] = ([3], [0, 2 * self.QUERIES, 2 * self.QUERIES], "I32")
        safetensors_file.write(path, metadata, tensors)
        result = self.run_program("audit", path, status=BAD_INPUT)
        self.assertIn("[contract.packed_tensor]", result.stdout)
