"""ledger and enumerate_cases."""

import json

import pytest

import gqaverify

LLAMA = {
    "model_type": "llama", "hidden_size": 4096, "num_attention_heads": 32,
    "num_key_value_heads": 8, "num_hidden_layers": 32, "head_dim": 128, "torch_dtype": "bfloat16",
    "max_position_embeddings": 131072, "vocab_size": 128256}


def test_the_ledger_of_a_configuration_from_a_mapping_a_file_and_a_directory(tmp_path):
    # 32 layers, 8 heads, 128 wide, keys and values of 2 bytes.
    per_position = 32 * 8 * 128 * 2 * 2
    (tmp_path / "config.json").write_text(json.dumps(LLAMA))
    reports = [
        gqaverify.ledger(source, positions=8192, batch=4)
        for source in (LLAMA, tmp_path, str(tmp_path / "config.json"))]
    for report in reports:
        assert report["schema"] == "gqaverify.ledger/1"
        text = json.dumps(report.to_dict())
        assert str(per_position) in text
        assert str(per_position * 8192 * 4) in text
    halved = gqaverify.ledger(LLAMA, key_type="int8", value_type="int8")
    assert str(per_position // 2) in json.dumps(halved.to_dict())


def test_the_ledger_refuses_what_is_missing_and_what_cannot_be():
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.ledger({k: v for k, v in LLAMA.items() if k != "hidden_size"})
    assert caught.value.code == "model_config.missing_field"
    # Its file is the one that the fields were put in for the program.
    assert caught.value.where == "input: hidden_size"
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.ledger(LLAMA, positions=1, ranks=5)
    assert (caught.value.code, caught.value.where) == ("ledger.ranks_not_divisible", "ranks")
    with pytest.raises(gqaverify.InputError, match="no such file"):
        gqaverify.ledger("/nowhere/config.json")


@pytest.mark.parametrize("engine", ["gmp", "boost"])
def test_the_enumeration_of_twelve_heads(engine):
    report = gqaverify.enumerate_cases(engine=engine)
    assert (report["cases"], report["equal"], report["pairs"]) == (210, 210, 35)
    assert report["controls"] == {"map_differs": 72, "map_coincides": 138, "detected": 72}
    assert report["engine"] == engine


def test_the_enumeration_refuses_other_sizes_and_engines():
    with pytest.raises(gqaverify.InputError) as caught:
        gqaverify.enumerate_cases(max_heads=0)
    assert "max_heads" in str(caught.value)
    with pytest.raises(gqaverify.InputError, match="engine.*gmp"):
        gqaverify.enumerate_cases(engine="floats")
