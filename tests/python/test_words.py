"""Keywords and errors: whatever is wrong is refused by name."""

import copy
import pickle
from decimal import Decimal

import numpy as np
import pytest
from attention import attend, operands

import gqaverify


@pytest.fixture(name="problem")
def _problem():
    query, key, value = operands(seed=21)
    return query, key, value, attend(query, key, value)


@pytest.mark.parametrize("function", ["audit", "assert_attention", "audit_documents"])
def test_an_unknown_keyword_is_named_with_the_one_that_was_meant(problem, function):
    with pytest.raises(TypeError) as caught:
        getattr(gqaverify, function)(*problem, casual=True)
    assert str(caught.value) == (
        f"{function}() got an unexpected keyword argument 'casual'; did you mean 'causal'?")


def test_reference_takes_no_tolerance_and_no_output(problem):
    for word in ("atol", "present_key", "sample"):
        with pytest.raises(TypeError, match=f"reference.*'{word}'"):
            gqaverify.reference(*problem[:3], **{word: 1})


@pytest.mark.parametrize(
    ("words", "code", "where"),
    [
        ({"layout": "BSXD"}, "contract.unknown_value", "layout"),
        ({"head_map": [0, 1]}, "contract.head_map_length", "head_map"),
        ({"window": (1,)}, "contract.field_type", "window"),
        ({"window": (-2, 0)}, "contract.window", "window"),
        ({"scale": 0}, "contract.scale_not_positive", "scale"),
        ({"scale": float("nan")}, "rational.syntax", "scale"),
        ({"causal": "yes"}, "contract.field_type", "causal"),
        ({"empty_row": "ones"}, "contract.unknown_value", "empty_row"),
        ({"dialect": "torch"}, "contract.unknown_value", "dialect"),
        ({"sliding_window": 3}, "contract.window_word", "sliding_window"),
        ({"atol": -1}, "tolerance.negative", "atol"),
        ({"model": "f8"}, "tolerance.unknown_model", "model"),
        ({"atol": 1, "max_ulp": 1}, "tolerance.stated_twice", "max_ulp"),
        ({"accept": "anything"}, "tolerance.unknown_word", "accept"),
        ({"sample": 0}, "audit.sample", "sample"),
        ({"dtype": "float8"}, "tensor.element_type", "dtype"),
        ({"attn_mask": np.ones((3, 3), bool)}, "contract.mask_not_broadcastable", "attn_mask"),
        ({"sink": [0.0, 1.0]}, "contract.shape_mismatch", "sink"),
        ({"past_key": np.zeros((2, 2, 1, 8), "f4")}, "contract.past_incomplete", "past_value"),
        ({"nonpad_kv_seqlen": [9, 9]}, "contract.lengths", "nonpad_kv_seqlen"),
    ],
)
def test_what_does_not_fit_is_refused_with_code_and_place(problem, words, code, where):
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.audit(*problem, **words)
    assert (caught.value.code, caught.value.where) == (code, where), str(caught.value)
    assert isinstance(caught.value, ValueError)
    assert str(caught.value) == f"{where}: {caught.value.message}"


def test_wrong_shapes_are_refused_at_the_tensor(problem):
    query, key, value, output = problem
    for shapes, code, where in [
        ((query[0], key, value, output), "contract.shape_rank", "query"),
        ((query, key[..., :4], value, output), "contract.shape_mismatch", "key"),
        ((query, key, value[:, :, :3], output), "contract.shape_mismatch", "value"),
        ((query, key, value, output[:, :5]), "contract.shape_mismatch", "output"),
        ((query[:, :5], key, value, output[:, :5]), "contract.heads_not_divisible", "head_map"),
        ((query[:, :, :0], key, value, output[:, :, :0]), "audit.nothing_to_audit", "output"),
    ]:
        with pytest.raises(gqaverify.InputError) as caught:
            gqaverify.audit(*shapes)
        assert (caught.value.code, caught.value.where) == (code, where), str(caught.value)


def test_numbers_of_every_kind_mean_the_same(problem):
    query, key, value, _ = problem
    output = attend(query, key, value, scale=0.375)
    for scale in (0.375, "3/8", "0.375", "0x1.8p-2", Decimal("0.375"), np.float32(0.375)):
        result = gqaverify.audit(query, key, value, output, scale=scale)
        assert result and result.to_json()["contract"]["scale"] == "3/8", scale
    with pytest.raises(TypeError, match="scale must be a number"):
        gqaverify.audit(query, key, value, output, scale=[1])


def test_contract_fields_take_numpy_values(problem):
    query, key, value, output = problem
    result = gqaverify.audit(
        query, key, value, output, head_map=np.array([0, 0, 0, 1, 1, 1]), causal=np.bool_(False),
        window=np.array([-1, -1]), q_num_heads=np.int64(6))
    assert result.to_json()["contract"]["head_map"] == [0, 0, 0, 1, 1, 1]


def test_a_dialect_gives_its_defaults(problem):
    query, key, value, _ = problem
    output = attend(query, key, value, is_causal=True, window=(2, 0))
    result = gqaverify.audit(
        query, key, value, output, causal=True, dialect="transformers", sliding_window=3)
    assert result, str(result)
    assert result.to_json()["contract"]["window"] == [2, 0]


def test_input_errors_survive_pickle_and_copy():
    error = gqaverify.InputError("a.code", "a place", "what is wrong")
    for other in (pickle.loads(pickle.dumps(error)), copy.copy(error)):
        assert (other.code, other.where, other.message) == ("a.code", "a place", "what is wrong")
        assert str(other) == "a place: what is wrong"
