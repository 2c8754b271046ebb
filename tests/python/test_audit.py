"""audit: verdicts, figures and names, equal to those of the command line."""

import ctypes
import json
import os
import subprocess
from fractions import Fraction

import numpy as np
import pytest
from attention import attend, operands

import gqaverify


def test_a_right_output_passes_with_certified_figures():
    query, key, value = operands(seed=11)
    output = attend(query, key, value, is_causal=True)
    result = gqaverify.audit(query, key, value, output, causal=True)
    assert result and result.verdict == "pass"
    assert result.elements == query.size
    assert result.violations == result.undecided == 0
    assert result.faults == []
    # Computed in float64 and rounded once: half an ulp, and hardly more.
    assert 0 < result.max_ulp.lower <= result.max_ulp.upper < 0.51
    assert 0 < result.mean_ulp < result.max_ulp.upper
    assert [(o.name, o.verdict) for o in result.outputs] == [("output", "pass")]
    assert str(result).startswith("pass")


@pytest.mark.parametrize(
    ("contract", "made", "fault"),
    [
        ({}, {"repeat": np.tile}, "head_map.tiled"),
        ({"causal": True}, {}, "causal.missing"),
        ({}, {"scale": 1.0}, "scale.missing"),
        (
            {"causal": True, "window": (2, 0)},
            {"is_causal": True, "window": (3, 0)},
            "window.one_wide",
        ),
    ],
)
def test_a_planted_fault_is_named(contract, made, fault):
    query, key, value = operands(seed=12)
    result = gqaverify.audit(query, key, value, attend(query, key, value, **made), **contract)
    assert result.verdict == "fail" and not result
    named = [e.faults for e in result.diagnosis.explanations]
    assert [fault] in named, (fault, named)
    assert result.diagnosis.status == "named"


def test_one_changed_element_is_found_at_its_place():
    query, key, value = operands(seed=13)
    output = attend(query, key, value)
    output[1, 4, 2, 3] += np.float32(0.5)
    result = gqaverify.audit(query, key, value, output)
    assert (result.verdict, result.violations) == ("fail", 1)
    worst = result.worst[0]
    assert worst.index == (1, 4, 2, 3)
    assert worst.output == float(output[1, 4, 2, 3])
    assert worst.reference.lower <= worst.output - 0.5 + 1e-6 and worst.ulp > 1000
    assert "batch 1" in result.where and "query head 4" in result.where


@pytest.mark.parametrize("wrong", [np.nan, np.inf, -np.inf])
def test_an_output_that_is_not_a_number_fails(wrong):
    query, key, value = operands(seed=14)
    output = attend(query, key, value)
    output[0, 0, 0, 0] = wrong
    for words in ({}, {"atol": "1e300"}, {"max_ulp": 10**9}):
        result = gqaverify.audit(query, key, value, output, diagnose=False, **words)
        assert (result.verdict, result.violations) == ("fail", 1), words


def test_nan_in_a_hidden_key_counts_nothing_and_in_a_visible_one_decides_nothing():
    query, key, value = operands(seed=15)
    output = attend(query, key, value, window=(-1, -1), attn_mask=np.arange(7) < 5)
    key[:, :, 6] = np.nan
    mask = np.broadcast_to(np.arange(7) < 5, (5, 7))
    assert gqaverify.audit(query, key, value, output, attn_mask=mask)
    assert gqaverify.audit(query, key, value, output, nonpad_kv_seqlen=[5, 5])
    seen = gqaverify.audit(query, key, value, output)
    assert (seen.verdict, seen.undecided) == ("undecided", output.size)


def test_tolerances_are_exact_numbers():
    # One key: the output is the value itself, so that the error is known to the bit.
    query = np.zeros((1, 1, 1, 2), np.float32)
    value = np.array([[[[1.0, 3.0]]]], np.float32)
    output = value + np.float32(2**-20)
    tenth = Fraction(1, 2**20)
    for words, passes in [
        ({"atol": tenth}, True),
        ({"atol": float(tenth)}, True),
        ({"atol": tenth - Fraction(1, 2**80)}, False),
        ({"max_ulp": 8}, True),  # of 1.0: 2^-20 is 8 ulp
        ({"max_ulp": 7}, False),
        ({"rtol": "1/1048576"}, True),
        ({"rtol": "1/1048577"}, False),
        ({"atol": np.float64(tenth)}, True),
    ]:
        result = gqaverify.audit(query, query, value, output, diagnose=False, **words)
        assert bool(result) == passes, (words, str(result))


def test_a_float_scale_means_exactly_its_bits():
    query, key, value = operands(seed=16)
    output = attend(query, key, value, scale=0.1)
    result = gqaverify.audit(query, key, value, output, scale=0.1)
    assert result
    assert Fraction(result.to_json()["contract"]["scale"]) == Fraction(0.1) != Fraction(1, 10)
    as_text = gqaverify.audit(query, key, value, output, scale="0.1")
    assert Fraction(as_text.to_json()["contract"]["scale"]) == Fraction(1, 10)


def test_a_sample_says_that_it_is_one():
    query, key, value = operands(seed=17)
    result = gqaverify.audit(query, key, value, attend(query, key, value), sample=10, seed=3)
    assert result.elements == 10 * 8
    assert result.to_json()["sample"] == {"rows": 10, "of": 60, "seed": 3}
    assert "a sample of 10 of 60 rows (seed 3)" in str(result)


def test_further_outputs_are_audited():
    query, key, value = operands(seed=18)
    past_key, past_value = (x[:, :, :3] * 2 for x in (key, value))
    keys, values = (np.concatenate([a, b], 2) for a, b in ((past_key, key), (past_value, value)))
    output = attend(query, keys, values)
    words = {"past_key": past_key, "past_value": past_value, "present_key": keys}
    assert gqaverify.audit(query, key, value, output, **words, present_value=values)
    values[0, 0, 0, 0] += 1
    result = gqaverify.audit(query, key, value, output, **words, present_value=values)
    assert [(o.name, o.verdict) for o in result.outputs] == [
        ("output", "pass"), ("present_key", "pass"), ("present_value", "fail")]
    assert result.verdict == "fail"


def write_safetensors(path, tensors, attention):
    """The format's own description: u64 length, JSON, bytes."""
    header, data = {"__metadata__": {"attention": json.dumps(attention)}}, b""
    for name, array in tensors.items():
        raw = np.ascontiguousarray(array).tobytes()
        kind = {"float32": "F32", "float16": "F16"}[array.dtype.name]
        place = [len(data), len(data) + len(raw)]
        header[name] = {"dtype": kind, "shape": array.shape, "data_offsets": place}
        data += raw
    text = json.dumps(header).encode()
    path.write_bytes(len(text).to_bytes(8, "little") + text + data)


def with_the_same_blas_kernels():
    """An environment in which the program multiplies matrices as this process does: last digits of
    certified ranges depend on it."""
    try:
        name = ctypes.CDLL("libopenblas.so.0").openblas_get_corename
    except (OSError, AttributeError):
        return os.environ  # another CBLAS
    name.restype = ctypes.c_char_p
    return {**os.environ, "OPENBLAS_CORETYPE": name().decode()}


@pytest.mark.skipif("GQAVERIFY_PROGRAM" not in os.environ, reason="the program was not built")
@pytest.mark.parametrize("repeat", [np.repeat, np.tile])
def test_to_json_equals_the_case_of_the_command_line(tmp_path, repeat):
    query, key, value = operands(seed=19, dtype=np.float16)
    output = attend(query, key, value, is_causal=True, window=(4, 0), repeat=repeat)
    contract = {"causal": True, "softcap": "0", "window": [4, 0]}
    path = tmp_path / "case.safetensors"
    tensors = {"query": query, "key": key, "value": value, "output": output}
    write_safetensors(path, tensors, contract)
    words = [os.environ["GQAVERIFY_PROGRAM"], "audit", str(path), "--json", "-"]
    run = subprocess.run(words, capture_output=True, text=True, timeout=300, check=False,
                         env=with_the_same_blas_kernels())
    assert run.returncode == (0 if repeat is np.repeat else 1), run.stderr
    expected = json.loads(run.stdout)["cases"][0]
    found = gqaverify.audit(**tensors, causal=True, softcap=0, window=(4, 0)).to_json()
    assert found.pop("path") == "attention"
    assert expected.pop("path") == str(path)
    assert found == expected


def test_a_backward_pass_is_audited_with_the_output():
    # One query, one key: the output is the value, so its gradient is grad_output, the others 0.
    query, key = np.full((1, 1, 1, 2), 3, np.float32), np.full((1, 1, 1, 2), 2, np.float32)
    value = np.array([[[[1, 2, 4]]]], np.float32)
    incoming = np.array([[[[5, 6, 7]]]], np.float32)
    words = {"grad_output": incoming, "grad_query": query * 0, "grad_key": key * 0}
    right = gqaverify.audit(query, key, value, value, grad_value=incoming, **words)
    assert right, right
    assert {output.name for output in right.outputs} >= {"output", "grad_query", "grad_value"}
    wrong = gqaverify.audit(query, key, value, value, grad_value=2 * incoming, **words)
    assert {o.name: o.verdict for o in wrong.outputs}["grad_value"] == "fail"


def test_the_self_check_is_asked_always_of_an_audit_and_in_turn_of_small_assertions():
    query, key, value = operands(seed=61)
    output = attend(query, key, value)

    def rows(result):
        return result.to_dict()["self_check"]["rows"]

    assert rows(gqaverify.audit(query, key, value, output)) > 0
    assert rows(gqaverify.audit(query, key, value, output, self_check=False)) == 0
    layer = type("Layer", (), {"forward": lambda self, query, key, value: output})()
    layer.named_modules = lambda: [("layer", layer)]
    with gqaverify.record(layer, "layer") as run:
        for _ in range(64):
            layer.forward(query, key, value)
    assert sum(rows(call.results[0]) > 0 for call in run.audit().calls) == 2
    assert all(rows(call.results[0]) > 0 for call in run.audit(self_check=True).calls)
