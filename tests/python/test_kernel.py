"""identify and audit_kernel: Python functions put to the test, whatever they do."""

import numpy as np
import pytest
from attention import attend, bfloat16_bits, e5m2_bits, from_bfloat16, from_e5m2

import gqaverify


def right(query, key, value, *, is_causal=False, window=None, scale=None, attn_mask=None):
    return attend(query, key, value, is_causal=is_causal, window=window, scale=scale,
                  attn_mask=attn_mask)


def tiled(query, key, value, *, is_causal=False):
    return attend(query, key, value, is_causal=is_causal, repeat=np.tile)


def top_left(query, key, value, *, is_causal=False):
    mask = np.tril(np.ones((query.shape[2], key.shape[2]), bool)) if is_causal else None
    return attend(query, key, value, attn_mask=mask)


def rule(report, name):
    return next(r for r in report.rules if r.rule == name)


def test_identify_finds_the_declared_contract_in_a_right_function():
    report = gqaverify.identify(right)
    assert report and report.verdict == "pass", str(report)
    assert report.kernel == "right" and report.faults == [] and report.findings == []
    json = report.to_json()
    assert json["schema"] == "gqaverify.identify/1"
    assert json["types"][0]["summary"]["fail"] == 0
    asked = {p["name"] for p in json["types"][0]["probes"] if p["supported"]}
    # What it names keywords for it is asked, and nothing else.
    assert {"head_map", "mask", "strided_keys", "scale_given"} <= asked
    assert not asked & {"sink", "softcap", "past", "bshd", "documents", "length"}


def test_identify_names_a_tiled_head_map():
    report = gqaverify.identify(tiled)
    assert report.verdict == "fail" and not report
    assert report.faults == ["head_map.tiled"]
    assert [r.rule for r in report.rules if r.agreement == "differs" and "head map" in r.rule]
    assert "head_map.tiled" in str(report)


def test_identify_finds_the_alignment_of_a_function_that_does_not_say():
    report = gqaverify.identify(top_left)
    assert report.faults == ["causal.top_left"], str(report)


def test_a_right_function_passes_in_every_type():
    def in_float(query, key, value, *, is_causal=False):
        read, write = {
            np.dtype(np.uint16): (from_bfloat16, bfloat16_bits),
            np.dtype(np.uint8): (from_e5m2, e5m2_bits),
        }.get(query.dtype, (np.asarray, np.asarray))
        wide = [read(x) for x in (query, key, value)]
        return write(attend(*wide, is_causal=is_causal))

    types = ["float64", "float32", np.float16]
    try:
        import ml_dtypes  # noqa: F401
    except ImportError:
        types += ["bfloat16", "float8_e5m2"]
    report = gqaverify.identify(in_float, dtype=types)
    assert report.verdict == "pass", str(report)
    assert len(report.to_json()["types"]) == len(types)


def test_a_function_that_raises_is_a_finding_with_its_line():
    def raising(query, key, value, *, is_causal=False):
        if is_causal:
            raise ZeroDivisionError("no diagonal")
        return attend(query, key, value)

    report = gqaverify.identify(raising)
    assert report.verdict == "fail"
    assert report.findings
    for finding in report.findings:
        assert "raised ZeroDivisionError: no diagonal (test_kernel.py:" in finding
    audit = gqaverify.audit_kernel(raising, problems=8)
    assert audit.verdict == "fail"
    assert any("raised ZeroDivisionError" in r.where for r in audit.results)
    assert any(r.verdict == "pass" for r in audit.results)


def test_a_function_that_always_raises_verifies_nothing():
    def broken(query, key, value):
        raise ValueError("nothing")

    assert gqaverify.identify(broken).verdict == "fail"
    assert gqaverify.audit_kernel(broken, problems=2).verdict == "fail"


@pytest.mark.parametrize("refusal", [NotImplementedError, gqaverify.Unsupported])
def test_a_refusal_is_no_finding_and_no_pass(refusal):
    def refusing(query, key, value, **words):
        raise refusal("not mine")

    report = gqaverify.identify(refusing)
    assert (report.verdict, report.findings) == ("undecided", [])
    audit = gqaverify.audit_kernel(refusing, problems=3)
    assert (audit.verdict, [r.verdict for r in audit.results]) == ("undecided", ["undecided"] * 3)


@pytest.mark.parametrize("interruption", [KeyboardInterrupt, SystemExit])
def test_an_interruption_passes_through(interruption):
    def interrupted(query, key, value):
        raise interruption

    with pytest.raises(interruption):
        gqaverify.identify(interrupted)
    with pytest.raises(interruption):
        gqaverify.audit_kernel(interrupted)


@pytest.mark.parametrize(
    ("output", "finding"),
    [
        (lambda x: None, "returned None"),
        (lambda x: x[:, :1], "gave no such output: output: shape"),
        (lambda x: x.astype(np.int32), "gave no such output: output"),
        (lambda x: "text", "gave no such output: output"),
    ],
)
def test_an_output_that_does_not_fit_is_a_finding(output, finding):
    report = gqaverify.identify(lambda query, key, value: output(attend(query, key, value)))
    assert report.verdict == "fail"
    assert all(finding in text for text in report.findings) and report.findings, report.findings


def test_a_changed_input_is_a_finding():
    def scaling(query, key, value):
        output = attend(query, key, value)
        key *= 2
        return output

    report = gqaverify.identify(scaling)
    assert report.verdict == "fail"
    assert all(text.endswith("changed its input key") for text in report.findings)


def test_the_value_of_a_hidden_key_that_leaks_is_found():
    def leaking(query, key, value, *, attn_mask=None):
        group = query.shape[1] // key.shape[1]
        keys, values = (np.repeat(x, group, axis=1).astype(float) for x in (key, value))
        scores = query @ keys.swapaxes(-1, -2) / np.sqrt(query.shape[-1])
        if attn_mask is not None and attn_mask.dtype == bool:
            scores = np.where(attn_mask, scores, -1e9)
        elif attn_mask is not None:
            scores = scores + attn_mask
        weights = np.exp(scores - scores.max(-1, keepdims=True))
        weights /= weights.sum(-1, keepdims=True)
        return (weights @ values).astype(query.dtype)

    report = gqaverify.identify(leaking)
    assert report.verdict == "fail"
    assert "NaN" in str(report)


def test_keywords_are_those_that_the_function_names():
    seen = []

    def recording(query, key, value, *, causal=False, softmax_scale=None, window_size=(-1, -1)):
        seen.append((causal, softmax_scale, window_size))
        return attend(query, key, value, is_causal=causal, scale=softmax_scale, window=window_size)

    report = gqaverify.identify(recording)
    assert report, str(report)
    assert {type(causal) for causal, _, _ in seen} == {bool}
    assert any(scale == 0.75 for _, scale, _ in seen)
    assert any(window != (-1, -1) for _, _, window in seen)


def test_a_required_keyword_is_always_passed():
    def strict(query, key, value, attn_mask, is_causal):
        return attend(query, key, value, attn_mask=attn_mask, is_causal=is_causal)

    assert gqaverify.identify(strict)


def test_any_keyword_is_asked_in_the_words_of_onnx_and_pytorch():
    seen = set()

    def anything(query, key, value, **words):
        seen.update(words)
        raise NotImplementedError

    gqaverify.identify(anything)
    assert {"is_causal", "causal_alignment", "window", "scale", "softcap", "attn_mask", "past_key",
            "past_value", "nonpad_kv_seqlen", "sink", "alibi_slopes", "cu_seqlens_q", "layout",
            "q_num_heads", "kv_num_heads"} <= seen
    assert "enable_gqa" not in seen and "causal" not in seen


def test_enable_gqa_says_whether_heads_are_shared():
    seen = set()

    def torch_like(
        query, key, value, attn_mask=None, is_causal=False, scale=None, enable_gqa=False
    ):
        shared = query.shape[1] != key.shape[1]
        seen.add((shared, enable_gqa))
        return attend(query, key, value, attn_mask=attn_mask, is_causal=is_causal, scale=scale)

    gqaverify.audit_kernel(torch_like, problems=5)
    assert seen == {(True, True), (False, False)}


def test_audit_kernel_on_generated_problems():
    audit = gqaverify.audit_kernel(right, problems=10)
    assert audit and audit.verdict == "pass", str(audit)
    assert len(audit.results) == 10
    assert audit.to_json()["summary"] == {"pass": 10, "fail": 0, "undecided": 0, "error": 0}
    wrong = gqaverify.audit_kernel(tiled, problems=3)
    assert wrong.verdict == "fail" and "head_map.tiled" in wrong.faults
    again = gqaverify.audit_kernel(tiled, problems=3)
    assert again.to_json() == wrong.to_json()
    assert gqaverify.audit_kernel(tiled, problems=3, seed=2).to_json() != wrong.to_json()


def test_audit_kernel_takes_the_contract_that_is_declared():
    assert "causal.top_left" in gqaverify.audit_kernel(top_left, problems=12).faults
    for declared in ({"causal_alignment": "top_left"}, {"dialect": "pytorch"}):
        audit = gqaverify.audit_kernel(top_left, problems=12, **declared)
        assert audit, str(audit)

    told = set()

    def aligned(query, key, value, *, is_causal=False, causal_alignment="top_left"):
        told.add(causal_alignment)
        return top_left(query, key, value, is_causal=is_causal)

    assert gqaverify.audit_kernel(aligned, problems=12, dialect="pytorch")
    assert told == {"top_left"}


def test_a_declared_window_need_not_be_a_keyword():
    def windowed(query, key, value):
        return attend(query, key, value, window=(3, 0))

    assert gqaverify.audit_kernel(windowed, problems=3, window=(3, 0))
    assert not gqaverify.audit_kernel(windowed, problems=2)

    def whole(query, key, value):
        return attend(query, key, value)

    assert "window.ignored" in gqaverify.audit_kernel(whole, problems=2, window=(3, -1)).faults


def test_layouts_are_told_by_keyword_alone():
    def silent(query, key, value):
        return attend(query, key, value)

    def bshd(query, key, value, *, layout="BHSD"):
        if layout != "BSHD":
            return attend(query, key, value)
        return attend(*(x.swapaxes(1, 2) for x in (query, key, value))).swapaxes(1, 2)

    def supported(kernel):
        report = gqaverify.identify(kernel).to_json()
        return {p["name"]: p["verdict"] for p in report["types"][0]["probes"]}

    assert supported(silent)["bshd"] == "unsupported"
    assert supported(bshd)["bshd"] == "pass"


def test_what_is_not_callable_is_a_type_error():
    with pytest.raises(TypeError, match="callable"):
        gqaverify.identify(3)
    with pytest.raises(TypeError, match="audit_kernel.*'casual'"):
        gqaverify.audit_kernel(right, casual=True)
    with pytest.raises(TypeError, match="audit_kernel.*'layout'"):
        gqaverify.audit_kernel(right, layout="BSHD")
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.identify(right, dtype="int64")
    assert (caught.value.code, caught.value.where) == ("tensor.element_type", "dtype")
