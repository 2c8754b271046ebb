"""The contrast of every text and mark of a page with what it stands on, computed from the page's style.

Contrast as WCAG 2.1 defines it; at least 4.5 in light and dark.
"""

import re
import unittest

from command_line import HOLDS, CommandLine

ENOUGH = 4.5
HEAT = [f"--heat-{number}" for number in range(8)]

# A rule and its property, and the grounds that it stands on: variables, or what another rule fills.
TEXTS = {
    "body color": ["--ground", "--panel", "--good-ground", "--bad-ground", "--open-ground", "--broken-ground"],
    ".quiet color": ["--ground", "--panel"],
    "a color": ["--ground", "--panel", "--good-ground", "--bad-ground", "--open-ground", "--broken-ground"],
    "caption color": ["--ground"],
    "thead th color": ["--ground", "--panel"],
    "dt color": ["--ground"],
    "figcaption color": ["--ground"],
    "footer color": ["--ground"],
    ".or color": ["--ground"],
    ".filter legend color": ["--ground"],
    ".badge.good color": ["--ground", "--panel"],
    ".badge.bad color": ["--ground", "--panel"],
    ".badge.open color": ["--ground", "--panel"],
    ".badge.broken color": ["--ground", "--panel"],
    ".good .verdict color": ["--good-ground"],
    ".bad .verdict color": ["--bad-ground"],
    ".open .verdict color": ["--open-ground"],
    ".broken .verdict color": ["--broken-ground"],
    "svg text fill": ["--ground"],
    "svg .quiet fill": ["--ground"],
    "svg .title fill": ["--ground"],
    "svg .onextra fill": ["svg .extra fill"],
    "svg .onmissing fill": ["svg .missing fill"],
    "svg .differs-text fill": ["--ground"],
}
MARKS = {
    "svg .bar fill": ["--ground"],
    "svg .bar.beyond fill": ["--ground"],
    "svg .edge stroke": ["--ground"],
    "svg .edge.worst stroke": ["--ground"],
    "svg .wire stroke": ["--ground"],
    "svg .wire.differs stroke": ["--ground"],
    "svg .node stroke": ["--ground"],
    "svg .seen fill": ["--none"],
    "svg .partly stroke": ["--none"],
    "svg .extra fill": ["--ground"],
    "svg .missing stroke": ["--ground"],
    "svg .cross stroke": ["--ground"],
    "svg .axis stroke": ["--ground"],
}


def luminance(colour):
    channels = [int(colour[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(first, second):
    high, low = sorted((luminance(first), luminance(second)), reverse=True)
    return (high + 0.05) / (low + 0.05)


class Style:
    def __init__(self, css):
        variables = re.compile(r"(--[\w-]+):(#[0-9a-f]{6})")
        light, _, rest = css.partition("@media (prefers-color-scheme:dark)")
        dark, _, rules = rest.partition("}}")
        self.schemes = {"light": dict(variables.findall(light))}
        self.schemes["dark"] = self.schemes["light"] | dict(variables.findall(dark))
        self.rules = {}
        for selectors, body in re.findall(r"([^{}]+)\{([^{}]*)\}", rules.partition("@media print")[0]):
            for selector in selectors.split(","):
                declarations = dict(part.split(":", 1) for part in body.split(";") if ":" in part)
                self.rules.setdefault(selector.strip(), {}).update(
                    {name.strip(): value.strip() for name, value in declarations.items()}
                )

    def colour(self, of, scheme):
        """Of "--variable", "#rrggbb", or "SELECTOR property"."""
        if of.startswith("--"):
            return self.schemes[scheme][of]
        if of.startswith("#"):
            return of
        selector, _, name = of.rpartition(" ")
        value = self.rules[selector][name]
        return self.colour(value[4:-1] if value.startswith("var(") else value, scheme)


class Contrast(CommandLine):
    def setUp(self):
        super().setUp()
        page = self.run_program("enumerate", "--max-heads", 1, "--html", "-", status=HOLDS).stdout
        self.style = Style(page.partition("<style>")[2].partition("</style>")[0])
        self.assertGreater(len(self.style.schemes["light"]), 20)
        self.assertNotEqual(*self.style.schemes.values())

    def test_every_text_and_mark_stands_out_from_each_of_its_grounds(self):
        for scheme in self.style.schemes:
            for of, grounds in (TEXTS | MARKS).items():
                for ground in grounds:
                    with self.subTest(scheme=scheme, of=of, ground=ground):
                        found = contrast(self.style.colour(of, scheme), self.style.colour(ground, scheme))
                        self.assertGreaterEqual(found, ENOUGH)

    def test_the_mark_of_a_violation_is_seen_on_every_shade(self):
        for scheme in self.style.schemes:
            for shade in [*HEAT, "--none"]:
                with self.subTest(scheme=scheme, shade=shade):
                    ground = self.style.colour(shade, scheme)
                    best = max(
                        contrast(self.style.colour(f"svg .violation {name}", scheme), ground)
                        for name in ("fill", "stroke")
                    )
                    self.assertGreaterEqual(best, ENOUGH)


if __name__ == "__main__":
    unittest.main()
