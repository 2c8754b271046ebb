"""Recordings written from Python."""

import json
import os
import struct
import subprocess

import numpy as np
import pytest

import gqaverify


def header_of(path):
    content = path.read_bytes()
    (length,) = struct.unpack("<Q", content[:8])
    return json.loads(content[8 : 8 + length]), content[8 + length :]


def test_tensors_and_contract_are_what_was_given(tmp_path):
    path = tmp_path / "a.safetensors"
    query = np.arange(8, dtype=np.float32).reshape(1, 2, 2, 2).swapaxes(1, 2)
    bits = np.array([[0x3F80, 0x4000]], dtype=np.uint16)
    tensors = {"query": query, "key": bits, "attn_mask": np.array([True, False]), "value": None}
    gqaverify.save_recording(path, {"query": query}, {"causal": True, "scale": 0.1})
    header, content = header_of(path)
    contract = json.loads(header["__metadata__"]["attention"])
    # A float means its bits.
    assert contract == {"causal": True, "scale": (0.1).hex()}
    assert header["query"] == {"dtype": "F32", "shape": [1, 2, 2, 2], "data_offsets": [0, 32]}
    assert content == np.ascontiguousarray(query).tobytes()
    gqaverify.save_recording(path, {k: v for k, v in tensors.items() if k != "query"}, {}, "bfloat16")
    header, _ = header_of(path)
    assert header["key"]["dtype"] == "BF16"
    assert header["attn_mask"] == {"dtype": "BOOL", "shape": [2], "data_offsets": [4, 6]}
    assert "value" not in header


def test_a_type_that_recordings_have_not_is_refused_and_nothing_is_left(tmp_path):
    with pytest.raises(TypeError, match="query holds complex64"):
        gqaverify.save_recording(tmp_path / "a", {"query": np.zeros(2, np.complex64)})
    with pytest.raises(TypeError, match="give it as bfloat16"):
        gqaverify.save_recording(
            tmp_path / "a", {"query": np.zeros(2, np.float32)}, dtype="bfloat16"
        )
    assert list(tmp_path.iterdir()) == []


def test_the_program_audits_what_was_saved(tmp_path):
    program = os.environ.get("GQAVERIFY_PROGRAM")
    if not program:
        pytest.skip("without the program")
    one = np.ones((1, 2, 1, 2), np.float32)
    history = np.arange(8, dtype=np.float32).reshape(1, 1, 4, 2)
    equal = np.zeros_like(history)
    path = tmp_path / "mean.safetensors"
    output = one * history.mean(2, keepdims=True)
    tensors = {"query": one, "key": equal, "value": history, "output": output}
    gqaverify.save_recording(path, tensors)
    done = subprocess.run([program, "audit", str(path)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert done.stdout.startswith("pass")
