"""The harnesses of fixtures/peers, without the software that they are for."""

import math
import os
import pathlib
import subprocess
import sys

import numpy
import pytest

import gqaverify

PEERS = pathlib.Path(__file__).resolve().parents[2] / "fixtures" / "peers"
pytestmark = pytest.mark.skipif(not PEERS.is_dir(), reason="no fixtures/peers beside the tests")


@pytest.fixture
def harness(monkeypatch):
    """A module of fixtures/peers, by name."""
    monkeypatch.syspath_prepend(str(PEERS))
    return lambda name: __import__(name)


@pytest.mark.parametrize(
    "command",
    [["closed_forms.py", "jax-js", "llama.cpp", "webgpu"], ["read_off.py", "llama.cpp"],
     ["predict.py", "mlx"]],
)  # fmt: skip
def test_what_is_not_installed_is_skipped(command, tmp_path):
    environment = {
        **os.environ,
        "GQAVERIFY_PEERS": str(tmp_path),
        "PYTHONPATH": str(pathlib.Path(gqaverify.__file__).parent.parent),
    }
    program = [sys.executable, str(PEERS / command[0]), *command[1:]]
    done = subprocess.run(program, env=environment, capture_output=True, text=True)
    assert done.returncode == 77, done.stdout + done.stderr
    assert "skipped, not installed" in done.stdout + done.stderr


def _kernel(order):
    """Zero queries: every row is the mean of the values, summed by `order`, in binary32."""

    def attention(query, key, value):
        sums = order(value[0, 0].astype(numpy.float32)) / numpy.float32(value.shape[2])
        return numpy.broadcast_to(sums, (1, 1, query.shape[2], value.shape[3]))

    return attention


def test_a_prediction_holds_for_the_kernel_that_sums_so_and_for_no_other(harness):
    predict = harness("predict")
    orders = [
        predict.sequential, predict.split_in_two, predict.tiles(4), predict.tiles(128),
        predict.two_lanes_in_tiles(128), predict.in_binary16,
    ]  # fmt: skip
    for kernel in orders:
        for order in orders:
            share = predict.predicted_share(_kernel(kernel), "float32", 1, order)
            assert (share == 1) == (kernel is order), (kernel, order, share)
            assert kernel is order or share < 0.5, (kernel, order, share)


def test_sums_of_ones_stall_where_the_page_says(harness):
    predict = harness("predict")
    # 2048 + 1 lies halfway between 2048 and 2050 in binary16, and 2048 is even.
    for keys, mean in ((2048, 1), (4096, 0.5), (8192, 0.25)):
        assert predict.in_binary16(numpy.ones((keys, 1)))[0] / keys == mean
    # 256 + 1 lies halfway between 256 and 258 in bfloat16.
    peer = harness("peer")
    total = numpy.float32(0)
    for _ in range(4096):
        total = peer.from_bfloat16(peer.to_bfloat16([total + numpy.float32(1)]))[0]
    assert total / 4096 == 0.0625


def test_a_softcap_of_one_leaves_e_to_one():
    ones = numpy.ones((1, 1, 1, 1), numpy.float32)
    key = numpy.array([0, 100], numpy.float32).reshape(1, 1, 2, 1)
    value = numpy.array([0, 1], numpy.float32).reshape(1, 1, 2, 1)
    exact = gqaverify.reference(ones, key, value, scale=1, softcap=1)
    assert exact.values[0, 0, 0, 0] == pytest.approx(math.e / (1 + math.e), abs=1e-15)


def test_a_mask_of_ggml_hides_what_a_short_mask_does_not_reach(harness):
    bias_of = harness("llama_cpp")._bias_of
    hidden = -math.inf
    bias = bias_of(numpy.array([[True, False]]), (1, 1, 2, 3))
    assert bias.tolist() == [[[[0, hidden, hidden]] * 2]]
    assert bias_of(numpy.array([[True]]), (1, 1, 1, 2)).tolist() == [[[[0, 0]]]]
