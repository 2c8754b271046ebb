"""A pytest plugin: `gqaverify` in a test's arguments audits what a kernel returned.

    @pytest.mark.attention(causal=True, model="bf16-f32")
    def test_kernel(gqaverify):
        gqaverify.check(query, key, value, my_kernel(query, key, value))

Keywords of the marker (and of the call, which wins) are those of gqaverify.audit(). A failure names
the fault. With --gqaverify-recordings DIR each failing problem is kept as a recording, with
--gqaverify-html FILE the session's audits are one page; JUnit reports get the properties
gqaverify.verdict and gqaverify.fault.
"""

from __future__ import annotations

import html
import os
import re
import tempfile
from typing import Any

import pytest

import gqaverify

from ._audit import explained_if_wrong, stated_of_one
from ._recording import save_recording
from ._words import Contract, Tensors

_PAGE = """<!doctype html>
<html lang="en"><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{title}</title>
<style>
:root {{ color-scheme: light dark; }}
body {{ font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 60rem; padding: 0 1rem; }}
table {{ border-collapse: collapse; width: 100%; }}
th, td {{ text-align: left; padding: .3rem .8rem .3rem 0; border-bottom: 1px solid #8886; }}
pre {{ overflow-x: auto; border-left: 3px solid #888; padding-left: 1rem; }}
</style>
<h1>{title}</h1>
<table><tr><th>Test</th><th>Verdict</th><th>Fault</th></tr>
{rows}
</table>
{details}
</html>
"""


class Checker:
    """Audits in one test, with the marker's keywords."""

    def __init__(self, node: pytest.Item, log: SessionLog) -> None:
        self._node = node
        self._log = log
        self._words: dict[str, Any] = {}
        for marker in reversed(list(node.iter_markers("attention"))):
            self._words.update(marker.kwargs)

    def audit(
        self, query: Any, key: Any, value: Any, output: Any, **words: Any
    ) -> gqaverify.AuditResult:
        """As gqaverify.audit(); the result is part of the session's report."""
        all_words = {**self._words, **words}
        result = gqaverify.audit(query, key, value, output, **all_words)
        self._add(result, all_words, query, key, value, output)
        return result

    def check(self, query: Any, key: Any, value: Any, output: Any, **words: Any) -> None:
        """Fails the test unless the output is proved right."""
        __tracebackhide__ = True
        all_words = {**self._words, **words}
        stated = stated_of_one("check", all_words)
        result = explained_if_wrong(query, key, value, output, stated)[0]
        self._add(result, all_words, query, key, value, output)
        if not result:
            raise gqaverify.AttentionError(result.message.rstrip("\n"), result)

    def _add(self, result: gqaverify.AuditResult, words: dict[str, Any], *tensors: Any) -> None:
        named = dict(zip(("query", "key", "value", "output"), tensors))
        self._log.add(self._node, result, named, words)


class SessionLog:
    """What the session's tests audited."""

    def __init__(self, recordings: str | None, page: str | None) -> None:
        self.recordings = recordings
        self.page = page
        self.entries: list[tuple[str, gqaverify.AuditResult]] = []

    def add(
        self,
        node: pytest.Item,
        result: gqaverify.AuditResult,
        tensors: dict[str, Any],
        words: dict[str, Any],
    ) -> None:
        self.entries.append((node.nodeid, result))
        node.user_properties.append(("gqaverify.verdict", result.verdict))
        for fault in result.faults:
            node.user_properties.append(("gqaverify.fault", fault))
        if result or self.recordings is None:
            return
        path = self._record(node, tensors, words)
        node.user_properties.append(("gqaverify.recording", path))
        node.add_report_section("call", "gqaverify", f"recorded: gqaverify audit {path}")

    def _record(self, node: pytest.Item, tensors: dict[str, Any], words: dict[str, Any]) -> str:
        assert self.recordings is not None
        os.makedirs(self.recordings, exist_ok=True)
        stem = re.sub(r"[^A-Za-z0-9._=-]+", "_", node.nodeid).strip("_")
        path = os.path.join(self.recordings, f"{stem}.safetensors")
        number = 1
        # Several failing audits of one test, or names that are cut alike.
        while os.path.exists(path):
            number += 1
            path = os.path.join(self.recordings, f"{stem}-{number}.safetensors")
        contract = {k: v for k, v in words.items() if k in Contract.__annotations__}
        further = {k: v for k, v in words.items() if k in Tensors.__annotations__}
        save_recording(path, {**tensors, **further}, contract, words.get("dtype"))
        return path

    def write_page(self) -> None:
        if self.page is None:
            return
        rows, details = [], []
        for test, result in self.entries:
            cells = (test, result.verdict, ", ".join(result.faults))
            rows.append("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in cells) + "</tr>")
            if result:
                continue
            details.append(
                f"<h2>{html.escape(test)}</h2>\n<pre>{html.escape(result.message)}\n"
                f"{html.escape(str(result))}</pre>"
            )
        passed = sum(1 for _, result in self.entries if result)
        title = f"gqaverify: {passed} of {len(self.entries)} audits passed"
        text = _PAGE.format(title=title, rows="\n".join(rows), details="\n".join(details))
        folder = os.path.dirname(os.path.abspath(self.page))
        handle, temporary = tempfile.mkstemp(dir=folder, prefix=".gqaverify-")
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            file.write(text)
        os.replace(temporary, self.page)


_LOG = pytest.StashKey[SessionLog]()


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("gqaverify", "audits of attention")
    group.addoption(
        "--gqaverify-recordings",
        metavar="DIR",
        help="keep each failing problem as a recording in DIR",
    )
    group.addoption(
        "--gqaverify-html", metavar="FILE", help="write the session's audits as one page"
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line(
        "markers",
        "attention(**words): what gqaverify audits with: contract, tolerance, dtype",
    )
    config.stash[_LOG] = SessionLog(
        config.getoption("--gqaverify-recordings"), config.getoption("--gqaverify-html")
    )


def pytest_sessionfinish(session: pytest.Session) -> None:
    session.config.stash[_LOG].write_page()


@pytest.fixture(name="gqaverify")
def gqaverify_fixture(request: pytest.FixtureRequest) -> Checker:
    """Audits attention: gqaverify.check(query, key, value, output, **words)."""
    return Checker(request.node, request.config.stash[_LOG])
