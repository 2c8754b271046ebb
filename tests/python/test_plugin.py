"""The pytest plugin, in sessions of its own."""

import json
import os
import subprocess
import sys
import xml.etree.ElementTree

import pytest

KERNELS = """
import numpy as np
import pytest

rng = np.random.default_rng(0)
Q = rng.standard_normal((1, 4, 5, 8)).astype(np.float32)
K, V = (rng.standard_normal((1, 2, 5, 8)).astype(np.float32) for _ in range(2))


def kernel(repeat, causal=True):
    k, v = repeat(K), repeat(V)
    s = Q @ k.swapaxes(-1, -2) / np.sqrt(np.float32(8))
    if causal:
        s = np.where(np.tri(5, dtype=bool), s, -np.inf)
    p = np.exp(s - s.max(-1, keepdims=True))
    return (p / p.sum(-1, keepdims=True)) @ v


def grouped(x):
    return np.repeat(x, 2, axis=1)


def tiled(x):
    return np.tile(x, (1, 2, 1, 1))


@pytest.mark.attention(causal=True)
class TestKernel:
    def test_right(self, gqaverify):
        gqaverify.check(Q, K, V, kernel(grouped))

    def test_tiled(self, gqaverify):
        gqaverify.check(Q, K, V, kernel(tiled))

    @pytest.mark.attention(causal=False)
    def test_the_nearer_marker_wins(self, gqaverify):
        gqaverify.check(Q, K, V, kernel(grouped, causal=False))

    def test_a_word_of_the_call_wins(self, gqaverify):
        gqaverify.check(Q, K, V, kernel(grouped, causal=False), causal=False)
"""


@pytest.fixture(name="session")
def run_session(tmp_path):
    """Runs pytest on KERNELS in a process of its own; its output and the folder."""
    (tmp_path / "test_kernels.py").write_text(KERNELS)

    def run(*arguments):
        environment = {**os.environ, "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        command = [sys.executable, "-m", "pytest", "-p", "gqaverify.pytest_plugin", "-q"]
        done = subprocess.run(
            [*command, "--strict-markers", "-p", "no:cacheprovider", *arguments],
            cwd=tmp_path, env=environment, capture_output=True, text=True, check=False,
        )
        return done.stdout + done.stderr

    return run, tmp_path


def test_a_failing_kernel_is_named_and_the_others_pass(session):
    run, _ = session
    output = run()
    assert "1 failed, 3 passed" in output
    assert "attention is wrong: head_map.tiled" in output


def test_a_failing_problem_is_kept_as_a_recording_that_fails_again(session):
    run, folder = session
    output = run("--gqaverify-recordings", "kept")
    (kept,) = (folder / "kept").iterdir()
    assert f"recorded: gqaverify audit kept/{kept.name}" in output
    assert "test_tiled" in kept.name
    program = os.environ.get("GQAVERIFY_PROGRAM")
    if not program:
        pytest.skip("without the program")
    again = subprocess.run(
        [program, "audit", str(kept), "--json", "-"], capture_output=True, text=True, check=False
    )
    assert again.returncode == 1
    (case,) = json.loads(again.stdout[again.stdout.index("{"):])["cases"]
    assert case["diagnosis"]["explanations"][0]["faults"] == ["head_map.tiled"]
    assert case["contract"]["causal"] is True


def test_the_page_and_junit_tell_verdict_and_fault(session):
    run, folder = session
    run("--gqaverify-html", "page.html", "--junit-xml", "report.xml")
    page = (folder / "page.html").read_text()
    assert "3 of 4 audits passed" in page
    assert "test_kernels.py::TestKernel::test_tiled" in page
    assert "head_map.tiled" in page
    report = xml.etree.ElementTree.parse(folder / "report.xml")
    found = {
        (case.get("name"), p.get("name")): p.get("value")
        for case in report.iter("testcase")
        for p in case.iter("property")
    }
    assert found["test_tiled", "gqaverify.verdict"] == "fail"
    assert found["test_tiled", "gqaverify.fault"] == "head_map.tiled"
    assert found["test_right", "gqaverify.verdict"] == "pass"
