"""record(): every call of attention that a model makes, audited under the name of its layer.

The model is of NumPy and the function a stand-in with PyTorch's signature; test_record_torch.py
asks PyTorch itself where it is installed.
"""

import json
import os
import subprocess
import sys

import numpy as np
import pytest
import torch_stand_in
from attention import attend, bfloat16_bits, from_bfloat16, operands
from small_transformer import TOKENS, CoreAttention, FusedAttention, Transformer

import gqaverify

FUNCTION = torch_stand_in.scaled_dot_product_attention


def faulty_at(number, **fault):
    return lambda layer: CoreAttention(**(fault if layer == number else {}))


def test_a_tiled_layer_is_found_by_its_name_and_the_others_pass():
    model = Transformer(seed=1, attention=faulty_at(2, expand=np.tile))
    with gqaverify.record(model, "layers.*.attention", causal_alignment="top_left") as run:
        model(TOKENS)
    audited = run.audit()
    assert [(c.layer, c.index, c.verdict) for c in audited.calls] == [
        ("layers.0.attention", 0, "pass"),
        ("layers.1.attention", 0, "pass"),
        ("layers.2.attention", 0, "fail"),
        ("layers.3.attention", 0, "pass"),
    ]
    assert audited.faults == {"layers.2.attention": ["head_map.tiled"]}
    assert (audited.verdict, bool(audited)) == ("fail", False)
    with pytest.raises(gqaverify.AttentionError) as caught:
        run.check()
    first = str(caught.value).splitlines()[0]
    assert first == "attention is wrong: layers.2.attention, call 0: head_map.tiled"
    # Query heads 1 and 2 of 4 read another of the two KV heads under h mod 2 than under h // 2.
    assert "query heads 1 to 2" in str(caught.value) or "query heads 1 and 2" in str(caught.value)


def test_the_function_is_recorded_in_each_layer_with_its_mask_of_positions():
    model = Transformer(seed=2, attention=lambda layer: FusedAttention())
    with gqaverify.record(model, FUNCTION) as run:
        first = model(TOKENS)
        model(TOKENS[:, :3])
    assert [(c.layer, c.index) for c in run] == [
        (f"layers.{layer}.attention", index) for index in range(2) for layer in range(4)]
    assert run[0].contract == {"causal": True, "dialect": "pytorch"}
    assert {name: x.shape for name, x in run[4].tensors().items()} == {
        "query": (2, 4, 3, 8), "key": (2, 2, 3, 8), "value": (2, 2, 3, 8), "output": (2, 4, 3, 8)}
    assert run.audit()
    # It only looks on, and nothing of it is left.
    assert np.array_equal(first, model(TOKENS))
    assert len(run) == 8
    assert torch_stand_in.scaled_dot_product_attention is FUNCTION
    assert not any("forward" in vars(layer) for _, layer in model.named_modules())


def test_a_function_that_is_wrong_in_one_layer_is_named(monkeypatch):
    def kernel(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None,
               enable_gqa=False):
        mask = np.tri(query.shape[-2], key.shape[-2], dtype=bool)
        return attend(query, key, value, attn_mask=mask, scale=1.0 if len(run) == 1 else scale)

    kernel.__name__ = FUNCTION.__name__
    monkeypatch.setattr(torch_stand_in, "scaled_dot_product_attention", kernel)
    model = Transformer(seed=3, attention=lambda layer: FusedAttention())
    with gqaverify.record(model, kernel) as run:
        model(TOKENS)
    assert run.audit().faults == {"layers.1.attention": ["scale.missing"]}


def call(*arguments, **keywords):
    """The audit of one call of the function, by keyword or position."""
    with gqaverify.record(None, FUNCTION) as run:
        torch_stand_in.scaled_dot_product_attention(*arguments, **keywords)
    return run


@pytest.mark.parametrize("axes", [2, 3, 4, 5])
@pytest.mark.parametrize("masked", [None, bool, np.float32])
def test_any_number_of_axes_before_the_rows_is_recorded(axes, masked):
    random = np.random.default_rng(4)
    lead = (2, 3, 4)[5 - axes:]
    # The stand-in itself takes four axes; the others are folded into its batch axis.
    operand = [random.standard_normal((*lead, n, 8)).astype(np.float32) for n in (3, 5, 5)]
    mask = None
    if masked is bool:
        mask = random.random((3, 5)) < 0.7
        mask[:, 0] = True
    elif masked is not None:
        mask = random.standard_normal((*lead[-1:], 3, 5) if axes > 3 else (3, 5)).astype(masked)

    def folded(query, key, value, attn_mask=None, dropout_p=0.0, is_causal=False, scale=None):
        parts = [x.reshape(-1, 4 if axes > 3 else 1, *x.shape[-2:]) for x in (query, key, value)]
        return attend(*parts, attn_mask=attn_mask, scale=scale).reshape(query.shape)

    folded.__name__ = FUNCTION.__name__
    globals()["held"] = folded
    with gqaverify.record(None, folded) as run:
        held(*operand, mask, scale=0.25)  # noqa: F821
    assert run[0].reason == "" and run[0].contract["scale"] == 0.25
    assert run.audit(), run.audit()
    with pytest.raises(gqaverify.AttentionError, match="attention is wrong"):
        run.check(scale=0.5)


def test_positions_of_the_function_count_from_the_first_key():
    query, key, value = operands(seed=14, kv_heads=6, queries=3, keys=7)
    run = call(query, key, value, is_causal=True)
    assert run.audit(), run.audit()
    # Row 0 sees one key of seven from the first key on, and five back from the last.
    assert run.audit(causal_alignment="bottom_right").verdict == "fail"


def test_a_call_is_named_after_its_own_layer_when_an_inner_one_has_run():
    class Inner(torch_stand_in.Module):
        def forward(self, x):
            return torch_stand_in.scaled_dot_product_attention(x, x, x)

    class Outer(torch_stand_in.Module):
        def __init__(self):
            self.inner = Inner()

        def forward(self, x):
            y = self.inner(x)
            return torch_stand_in.scaled_dot_product_attention(y, x, x)

    class Model(torch_stand_in.Module):
        def __init__(self):
            self.outer = Outer()

        def forward(self, x):
            return self.outer(x)

    model = Model()
    with gqaverify.record(model, FUNCTION) as run:
        model(operands(seed=16)[0])
    assert [c.layer for c in run] == ["outer.inner", "outer"]


def test_a_call_inside_of_a_recorded_call_is_a_part_of_it():
    def outer(query, key, value):
        return torch_stand_in.scaled_dot_product_attention(query, key, value)

    outer.__name__ = FUNCTION.__name__
    globals()["held"] = outer
    query, key, value = operands(seed=15, kv_heads=6)
    with gqaverify.record(None, FUNCTION) as inner, gqaverify.record(None, outer) as run:
        held(query, key, value)  # noqa: F821
    assert (len(run), len(inner)) == (1, 1) and run.audit()


def test_dropout_is_said_to_be_random_and_is_no_pass():
    query, key, value = operands(seed=5, kv_heads=6)
    run = call(query, key, value, None, 0.1)
    assert run[0].reason == "dropout_p is 0.1: the output is random"
    audited = run.audit()
    assert audited.verdict == "undecided" and not audited
    assert "not verified" in audited.message and "random" in audited.message
    assert call(query, key, value, None, 0.0).audit()


def test_an_argument_without_a_word_is_no_pass_unless_it_is_ignored():
    query, key, value = operands(seed=6)

    class Layer(torch_stand_in.Module):
        def forward(self, query, key, value, sharpness=1.0, layer=None):
            return attend(query * np.float32(sharpness), key, value)

    layer = Layer()
    for words, verdict in (({}, "pass"), ({"sharpness": 2.0}, "undecided")):
        with gqaverify.record(layer, "") as run:
            layer(query, key, value, **words)
        assert run.audit().verdict == verdict, words
    assert "sharpness is no word of the contract" in run[0].reason
    with gqaverify.record(layer, "", ignore=["layer"]) as run:
        layer(query, key, value, layer=3)
    assert run.audit()


def test_what_is_written_into_after_the_call_was_recorded_before():
    cache = [x.copy() for x in operands(seed=7, kv_heads=6)]
    with gqaverify.record(None, FUNCTION) as run:
        output = torch_stand_in.scaled_dot_product_attention(*cache)
        for array in (*cache, output):
            array[:] = 0
    assert run.audit() and run[0].tensors()["output"].any()


def test_bits_of_bfloat16_are_kept_with_their_meaning(tmp_path):
    bits = [bfloat16_bits(x) for x in operands(seed=8)]
    output = bfloat16_bits(attend(*(from_bfloat16(x) for x in bits)))

    def kernel(query, key, value):
        return output

    globals()["held"] = kernel
    with gqaverify.record(None, kernel, folder=tmp_path, dtype="bfloat16") as run:
        held(*bits)  # noqa: F821
    assert run[0].dtype == "bfloat16", run[0].reason
    assert run.audit()
    tensors, contract, dtype = gqaverify.load_recording(run[0].path)
    assert (contract, dtype) == ({}, "bfloat16")
    assert np.array_equal(tensors["output"], output)
    # Without the word they are integers, which nobody audits and no recording holds.
    with gqaverify.record(None, kernel) as run:
        held(*bits)  # noqa: F821
    assert run.audit().verdict == "error"
    with gqaverify.record(None, kernel, folder=tmp_path / "other") as run:
        held(*bits)  # noqa: F821
    assert run.audit().verdict == "undecided" and "uint16" in run[0].reason


def test_a_folder_holds_what_the_program_audits(tmp_path):
    model = Transformer(seed=9, attention=faulty_at(1, expand=np.tile))
    words = {"causal_alignment": "top_left"}
    with gqaverify.record(model, "layers.*.attention", folder=tmp_path / "run", **words) as run:
        model(TOKENS)
        model(TOKENS)
    assert sorted(p.name for p in (tmp_path / "run").iterdir()) == sorted(
        f"layers.{n}.attention.call{i}.safetensors" for n in range(4) for i in range(2))
    assert run.audit().faults == {"layers.1.attention": ["head_map.tiled"]}
    program = os.environ.get("GQAVERIFY_PROGRAM")
    if not program:
        pytest.skip("without the program")
    done = subprocess.run(
        [program, "audit", str(tmp_path / "run"), "--json", "-"],
        capture_output=True, text=True, check=False)
    report = json.loads(done.stdout)
    failed = [case["path"] for case in report["cases"] if case["verdict"] == "fail"]
    assert [os.path.basename(p) for p in failed] == [
        f"layers.1.attention.call{i}.safetensors" for i in range(2)]


def test_only_so_many_calls_of_a_layer_are_kept():
    model = Transformer(seed=10)
    with gqaverify.record(model, "layers.*.attention", per_layer=1) as run:
        for _ in range(3):
            model(TOKENS)
    assert [c.index for c in run] == [0, 0, 0, 0]


def test_an_error_of_the_model_is_its_own_and_nothing_is_left_behind():
    model = Transformer(seed=11)
    with pytest.raises(IndexError):
        with gqaverify.record(model, "layers.*.attention") as run:
            model(np.array([[99]]))
    assert len(run) == 0
    assert run.audit().verdict == "undecided"
    with pytest.raises(gqaverify.AttentionError, match="no call was recorded"):
        run.check()
    assert not any("forward" in vars(layer) for _, layer in model.named_modules())


def test_wrong_names_are_refused():
    model = Transformer(seed=12)
    with pytest.raises(gqaverify.InputError, match="no layer is") as caught:
        with gqaverify.record(model, "layers.*.attn"):
            pass
    assert caught.value.code == "record.no_such_layer"
    assert not any("forward" in vars(layer) for _, layer in model.named_modules())
    with pytest.raises(TypeError, match="did you mean 'causal'"):
        gqaverify.record(model, "layers.*.attention", casual=True)
    with pytest.raises(TypeError, match="named_modules"):
        with gqaverify.record(3, "x"):
            pass


def test_without_torch_and_without_a_holder_nothing_is_looked_on_silently():
    def nowhere(query, key, value):
        return query

    with pytest.raises(gqaverify.InputError) as caught:
        with gqaverify.record(None, nowhere):
            pass
    assert caught.value.code == "record.function_not_found"
    if "torch" not in sys.modules:
        with pytest.raises(gqaverify.InputError, match="no torch") as caught:
            with gqaverify.record():
                pass
        assert caught.value.code == "record.no_torch"


def test_the_result_is_plain_objects_and_a_table_for_notebooks():
    model = Transformer(seed=13, attention=faulty_at(0, expand=np.tile))
    with gqaverify.record(model, ["layers.[02].attention"], causal_alignment="top_left") as run:
        model(TOKENS)
    audited = run.audit(max_ulp=1000)
    told = json.loads(json.dumps(audited.to_dict()))
    assert told["verdict"] == "fail"
    assert [c["layer"] for c in told["calls"]] == ["layers.0.attention", "layers.2.attention"]
    assert told["calls"][0]["cases"][0]["tolerance"]
    page = audited._repr_html_()
    assert "layers.2.attention" in page and "head_map.tiled" in page
    assert str(audited).splitlines()[-1] == "1 of 2 calls passed"
