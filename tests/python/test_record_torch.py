"""record() with PyTorch itself: the function's own arguments, modules, types and autocast."""

import contextlib

import numpy as np
import pytest

import gqaverify

torch = pytest.importorskip("torch")
functional = torch.nn.functional
if not hasattr(functional, "scaled_dot_product_attention"):
    pytest.skip("this PyTorch has no attention function", allow_module_level=True)

HAS_GQA = "enable_gqa" in (functional.scaled_dot_product_attention.__doc__ or "")


class Attention(torch.nn.Module):
    """Projections, grouped heads, PyTorch's function."""

    def __init__(self, width=32, heads=4, kv_heads=2, size=8, fault=None):
        super().__init__()
        self.size, self.fault = size, fault
        self.heads, self.kv_heads = heads, kv_heads
        self.to_query = torch.nn.Linear(width, heads * size)
        self.to_key = torch.nn.Linear(width, kv_heads * size)
        self.to_value = torch.nn.Linear(width, kv_heads * size)
        self.out = torch.nn.Linear(heads * size, width)
        self.core = Core(heads // kv_heads, fault)

    def forward(self, x):
        query, key, value = (
            project(x).unflatten(-1, (-1, self.size)).transpose(1, 2)
            for project in (self.to_query, self.to_key, self.to_value))
        return self.out(self.core(query, key, value, is_causal=True).transpose(1, 2).flatten(2))


class Core(torch.nn.Module):
    """query [B, Hq, T, d], key and value [B, Hkv, T, d] -> [B, Hq, T, d]"""

    def __init__(self, group, fault):
        super().__init__()
        self.group, self.fault = group, fault

    def forward(self, query, key, value, is_causal=False):
        if self.fault == "tiled":
            key, value = (x.repeat(1, self.group, 1, 1) for x in (key, value))
        else:
            key, value = (x.repeat_interleave(self.group, dim=1) for x in (key, value))
        words = {"scale": 1.0} if self.fault == "scale" else {}
        return torch.nn.functional.scaled_dot_product_attention(
            query, key, value, is_causal=is_causal, **words)


def model_of(faults, seed=0):
    torch.manual_seed(seed)
    return torch.nn.Sequential(*[Attention(fault=fault) for fault in faults])


@pytest.mark.parametrize("fault, name", [("tiled", "head_map.tiled"), ("scale", "scale.missing")])
def test_a_fault_planted_in_one_layer_is_found_by_its_name(fault, name):
    model = model_of([None, None, fault, None])
    x = torch.randn(2, 9, 32)
    with gqaverify.record(model, "*.core", dialect="pytorch") as run:
        model(x)
    audited = run.audit()
    assert [call.verdict for call in audited.calls] == ["pass", "pass", "fail", "pass"], audited
    assert audited.faults == {"2.core": [name]}
    with pytest.raises(gqaverify.AttentionError, match=f"2.core, call 0: {name}"):
        run.check()


@pytest.mark.parametrize("dtype", ["float64", "float32", "float16", "bfloat16"])
def test_the_function_is_recorded_in_every_type_and_its_outputs_pass(dtype, tmp_path):
    model = model_of([None, None], seed=1).to(getattr(torch, dtype))
    x = torch.randn(2, 9, 32).to(getattr(torch, dtype))
    with gqaverify.record(model, folder=tmp_path) as run:
        plain = model(x)
    assert [call.layer for call in run] == ["0.core", "1.core"]
    assert run.audit(), run.audit()
    assert torch.equal(plain, model(x)) and len(run) == 2


def test_masks_scale_and_axes_are_as_pytorch_means_them():
    torch.manual_seed(2)
    query, key, value = torch.randn(2, 4, 3, 8), torch.randn(2, 4, 7, 8), torch.randn(2, 4, 7, 8)
    boolean = torch.rand(3, 7) < 0.7
    boolean[:, 0] = True
    calls = [
        {"is_causal": True},  # fewer rows than keys: positions count from the first key
        {"attn_mask": boolean},
        {"attn_mask": torch.randn(2, 1, 3, 7)},
        {"attn_mask": torch.zeros(3, 7).masked_fill(~boolean, -torch.inf), "scale": 0.3},
    ]
    with gqaverify.record() as run:
        for words in calls:
            functional.scaled_dot_product_attention(query, key, value, **words)
        functional.scaled_dot_product_attention(query[0], key[0], value[0])
        functional.scaled_dot_product_attention(query[0, 0], key[0, 0], value[0, 0])
        functional.scaled_dot_product_attention(query[None], key[None], value[None])
    assert all(call.layer == "scaled_dot_product_attention" for call in run)
    assert run.audit(), run.audit()
    assert run.audit(scale=0.5).verdict == "fail"


@pytest.mark.skipif(not HAS_GQA, reason="enable_gqa came with PyTorch 2.5")
def test_grouped_heads_of_the_function_itself():
    torch.manual_seed(3)
    query, key, value = torch.randn(2, 6, 5, 8), torch.randn(2, 2, 5, 8), torch.randn(2, 2, 5, 8)
    with gqaverify.record() as run:
        functional.scaled_dot_product_attention(query, key, value, enable_gqa=True)
    assert run[0].tensors()["key"].shape == (2, 2, 5, 8)
    assert run.audit(), run.audit()
    assert run.audit(head_map="interleaved").faults


def test_under_autocast_the_rounded_inputs_are_recorded():
    model = model_of([None], seed=4)
    with gqaverify.record(model) as run:
        with torch.autocast("cpu", dtype=torch.bfloat16):
            model(torch.randn(2, 9, 32))
            functional.scaled_dot_product_attention(*torch.randn(3, 1, 2, 5, 8))
    assert [call.dtype for call in run] == ["bfloat16", "bfloat16"], [c.reason for c in run]
    assert run.audit(), run.audit()


def test_dropout_is_undecided_and_gradients_are_left_alone():
    query, key, value = (torch.randn(1, 2, 4, 8, requires_grad=True) for _ in range(3))
    with gqaverify.record() as run:
        functional.scaled_dot_product_attention(query, key, value, dropout_p=0.5)
        functional.scaled_dot_product_attention(query, key, value).sum().backward()
    assert [call.verdict for call in run.audit().calls] == ["undecided", "pass"]
    assert query.grad is not None and query.grad.shape == query.shape


def test_a_name_that_was_imported_before_is_recorded_too():
    from torch.nn.functional import scaled_dot_product_attention as attend

    globals()["imported"] = attend
    with gqaverify.record() as run:
        imported(*torch.randn(3, 1, 2, 5, 8))  # noqa: F821
    assert len(run) == 1 and run.audit()
    assert functional.scaled_dot_product_attention is attend is globals()["imported"]


def test_multihead_attention_is_recorded_where_it_calls_the_function():
    torch.manual_seed(5)
    layer = torch.nn.MultiheadAttention(16, 4, batch_first=True)
    with gqaverify.record(layer) as run:
        x = torch.randn(2, 5, 16)
        layer(x, x, x, need_weights=False)
    assert len(run) == 1 and run.audit(), run.audit()


def test_saved_and_loaded_tensors_are_those_of_pytorch(tmp_path):
    tensors = {"query": torch.randn(1, 2, 3, 4).to(torch.bfloat16).requires_grad_()}
    gqaverify.save_recording(tmp_path / "a.safetensors", tensors, {"causal": True})
    loaded, contract, dtype = gqaverify.load_recording(tmp_path / "a.safetensors")
    bits = tensors["query"].detach().view(torch.int16).numpy().view(np.uint16)
    assert (contract, dtype) == ({"causal": True}, "bfloat16")
    assert np.array_equal(loaded["query"], bits)
    with contextlib.suppress(ImportError):
        safetensors = __import__("safetensors.torch").torch
        assert torch.equal(safetensors.load_file(tmp_path / "a.safetensors")["query"],
                           tensors["query"].detach())
