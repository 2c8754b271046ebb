"""The pages of --html in a headless Chromium; skipped where there is none."""

import base64
import json
import os
import re
import unittest
from pathlib import Path

import safetensors_file
from browser import Browser, find_browser
from command_line import BAD_INPUT, HOLDS, WRONG, CommandLine
from test_html import ATTACK, problem

WIDE, PHONE = 1200, 375


def contrast(first, second):
    """The contrast of two colours "rgb(r, g, b)", as WCAG 2.1 defines it."""

    def luminance(colour):
        channels = [int(part) / 255 for part in colour[colour.index("(") + 1 : -1].split(",")[:3]]
        linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


@unittest.skipIf(find_browser() is None, "no Chromium")
class PagesInABrowser(CommandLine):
    @classmethod
    def setUpClass(cls):
        cls.browser = Browser()

    @classmethod
    def tearDownClass(cls):
        cls.browser.close()

    def write(self, *arguments, status):
        path = self.folder / f"page-{len(list(self.folder.glob('*.html')))}.html"
        self.run_program(*arguments, "--html", path, status=status)
        return path

    def recording(self, name, **options):
        path = self.folder / name
        path.parent.mkdir(exist_ok=True)
        safetensors_file.write(path, {"attention": json.dumps({"causal": True})}, problem(**options))
        return path

    def corpus(self):
        self.recording("corpus/right.safetensors")
        self.recording("corpus/tiled.safetensors", kv_head=lambda head: head % 2)
        self.recording(f"corpus/{ATTACK}.safetensors")
        (self.folder / "corpus/unread.safetensors").write_bytes(b"nothing")
        return self.write("audit", self.folder / "corpus", status=BAD_INPUT)

    def pages(self):
        probes = self.folder / "probes"
        self.run_program("probe", "write", probes, status=HOLDS)
        for name, status in {"head_map": None}.items():
            file = probes / f"{name}.safetensors"
            metadata, tensors = safetensors_file.read(file)
            shape = tensors["query"][0]
            size = shape[0] * shape[1] * shape[2] * tensors["value"][0][3]
            tensors["output"] = ([*shape[:3], tensors["value"][0][3]], [0.0] * size)
            safetensors_file.write(file, metadata, tensors)
        group = ["rank", "--group-size", 4, "--positions", 12, "--value-size", 2]
        return {
            "rank": self.write(*group, status=HOLDS),
            "identify": self.write("identify", self.recording("b.safetensors", kv_head=lambda h: h % 2), status=HOLDS),
            "audit": self.write("audit", self.recording("a.safetensors", kv_head=lambda h: h % 2), status=WRONG),
            "corpus": self.corpus(),
            "enumerate": self.write("enumerate", status=HOLDS),
            "claims": self.write("claims", "a", "u", status=HOLDS),
            "probe": self.write("probe", "check", probes, status=WRONG),
            "verify": self.write("verify", status=HOLDS),
        }

    def test_every_page_loads_alone_and_quietly_at_every_width_in_light_and_dark(self):
        for name, path in self.pages().items():
            for width in (WIDE, PHONE):
                for scheme in ("light", "dark"):
                    with self.subTest(page=name, width=width, scheme=scheme):
                        self.browser.open(path, width=width, scheme=scheme)
                        self.assertEqual(self.browser.complaints(), [])
                        outside = [url for url in self.browser.requests() if not url.startswith(("file:", "data:,"))]
                        self.assertEqual(outside, [])
                        files = [url for url in self.browser.requests() if url.startswith("file:")]
                        self.assertEqual(len(files), 1)
                        # The page itself never scrolls sideways, only tables and pictures do.
                        for expression in ("document.querySelectorAll('details').forEach(d => d.open = true)", ""):
                            self.browser.evaluate(expression)
                            found = self.browser.evaluate("document.documentElement.scrollWidth")
                            self.assertLessEqual(found, width)
                        self.keep(f"{name}-{width}-{scheme}")

    def keep(self, name):
        """With $GQAVERIFY_SCREENSHOTS, pictures for people to look at."""
        folder = os.environ.get("GQAVERIFY_SCREENSHOTS")
        if folder:
            self.browser.screenshot(Path(folder) / f"{name}.png", whole=True)

    def test_text_and_marks_stand_out_from_their_ground_in_light_and_dark(self):
        path = self.corpus()
        for scheme in ("light", "dark"):
            self.browser.open(path, scheme=scheme)
            style = "getComputedStyle(document.querySelector('{}')).{}"
            ground = self.browser.evaluate(style.format("body", "backgroundColor"))
            self.assertEqual(scheme == "dark", contrast(ground, "rgb(255, 255, 255)") > 10)
            for selector in ("body", ".quiet", "a[href]", ".badge.good", ".badge.bad", ".badge.broken", "caption"):
                colour = self.browser.evaluate(style.format(selector, "color"))
                with self.subTest(scheme=scheme, selector=selector):
                    self.assertGreaterEqual(contrast(colour, ground), 4.5)
            banner = self.browser.evaluate(style.format(".banner", "backgroundColor"))
            verdict = self.browser.evaluate(style.format(".verdict", "color"))
            self.assertGreaterEqual(contrast(verdict, banner), 4.5)

    def test_a_script_in_a_name_never_runs(self):
        self.browser.open(self.corpus())
        self.assertEqual(self.browser.evaluate("document.scripts.length + document.images.length"), 0)
        self.assertIn(ATTACK, self.browser.evaluate("document.body.textContent"))
        # Neither would one that got in: the page's own policy forbids it.
        self.browser.evaluate(
            "document.body.append(Object.assign(document.createElement('script'), {textContent: 'window.ran = 1'}))"
        )
        self.assertIsNone(self.browser.evaluate("window.ran"))

    def test_a_link_of_the_table_opens_its_case(self):
        self.browser.open(self.corpus())
        closed = self.browser.evaluate("[...document.querySelectorAll('.case > details')].some(d => d.open)")
        self.assertFalse(closed)
        self.browser.evaluate("document.querySelector('table a').click()")
        target = self.browser.evaluate("location.hash.slice(1)")
        opened = f"document.getElementById('{target}').closest('details').open"
        self.assertTrue(self.browser.evaluate(opened))

    def many(self):
        for number in range(14):
            self.recording(f"many/{number}.safetensors", rows=64 if number else 3, kv_head=lambda h, n=number: h % 2 if n == 0 else h // 2)
        return self.write("audit", self.folder / "many", status=WRONG)

    def column(self, number):
        rows = f"[...document.querySelectorAll('.sortable tbody tr')].map(r => r.cells[{number}].textContent.trim())"
        return self.browser.evaluate(rows)

    def test_a_heading_sorts_by_its_column_and_a_second_press_turns_it_round(self):
        self.browser.open(self.many())
        headings = "document.querySelectorAll('.sortable thead button')"
        names = self.browser.evaluate(f"[...{headings}].map(b => b.textContent)")
        elements = names.index("Elements")
        for _ in range(2):
            self.browser.evaluate(f"{headings}[{elements}].click()")
            found = [int(words.replace(",", "")) for words in self.column(elements)]
            self.assertEqual(len(found), 14)
            rises = self.browser.evaluate("document.querySelector('[aria-sort]').ariaSort") == "ascending"
            self.assertEqual(found, sorted(found, reverse=not rises))
        self.assertTrue(rises)
        # Names by their numbers: 2 before 10.
        self.browser.evaluate(f"{headings}[0].click()")
        self.assertEqual(self.column(0), [f"{n}.safetensors" for n in range(14)])
        largest = names.index("Largest error, ulp")
        self.browser.evaluate(f"{headings}[{largest}].click()")
        self.assertIn("×10", self.column(largest)[0])  # of the case that fails
        self.assertEqual(self.browser.complaints(), [])

    def printed_pages(self):
        pdf = base64.b64decode(self.browser.call("Page.printToPDF")["data"])
        return len(re.findall(rb"/Type ?/Page\b", pdf))

    def test_many_passes_are_printed_as_a_table_and_failures_in_full(self):
        self.browser.open(self.many())
        self.assertLessEqual(self.printed_pages(), 7)
        self.browser.evaluate("document.querySelectorAll('.d-fail').forEach(e => e.remove())")
        self.assertLessEqual(self.printed_pages(), 3)
        # A heading with a button in a box of its own is not repeated on the pages that follow, and one
        # whose terms are a grid stays behind alone.
        self.browser.call("Emulation.setEmulatedMedia", media="print")
        style = "getComputedStyle(document.querySelector('{}')).display"
        for selector, display in {"th button": "contents", "dl div": "block"}.items():
            self.assertEqual(self.browser.evaluate(style.format(selector)), display)
        self.browser.call("Emulation.setEmulatedMedia", media="")

    def test_captions_are_whole_on_a_phone(self):
        self.browser.open(self.many(), width=PHONE)
        self.browser.evaluate("document.querySelectorAll('details').forEach(d => d.open = true)")
        ends = self.browser.evaluate("[...document.querySelectorAll('caption')].map(c => { const r = document.createRange(); r.selectNodeContents(c); return r.getBoundingClientRect().right; })")
        self.assertGreater(len(ends), 5)
        self.assertLessEqual(max(ends), PHONE)

    def test_no_label_of_a_picture_covers_another(self):
        # The bounds of the first lie side by side, those of the second cover each other.
        for rows in (3, 64):
            self.browser.open(self.write("audit", self.recording("a.safetensors", rows=rows), status=HOLDS))
            pairs = self.browser.evaluate("""(() => {
              const found = [];
              for (const svg of document.querySelectorAll('svg')) {
                const boxes = [...svg.querySelectorAll('text')].map(t => [t.textContent, t.getBoundingClientRect()]);
                boxes.forEach(([a, p], i) => boxes.slice(i + 1).forEach(([b, q]) => {
                  const wide = Math.min(p.right, q.right) - Math.max(p.left, q.left);
                  const high = Math.min(p.bottom, q.bottom) - Math.max(p.top, q.top);
                  if (wide > 1 && high > 4) found.push(a + ' / ' + b);
                }));
                const edges = [...svg.querySelectorAll('.edge')].map(e => e.getBoundingClientRect());
                for (const [words, box] of boxes.filter(([words]) => words.includes('bound'))) {
                  if (edges.some(e => e.left > box.left + 1 && e.right + 1 < box.right)) found.push(words + ' / edge');
                }
              }
              return found;
            })()""")
            self.assertEqual(pairs, [])

    def test_the_keyboard_reaches_the_skip_link_first_and_shows_where_it_is(self):
        self.browser.open(self.corpus())
        self.browser.press("Tab", 9)
        focus = "document.activeElement.{}"
        self.assertEqual(self.browser.evaluate(focus.format("textContent")), "Skip to the results")
        left = self.browser.evaluate("document.activeElement.getBoundingClientRect().left")
        self.assertGreaterEqual(left, 0)
        for _ in range(60):
            self.browser.press("Tab", 9)
            tag = self.browser.evaluate(focus.format("tagName"))
            outline = self.browser.evaluate("getComputedStyle(document.activeElement).outlineStyle")
            with self.subTest(tag=tag):
                self.assertIn(outline, ("solid", "auto"))
            if tag == "SUMMARY":
                break
        self.assertEqual(tag, "SUMMARY")
        self.browser.press("Enter", 13, "\r")
        self.assertTrue(self.browser.evaluate("document.activeElement.parentElement.open"))

    def test_assistive_technology_sees_landmarks_names_and_pictures(self):
        self.browser.open(self.write("audit", self.recording("a.safetensors", kv_head=lambda h: h % 2), status=WRONG))
        found = self.browser.names_by_role()
        for role in ("main", "banner", "contentinfo", "heading"):
            self.assertIn(role, found)
        pictures = found.get("image", []) + found.get("img", [])
        self.assertTrue(any(name.startswith("Found (head_map.tiled)") for name in pictures), pictures)
        self.assertTrue(all(pictures), pictures)


if __name__ == "__main__":
    unittest.main()
