"""--html: one self-contained page for every kind of report."""

import hashlib
import json
import math
import os
import unittest
from pathlib import Path

import safetensors_file
from command_line import BAD_INPUT, HOLDS, UNDECIDED, USAGE, WRONG, CommandLine, recordings
from html_page import Page, faults_of, without_origin

ATTACK = "<script>alert(1)<\u2215script>\"'&<img src=x onerror=alert(2)>"
HEADS, KV_HEADS, ROWS, WIDTH = 4, 2, 3, 2


def problem(rows=ROWS, kv_head=lambda head: head // 2, causal=True):
    """Tensors of one batch entry, and an output computed in binary64 and stored in binary32."""
    number = lambda *place: math.sin(sum((i + 1) * (n + 1) for n, i in enumerate(place)))
    query = [[[number(h, i, d) for d in range(WIDTH)] for i in range(rows)] for h in range(HEADS)]
    key = [[[number(3, h, i, d) for d in range(WIDTH)] for i in range(rows)] for h in range(KV_HEADS)]
    value = [[[number(h, i, d, 5) for d in range(WIDTH)] for i in range(rows)] for h in range(KV_HEADS)]
    rounded = lambda rank3: [[[float_of(x) for x in row] for row in head] for head in rank3]
    query, key, value = rounded(query), rounded(key), rounded(value)
    output = []
    for head in range(HEADS):
        keys, values = key[kv_head(head)], value[kv_head(head)]
        for row in range(rows):
            seen = range(row + 1 if causal else rows)
            scores = [
                sum(q * k for q, k in zip(query[head][row], keys[j])) / math.sqrt(WIDTH) for j in seen
            ]
            weights = [math.exp(score - max(scores)) for score in scores]
            for column in range(WIDTH):
                total = sum(w * values[j][column] for w, j in zip(weights, seen))
                output.append(total / sum(weights))
    flat = lambda rank3: [x for head in rank3 for row in head for x in row]
    return {
        "query": ([1, HEADS, rows, WIDTH], flat(query)),
        "key": ([1, KV_HEADS, rows, WIDTH], flat(key)),
        "value": ([1, KV_HEADS, rows, WIDTH], flat(value)),
        "output": ([1, HEADS, rows, WIDTH], output),
    }


def float_of(number):
    """The nearest binary32."""
    import struct

    return struct.unpack("<f", struct.pack("<f", number))[0]


class HtmlTest(CommandLine):
    def page(self, *arguments, status):
        path = self.folder / "page.html"
        self.run_program(*arguments, "--html", path, status=status)
        page = Page(path.read_text(encoding="utf-8"))
        self.assertEqual(faults_of(page), [])
        self.assertEqual([p for p in self.folder.iterdir() if p.name.startswith("page.html.")], [])
        return page

    def recording(self, name="kernel.safetensors", causal=True, **options):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        metadata = {"attention": json.dumps({"causal": causal})}
        safetensors_file.write(path, metadata, problem(causal=causal, **options))
        return path


class AuditPage(HtmlTest):
    def test_a_pass_says_so_with_the_contract_in_words_and_every_picture(self):
        page = self.page("audit", self.recording(), status=HOLDS)
        self.assertEqual(page.verdict(), "Pass")
        text = page.text()
        self.assertIn("contiguous: query head h reads KV head ⌊h / 2⌋", text)
        self.assertIn("keys up to the row's own position", text)
        titles = [page.text(svg.find("{http://www.w3.org/2000/svg}title")) for svg in page.all("svg")]
        self.assertTrue(any(title.startswith("Largest certified error in ulp") for title in titles), titles)
        self.assertIn("Histogram of certified errors in ulp", titles)
        self.assertIn("Declared head map", titles)
        self.assertIn("Declared", titles)
        self.assertIn("Likely bound: ", text)
        self.assertIn("worst-case bound", text)
        got = self.run_json("audit", self.folder / "kernel.safetensors", status=HOLDS)["cases"][0]
        pairs = len(got["diagnosis"]["inseparable"])
        self.assertGreater(pairs, 1)
        self.assertIn(f"These inputs cannot tell apart {pairs} pairs", text)
        self.assertEqual({row[-1].lstrip("✓✗? ") for row in page.rows_below("The worst elements")}, {"yes"})

    def test_a_tiled_head_map_is_named_and_drawn_beside_the_declared_one(self):
        page = self.page("audit", self.recording(kv_head=lambda h: h % 2), status=WRONG)
        self.assertEqual(page.verdict(), "Fail")
        self.assertIn("head_map.tiled", page.text())
        self.assertIn("the KV heads are tiled", page.text())
        # The figures that the JSON has, from the same audit.
        got = self.run_json("audit", self.folder / "kernel.safetensors", status=WRONG)["cases"][0]
        self.assertIn(f"{got['violations']} of {got['elements']} elements violate the tolerance.", page.text())
        self.assertIn("query heads 1, 2 read another KV head than declared", page.text())
        formulas = [f for e in got["diagnosis"]["explanations"] for f in e["formulas"]]
        self.assertGreater(len(formulas), 0)
        for formula in formulas:
            self.assertIn(formula, page.text())
        for element, row in zip(got["worst"], page.rows_below("The worst elements")):
            self.assertEqual(row[0], str(element["index"]))
            self.assertEqual(row[-1].lstrip("✓✗? "), "no")

    def test_a_failure_is_told_in_the_order_of_use(self):
        path = self.recording(kv_head=lambda h: h % 2)
        page = self.page("audit", path, status=WRONG)
        banner = page.text(next(e for e in page.all("div") if e.get("class") == "banner bad"))
        order = ["head_map.tiled: ", "12 of 24 elements violate", "Where: ", "Try --head-map interleaved"]
        places = [banner.index(words) for words in order]
        self.assertEqual(places, sorted(places), banner)
        headings = [page.text(h) for h in page.all("h3")]
        wanted = ["Diagnosis", "Which KV head each query head reads", "What to try next", "The contract", "Errors"]
        self.assertEqual([h for h in headings if h in wanted], wanted)
        # The flags that are told make it pass.
        self.run_program("audit", path, "--head-map", "interleaved", status=HOLDS)
        keys = list(self.run_json("audit", path, status=WRONG)["cases"][0])
        order = ["verdict", "diagnosis", "violations", "where", "fits", "contract", "elements", "error", "worst"]
        self.assertEqual([key for key in keys if key in order], order)

    def test_a_pass_says_what_it_has_shown_before_any_figure(self):
        page = self.page("audit", self.recording(), status=HOLDS)
        banner = page.text(next(e for e in page.all("div") if e.get("class") == "banner good"))
        self.assertIn("Zeros would fail in 12 of 12 rows", banner)
        self.assertRegex(banner, r"at most \d+ % of what is allowed")

    def test_what_is_open_says_why_first(self):
        tensors = problem()
        tensors["key"][1][3] = math.nan
        path = self.folder / "nan.safetensors"
        safetensors_file.write(path, {"attention": json.dumps({"causal": True})}, tensors)
        page = self.page("audit", path, status=UNDECIDED)
        banner = page.text(next(e for e in page.all("div") if e.get("class") == "banner open"))
        order = ["are open: they read NaN or infinity; key[0,0,1,1] is nan", "largest certified error"]
        places = [banner.index(words) for words in order]
        self.assertEqual(places, sorted(places), banner)

    def test_keys_that_should_not_be_seen_are_marked(self):
        path = self.folder / "kernel.safetensors"
        tensors = problem(causal=False)
        safetensors_file.write(path, {"attention": json.dumps({"causal": True})}, tensors)
        page = self.page("audit", path, status=WRONG)
        self.assertIn("causal.", page.text())
        self.assertIn("+ marks keys that should not be seen", page.text())

    def test_the_map_and_the_histogram_hold_every_element(self):
        page = self.page("audit", self.recording(), status=HOLDS)
        cells = [e for e in page.all("rect") if (e.get("class") or "").startswith("h") and len(e)]
        self.assertEqual(len(cells), HEADS * ROWS)
        self.assertIn(f"Certified errors of {HEADS * ROWS * WIDTH} elements", page.text())

    def test_without_the_filter_the_pictures_are_the_same_but_for_the_radius(self):
        path = self.recording()
        with_filter = self.page("audit", path, status=HOLDS)
        without = self.page("audit", path, "--no-filter", status=HOLDS)
        count = lambda page: sum((e.get("class") or "").startswith("h") and len(e) for e in page.all("rect"))
        self.assertEqual(count(with_filter), count(without))

    def test_names_from_files_are_text_wherever_they_stand(self):
        folder = self.folder / "attack"
        folder.mkdir()
        right = folder / f"{ATTACK}.safetensors"
        safetensors_file.write(right, {"attention": json.dumps({"causal": True})}, problem())
        unread = folder / f"{ATTACK}2.safetensors"
        safetensors_file.write(unread, {}, {ATTACK: ([1], [1.0])})
        page = self.page("audit", folder, status=BAD_INPUT)
        self.assertNotIn("<script", page.source)
        self.assertNotIn("<img", page.source)
        self.assertIn(ATTACK, page.text())
        alone = self.page("audit", right, status=HOLDS)
        self.assertNotIn("<script", alone.source)
        self.assertIn(ATTACK, alone.text())

    def test_a_name_that_is_not_text_is_shown_with_replacements(self):
        name = os.fsdecode(b"\xff\x1b[31m.safetensors")
        path = self.folder / name
        safetensors_file.write(path, {"attention": json.dumps({"causal": True})}, problem())
        page = Page(self.run_program("audit", path, "--html", "-", status=HOLDS).stdout)
        self.assertIn("\ufffd\ufffd[31m.safetensors", page.text())

    def test_many_cases_have_a_table_whose_links_lead_into_their_sections(self):
        folder = self.folder / "many"
        folder.mkdir()
        for name, kv_head in {"a": lambda h: h // 2, "b": lambda h: h % 2, "c": lambda h: 0}.items():
            self.recording(f"many/{name}.safetensors", kv_head=kv_head)
        (folder / "d.safetensors").write_bytes(b"nothing")
        page = self.page("audit", folder, status=BAD_INPUT)
        self.assertEqual(page.verdict(), "Fail, and not all could be read")
        self.assertEqual(list(page.sections()), ["faults", "cases", "details"])
        self.assertIn("head_map.tiled", page.sections()["faults"])
        rows = [page.text(row) for row in page.all("tr")]
        order = [next(i for i, row in enumerate(rows) if row.startswith(f"{n}.safetensors")) for n in "dbca"]
        self.assertEqual(order, sorted(order))
        links = [a.get("href") for a in page.all("a")]
        for number in range(1, 5):
            self.assertIn(f"#case-{number}", links)

    def test_a_long_recording_comes_in_blocks(self):
        page = self.page("audit", self.recording(rows=150), status=HOLDS)
        self.assertIn("Rows 0 to 63, by row", page.text())
        self.assertIn("Rows 128 to 149, by row", page.text())

    def test_a_sample_is_told_and_its_gaps_are_shown(self):
        page = self.page("audit", self.recording(rows=20), "--sample", "5", status=HOLDS)
        self.assertIn("a sample of 5 of 80 rows (seed 0)", page.text())
        self.assertIn("not measured", page.text())

    def test_every_stated_tolerance_is_drawn(self):
        path = self.recording()
        for flags in (["--max-ulp", "8"], ["--atol", "1e-3", "--rtol", "1/1000"], ["--model", "f32"]):
            page = self.page("audit", path, *flags, status=HOLDS)
            self.assertIn("Likely bound: " if flags[0] == "--model" else "Tolerance: ", page.text())

    def test_the_same_input_gives_the_same_bytes(self):
        path = self.recording()
        pages = {
            without_origin(self.page("audit", path, "--threads", str(n), status=HOLDS)) for n in (1, 2, 2)
        }
        self.assertEqual(len(pages), 1)

    def test_a_journal_keeps_the_map(self):
        path = self.recording(rows=150)
        journal = self.folder / "journal"
        words = ["audit", path, "--journal", journal]
        first = without_origin(self.page(*words, status=HOLDS))
        self.assertEqual(first, without_origin(self.page(*words, status=HOLDS)))
        self.assertEqual(first, without_origin(self.page("audit", path, status=HOLDS)))
        # Without a page there is no map, so this is another audit.
        result = self.run_program("audit", path, "--journal", journal, status=BAD_INPUT)
        self.assertIn("[journal.mismatch]", result.stderr)
        self.assertIn("error map", result.stderr)

    def test_the_recorded_kernel_passes(self):
        page = self.page("audit", *recordings(), status=HOLDS)
        self.assertEqual(page.verdict(), "Pass")


class OtherPages(HtmlTest):
    def test_rank_of_a_configuration_has_both_bounds_of_every_matrix(self):
        group = ["rank", "--group-size", 4, "--positions", 12, "--value-size", 2, "--constant-column"]
        page = self.page(*group, status=HOLDS)
        self.assertEqual(page.verdict(), "Proved")
        got = self.run_json(*group, status=HOLDS)["ranks"]
        rows = {row[0]: row for row in page.rows_below("The generic rank of each matrix")}
        self.assertEqual(len(rows), len(got))
        for rank in got:
            row = rows[rank["quantity"]]
            self.assertEqual(row[3:5], [str(rank["lower"]), str(rank["upper"])])
        # By hand: one constant coordinate is shared by all heads, 1 + 4 (2 - 1).
        self.assertEqual(rows["stacked output, shared values"][3:5], ["5", "5"])

    def test_rank_of_recordings_has_a_row_for_every_group(self):
        path = self.recording()
        words = ["rank", "--causal", "--recording", path]
        page = self.page(*words, status=UNDECIDED)
        self.assertEqual(page.verdict(), "Undecided")
        groups = self.run_json(*words, status=UNDECIDED)["recordings"][0]["groups"]
        self.assertEqual(len(page.rows_below("The groups")), len(groups))

    def test_identified_recordings_have_the_flags_to_copy(self):
        tiled = self.recording("a/tiled.safetensors", kv_head=lambda h: h % 2)
        page = self.page("identify", tiled, status=HOLDS)
        self.assertEqual(page.verdict(), "A contract fits")
        self.assertIn("Flags to copy: --head-map interleaved", page.text())
        self.recording("a/right.safetensors")
        (self.folder / "a/unread.safetensors").write_bytes(b"nothing")
        page = self.page("identify", self.folder / "a", status=BAD_INPUT)
        self.assertEqual(page.verdict(), "Not all could be read")
        rows = {row[0]: row[1:] for row in page.rows_below("Every recording")}
        self.assertEqual(rows["tiled.safetensors"], ["✓ found", "--head-map interleaved"])
        self.assertEqual(rows["right.safetensors"], ["✓ as declared", "none needed"])
        self.assertEqual(rows["unread.safetensors"][0], "! not read")

    def test_enumerate(self):
        page = self.page("enumerate", status=HOLDS)
        self.assertEqual(page.verdict(), "Verified")
        self.assertIn("210 of 210 cases are exactly equal", page.text())
        self.assertIn("72 of 72 controls are told apart", page.text())
        self.assertIn("35 pairs of Hq and a divisor Hkv; in 12 of them", page.text())
        self.page("enumerate", "--max-heads", "40", status=HOLDS)

    def test_claims(self):
        page = self.page("claims", "a", "u", status=HOLDS)
        self.assertEqual(page.verdict(), "All settled")
        self.assertIn("2 claims: 1 proved, 1 refuted", page.text())
        self.assertIn("why: every row-stochastic P fixes the constant column", page.text())

    def test_verify_draws_the_open_segment(self):
        page = self.page("verify", status=HOLDS)
        self.assertEqual(page.verdict(), "Verified")
        self.assertIn("The open segment between the values (4, 0) and (0, 8).", page.text())
        self.assertIn("(3, 2) is on it.", page.text())
        self.assertIn("(4, 0) is not on it.", page.text())

    def test_probe_check_without_an_answer_is_undecided(self):
        probes = self.folder / "probes"
        self.run_program("probe", "write", probes, status=HOLDS)
        page = self.page("probe", "check", probes, status=UNDECIDED)
        self.assertEqual(page.verdict(), "Undecided")


@unittest.skipUnless("GQAVERIFY_KERNELS_DIR" in os.environ, "no kernels were built")
class KernelPages(HtmlTest):
    KERNEL = ["--kernel", Path(os.environ.get("GQAVERIFY_KERNELS_DIR", "")) / "faulty_kernel.so"]

    def test_identify_has_a_part_for_every_type_and_draws_what_differs(self):
        page = self.page("identify", *self.KERNEL, "--kernel-options", "window.one_wide", status=WRONG)
        self.assertEqual(page.verdict(), "Fail")
        self.assertIn("the window is one key too wide", page.text())
        self.assertIn("+ marks keys that should not be seen", page.text())
        # What every type shows alike is told once; the figures of each are told.
        self.assertEqual(len([s for s in page.sections() if s.endswith("-rules")]), 1)
        types = len([s for s in page.sections() if s.endswith("-probes")])
        self.assertGreater(types, 1)
        self.assertEqual(len([s for s in page.sections() if s.endswith("-arithmetic")]), types)
        self.assertEqual(page.text().count("window.one_wide: the window is one key too wide (in "), 1)

    def test_a_live_kernel_is_audited_on_generated_problems(self):
        flags = [*self.KERNEL, "--type", "binary32", "--problems", "4"]
        page = self.page("audit", *flags, status=HOLDS)
        self.assertIn("4 of 4 cases passed.", page.text())

    def test_of_very_many_cases_some_are_shown_in_full_and_all_are_listed(self):
        page = self.page("audit", *self.KERNEL, "--type", "binary32", "--problems", "260", status=HOLDS)
        self.assertIn("250 of 260 cases are shown here, failures first.", page.text())
        self.assertEqual(len([d for d in page.all("div") if (d.get("class") or "").startswith("case ")]), 250)
        self.assertEqual(len([row for row in page.all("tr") if "✓ pass" in page.text(row)]), 260)


class Origin(HtmlTest):
    def test_a_page_tells_its_date_its_command_its_version_and_its_inputs(self):
        path = self.recording()
        os.environ["SOURCE_DATE_EPOCH"] = "86400"
        self.addCleanup(os.environ.pop, "SOURCE_DATE_EPOCH")
        page = self.page("audit", path, "--atol", "1/1000", status=HOLDS)
        origin = page.text(next(e for e in page.all("section") if e.get("id") == "origin"))
        self.assertIn("1970-01-02 00:00 UTC", origin)
        self.assertIn(f"gqaverify audit {path} --atol 1/1000 --html", origin)
        self.assertRegex(origin, r"gqaverify \d+\.\d+\.\d+")
        self.assertIn(hashlib.sha256(path.read_bytes()).hexdigest(), origin)
        # The same date, command and files: the same bytes.
        self.assertEqual(page.source, self.page("audit", path, "--atol", "1/1000", status=HOLDS).source)

    def test_a_word_of_the_command_can_be_pasted_and_is_text(self):
        path = self.recording(f"it's {ATTACK}.safetensors")
        page = self.page("audit", path, status=HOLDS)
        command = next(page.text(e) for e in page.all("code") if page.text(e).startswith("gqaverify audit"))
        self.assertIn("'\\''", command)
        self.assertIn("<script>", command)  # as text: faults_of found no such element

    def test_a_directory_has_the_digest_of_each_of_its_files(self):
        first = self.recording("many/a.safetensors")
        self.recording("many/b.safetensors", rows=4)
        page = self.page("audit", self.folder / "many", status=HOLDS)
        digests = [row[1] for row in page.rows_below("Files that were read")]
        self.assertEqual(len(set(digests)), 2)
        self.assertEqual(digests[0], hashlib.sha256(first.read_bytes()).hexdigest())


class ManyCases(HtmlTest):
    def corpus(self, count):
        self.recording("tiled.safetensors", kv_head=lambda head: head % 2)
        self.recording("right.safetensors", rows=64)
        (self.folder / "many").mkdir()
        for number in range(count):
            name = "tiled" if number % 40 == 0 else "right"
            (self.folder / f"many/{number:03}.safetensors").symlink_to(self.folder / f"{name}.safetensors")
        return self.folder / "many"

    def test_four_hundred_are_below_three_megabytes_and_can_be_filtered_without_a_script(self):
        page = self.page("audit", self.corpus(400), status=WRONG)
        self.assertLess(len(page.source.encode()), 3_000_000)
        choices = [page.text(label).strip() for label in page.all("label")]
        self.assertEqual(choices, ["all (400)", "fail (10)", "pass (390)"])
        rows = [row.get("class") for row in page.all("tr") if (row.get("class") or "").startswith("v-")]
        self.assertEqual((rows.count("v-fail"), rows.count("v-pass")), (10, 390))
        for word in ("fail", "pass"):
            self.assertIn(f"body:has(#show-{word}:checked) tr[class^=v-]:not(.v-{word})", page.source)
        self.assertIn("cannot show every fault", page.text())
        self.assertRegex(page.text(), r"250 of 400 cases are shown here, failures first\. \d+ without pictures")


    def test_what_no_known_fault_explains_is_not_told_as_named(self):
        folder = self.corpus(20)
        noisy = problem(rows=20)
        noisy["output"] = (noisy["output"][0], [x + math.sin(13 * i) / 99 for i, x in enumerate(noisy["output"][1])])
        path = folder / "noisy.safetensors"
        safetensors_file.write(path, {"attention": json.dumps({"causal": True})}, noisy)
        status = self.run_json("audit", path, status=WRONG)["cases"][0]["diagnosis"]["status"]
        self.assertIn(status, ("located", "unexplained"))
        page = self.page("audit", folder, status=WRONG)
        self.assertNotIn("Every failure is explained", page.text())
        self.assertIn("1 of the failures is explained by named faults.", page.text())
        rows = {row[0]: row[1:] for row in page.rows_below("What explains the failures")}
        self.assertEqual({name: row[0] for name, row in rows.items()}, {"head_map.tiled": "1", status: "1"})
        self.assertIn("No known fault explains it", rows[status][1])

    def test_long_tables_alone_have_the_script_that_sorts_them(self):
        page = self.page("audit", self.corpus(8), status=WRONG)
        self.assertEqual(len(page.all("script")), 1)  # faults_of compared its digest with the policy
        (self.folder / "many/000.safetensors").unlink()
        page = self.page("audit", self.folder / "many", status=HOLDS)
        self.assertEqual(page.all("script"), [])
        self.assertNotIn("script-src", page.source)


class Usage(CommandLine):
    def test_the_page_alone_goes_to_standard_output(self):
        file = self.folder / "found.json"
        result = self.run_program("enumerate", "--html", "-", "--json", file, status=HOLDS)
        self.assertEqual(Page(result.stdout).verdict(), "Verified")
        self.assertEqual(json.loads(file.read_text())["cases"], 210)

    def test_two_results_do_not_share_standard_output(self):
        result = self.run_program("enumerate", "--html", "-", "--json", "-", status=USAGE)
        self.assertEqual(result.stdout, "")
        self.assertIn("--html", result.stderr)

    def test_a_page_that_cannot_be_written_is_no_success(self):
        page = Path(self.folder) / "absent" / "page.html"
        result = self.run_program("enumerate", "--html", page, status=BAD_INPUT)
        self.assertIn("[file.unwritable]", result.stderr)
        self.assertFalse(page.exists())
