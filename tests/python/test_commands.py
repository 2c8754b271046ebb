"""Every command as a function: its keywords are the program's flags, its report is the JSON."""

import dataclasses
import inspect
import json
import os
import re
import subprocess
import sys
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
from attention import attend, operands

import gqaverify
from gqaverify import _program, commands

PROJECT = Path(__file__).resolve().parents[2]


@pytest.fixture(name="program", scope="session", autouse=True)
def _program_path():
    try:
        return _program.program()
    except gqaverify.ProgramError:
        return pytest.skip("without the program")


# What the program writes into the report itself, and what says more of the command line.
NOT_KEYWORDS = {"--help", "--json", "--quiet"}
FUNCTIONS = [name for name in commands.__all__ if not name.endswith("Report")]


def help_of(program, *words):
    done = subprocess.run([program, *words, "--help"], capture_output=True, text=True, check=True)
    return done.stdout


def flags_in(text):
    return set(re.findall(r"(?m)^  (?:-[a-z],)?(--[a-z-]+)", text))


def test_there_is_a_function_for_every_command_that_the_help_text_lists(program):
    text = help_of(program)
    listed = re.findall(r"(?m)^  ([a-z]+) ", text[text.index("Subcommands:"):])
    inner = re.findall(r"(?m)^  ([a-z]+) ", help_of(program, "probe").partition("Subcommands:")[2])
    expected = {name for name in listed if name != "probe"} | {f"probe_{name}" for name in inner}
    assert set(FUNCTIONS) == expected and len(expected) == 14


@pytest.mark.parametrize("name", FUNCTIONS)
def test_keywords_are_the_flags_of_the_help_text_and_all_are_described(program, name):
    function = getattr(commands, name)
    flags = flags_in(help_of(program, *name.split("_"))) - NOT_KEYWORDS
    keywords = {
        p.name for p in inspect.signature(function).parameters.values()
        if p.kind is p.KEYWORD_ONLY}
    assert keywords == {flag[2:].replace("-", "_") for flag in flags}
    text = inspect.getdoc(function)
    for parameter in inspect.signature(function).parameters:
        assert re.search(rf"(?m)^{parameter}: \S", text), parameter


def test_the_package_is_what_the_generator_writes(program):
    sys.path.insert(0, str(PROJECT / "python"))
    try:
        import generate
    finally:
        sys.path.pop(0)
    folder = PROJECT / "python" / "gqaverify" / "commands"
    written = {path.name: path.read_text(encoding="utf-8") for path in folder.glob("*.py")}
    assert generate.files_of(program) == written, "run python/generate.py PROGRAM"


def checked(report, schema):
    """The report, after a look at every object of it: each entry of the JSON is a field."""
    def look(record, entry, path):
        assert record.to_dict() == entry, path
        fields = {field.name for field in dataclasses.fields(record)}
        for key, inner in entry.items():
            if key == "schema":
                continue
            found = getattr(record, key if key in fields else key + "_", None)
            if key not in fields and f"{key}_" not in fields:
                open_ended.add((type(record).__name__, key))
                assert record[key] == inner
                continue
            look_at(found, inner, f"{path}.{key}")

    def look_at(found, inner, path):
        if isinstance(inner, list) and isinstance(found, list):
            assert len(found) == len(inner), path
            for number, (one, raw) in enumerate(zip(found, inner)):
                look_at(one, raw, f"{path}[{number}]")
        elif dataclasses.is_dataclass(found):
            look(found, inner, path)
        else:
            assert found == inner or str(found) == str(inner), path

    open_ended = set()
    look(report, report.to_dict(), type(report).__name__)
    jsonschema = pytest.importorskip("jsonschema")
    text = (PROJECT / "verifier" / "schemas" / f"{schema}.schema.json").read_text(encoding="utf-8")
    jsonschema.validate(report.to_dict(), json.loads(text))
    assert "<pre>" in report._repr_html_() and str(report)
    return report


def test_a_point_is_reached_with_its_weights():
    # 3/4 (4, 0) + 1/4 (0, 8) = (3, 2)
    report = checked(gqaverify.attain(values=[[4, 0], [0, 8]], point=[3, 2], keys=np.eye(2)), "attain")
    assert report and report.verdict == "reachable"
    assert report.certificate["weights"] == ["3/4", "1/4"]
    outside = gqaverify.attain(values=np.array([[4.0, 0.0], [0.0, 8.0]]), point=(5, 5))
    assert (outside.status, bool(outside)) == (1, False)
    # A float means its bits: 0.1 is a little more than 1/10, whose neighbour no query reaches.
    assert Fraction(0.1) > Fraction(1, 10)
    assert gqaverify.attain(values=[["1/10"], [1]], point=[0.1])
    assert not gqaverify.attain(values=[["1/10"], [1]], point=["0.1"])
    assert gqaverify.attain(values=[[0], [Fraction(1, 5)]], point=[Fraction(1, 10)])


def test_a_certificate_is_checked_from_the_report_and_a_changed_one_is_refused(tmp_path):
    report = gqaverify.attain(values=[[4, 0], [0, 8]], point=[3, 2])
    assert checked(gqaverify.check(report.certificate), "check")
    wrong = report.certificate.to_dict()
    wrong["point"] = ["3", "3"]
    assert gqaverify.check(wrong).status == 1
    path = tmp_path / "certificate.json"
    path.write_text(json.dumps(report.certificate.to_dict()))
    assert gqaverify.check(path, wrong).status == 1


def test_ranks_of_a_group_and_of_recordings(tmp_path):
    report = checked(gqaverify.rank(group_size=3, positions=8, value_size=2), "rank")
    assert report and report.configuration.group_size == 3
    # Three heads on 8 positions: shared values of 2 columns span 2, stacked outputs 3 times as many.
    found = {rank.quantity: (rank.lower, rank.upper, rank.shape) for rank in report.ranks}
    assert found["values, shared"] == (2, 2, [8, 2])
    assert found["stacked output, shared values"] == (6, 6, [8, 6])
    query, key, value = operands(seed=1)
    arrays = {"query": query, "key": key, "value": value, "output": attend(query, key, value)}
    recorded = checked(gqaverify.rank(recording=[arrays]), "rank")
    path = tmp_path / "layer.safetensors"
    gqaverify.save_recording(path, arrays)
    again = gqaverify.rank(recording=path)
    assert len(recorded.to_dict()["recordings"]) == len(again.to_dict()["recordings"]) == 1


def test_pooling_equal_heads_loses_nothing_and_pooling_others_does():
    one = np.arange(12.0).reshape(1, 4, 3)
    same = {"key": np.repeat(one, 2, axis=0), "value": np.repeat(one, 2, axis=0)}
    assert checked(gqaverify.pool(same), "pool")
    other = {"key": same["key"], "value": np.concatenate([one, -one])}
    report = checked(gqaverify.pool(other), "pool")
    assert report.status == 1 and not report.groups[0].lossless
    assert checked(gqaverify.pool(smallest=2), "pool").kind == "smallest"


def test_claims_faults_fixtures_and_the_enumeration():
    report = checked(gqaverify.claims("u"), "claims")
    assert [claim.id for claim in report.claims] == ["u"]
    (fault,) = checked(gqaverify.faults("head_map.tiled"), "faults").faults
    assert fault.name == "head_map.tiled" if hasattr(fault, "name") else fault["slug"]
    assert checked(gqaverify.verify(), "verify")
    assert checked(gqaverify.enumerate(max_heads=4), "enumerate").cases == 6 * 8
    assert gqaverify.enumerate is gqaverify.enumerate_cases


def test_probes_that_are_answered_by_zeros_fail_and_the_right_answer_passes(tmp_path):
    folder = tmp_path / "probes"
    assert gqaverify.probe_write(folder, type="binary32")
    plain = []
    for path in sorted(folder.glob("*.safetensors")):
        tensors, contract, _ = gqaverify.load_recording(path)
        query, value = tensors["query"], tensors["value"]
        folded = contract.get("q_num_heads", 1) / contract.get("kv_num_heads", 1)
        output = np.zeros((*query.shape[:-1], int(value.shape[-1] * folded)), query.dtype)
        if set(tensors) == {"query", "key", "value"} and contract["layout"] == "BHSD":
            plain.append(path.stem)
            operand = (query, tensors["key"], value)
            output = gqaverify.reference(*operand, **contract).values.astype(np.float32)
        np.save(path.with_suffix(".output.npy"), output)
    report = checked(gqaverify.probe_check(folder), "probe")
    verdicts = {probe.name: probe.verdict for probe in report.probes}
    assert len(plain) > 3 and {verdicts[name] for name in plain} == {"pass"}
    assert (report.status, report.summary.pass_) == (1, len(plain))
    assert report.summary.fail >= 3


def test_recordings_are_audited_identified_and_compared():
    query, key, value = operands(seed=2)
    arrays = {"query": query, "key": key, "value": value,
              "output": attend(query, key, value, is_causal=True)}
    right = checked(gqaverify.audit_recordings(arrays, causal=True), "audit")
    wrong = checked(gqaverify.audit_recordings(arrays, causal=False), "audit")
    assert right and right.cases[0].verdict == "pass"
    assert (wrong.status, wrong.cases[0].verdict) == (1, "fail")
    assert checked(gqaverify.compare(right, right), "compare")
    assert checked(gqaverify.compare(right, wrong), "compare").status == 1
    found = checked(gqaverify.identify(arrays), "identify")
    assert found.recordings[0].flags == "--causal"
    assert found.recordings[0].contract.causal is True
    with pytest.raises(TypeError, match="takes dtype alone"):
        gqaverify.identify(attend, causal=True)


def test_what_is_wrong_is_an_input_error_in_the_words_of_the_call():
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.rank(group_size=3)
    assert caught.value.code == "usage"
    assert str(caught.value) == "positions (or recording) is required"
    with pytest.raises(gqaverify.InputError, match="no such file") as caught:
        gqaverify.ledger("/nowhere/a.json")
    assert (caught.value.code, caught.value.where) == ("file.not_found", "/nowhere/a.json")
    # Of many files the bad one is told, and the others are read.
    certificate = gqaverify.attain(values="0;1", point=0.5).certificate
    report = gqaverify.check("/nowhere/a.json", certificate)
    assert (report.status, bool(report)) == (3, False)
    with pytest.raises(TypeError, match="group_sizes"):
        gqaverify.rank(group_sizes=3)
    with pytest.raises(gqaverify.InputError, match="^group_size: .*not an integer"):
        gqaverify.rank(group_size=2.5, positions=3, value_size=2)


def test_a_missing_or_broken_program_is_no_input_error(monkeypatch, tmp_path):
    monkeypatch.setenv("GQAVERIFY_PROGRAM", str(tmp_path / "none"))
    with pytest.raises(gqaverify.ProgramError, match="cannot be run"):
        gqaverify.enumerate_cases()
    broken = tmp_path / "broken"
    broken.write_text("#!/bin/sh\necho 'internal error' >&2\nexit 70\n")
    broken.chmod(0o755)
    monkeypatch.setenv("GQAVERIFY_PROGRAM", str(broken))
    with pytest.raises(gqaverify.ProgramError, match="status 70: internal error"):
        gqaverify.enumerate_cases()


def test_the_script_of_a_wheel_becomes_the_program(program):
    words = [sys.executable, "-c", "from gqaverify._program import main; main()", "faults", "-q"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    assert subprocess.run(words, env=environment, check=False).returncode == 0
