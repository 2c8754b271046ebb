#include "gqa/io/contract_json.hpp"

#include <doctest/doctest.h>

#include "gqa/attention/dialect.hpp"
#include "gqa/io/json.hpp"
#include "io/io_support.hpp"

using namespace gqa;

namespace {

Contract contract_of(const std::string& text) {
  Contract contract;
  read_contract(parse_json_strictly(text, "file"), contract, "file");
  return contract;
}

std::string refusal(const std::string& text) {
  const InputError error = test::error_of([&] { contract_of(text); });
  return error.code() + " at " + error.where();
}

}  // namespace

TEST_CASE("contract_json: every field is read") {
  const Contract c = contract_of(
      R"({"layout": "BSH", "q_num_heads": 8, "kv_num_heads": 2, "head_map": "interleaved",
          "scale": 0.1, "causal": true, "causal_alignment": "top_left", "window": [4, 0],
          "softcap": "5/2", "empty_row": "nan", "dialect": "onnx"})");
  CHECK(c.layout == Layout::bsh);
  CHECK(c.q_num_heads == 8);
  CHECK(c.kv_num_heads == 2);
  CHECK(c.head_map.kind == HeadMapKind::interleaved);
  CHECK(*c.scale == make_rational(1, 10));
  CHECK(c.causal);
  CHECK(c.causal_alignment == CausalAlignment::top_left);
  CHECK(c.window == Window{4, 0});
  CHECK(c.softcap == make_rational(5, 2));
  CHECK(c.empty_row == EmptyRow::nan);
  CHECK(c.dialect == "onnx");
}

TEST_CASE("contract_json: absent fields stay as they are") {
  Contract contract;
  contract.causal = true;
  contract.window = {3, 0};
  read_contract(parse_json_strictly(R"({"softcap": 30})", "f"), contract, "f");
  CHECK(contract.causal);
  CHECK(contract.window == Window{3, 0});
  CHECK(contract.softcap == 30);
}

TEST_CASE("contract_json: a head map may be a list, a scale a fraction or a hexadecimal float") {
  CHECK(contract_of(R"({"head_map": [0, 0, 1]})").head_map ==
        HeadMap{HeadMapKind::explicit_list, {0, 0, 1}});
  CHECK(*contract_of(R"({"scale": "1/3"})").scale == make_rational(1, 3));
  CHECK(*contract_of(R"({"scale": "0x1p-3"})").scale == make_rational(1, 8));
  CHECK(*contract_of(R"({"scale": 2})").scale == 2);
  CHECK_FALSE(contract_of(R"({"scale": "default"})").scale.has_value());
}

TEST_CASE("contract_json: a field of another name is refused, naming it") {
  CHECK(refusal(R"({"causl": true})") == "contract.unknown_field at file: causl");
  CHECK(refusal(R"({"Causal": true})") == "contract.unknown_field at file: Causal");
}

TEST_CASE("contract_json: a value of another type is refused at its field") {
  const std::pair<const char*, const char*> cases[] = {
      {"layout", "1"},
      {"layout", "null"},
      {"q_num_heads", "\"8\""},
      {"q_num_heads", "8.0"},
      {"q_num_heads", "0"},
      {"q_num_heads", "-8"},
      {"kv_num_heads", "0"},
      {"kv_num_heads", "true"},
      {"head_map", "7"},
      {"head_map", "[0, 1.0]"},
      {"head_map", "[0, \"1\"]"},
      {"scale", "true"},
      {"scale", "null"},
      {"scale", "[1]"},
      {"causal", "1"},
      {"causal", "\"true\""},
      {"causal_alignment", "0"},
      {"window", "3"},
      {"window", "[3]"},
      {"window", "[3, 0, 0]"},
      {"window", "[3, 0.5]"},
      {"window", "\"3,0\""},
      {"softcap", "false"},
      {"empty_row", "0"},
      {"dialect", "7"},
      // 2^64 - 1 and 2^63 would wrap around to -1 and the most negative number.
      {"window", "[18446744073709551615, 0]"},
      {"window", "[0, 9223372036854775808]"},
      {"q_num_heads", "18446744073709551615"},
      {"head_map", "[18446744073709551615]"},
  };
  for (const auto& [field, value] : cases) {
    CAPTURE(field);
    CAPTURE(value);
    CHECK(refusal(std::string("{\"") + field + "\": " + value + "}") ==
          std::string("contract.field_type at file: ") + field);
  }
  CHECK(refusal("[]") == "contract.field_type at file");
  CHECK(refusal("null") == "contract.field_type at file");
  CHECK(refusal("\"causal\"") == "contract.field_type at file");
}

TEST_CASE("contract_json: a value that is not known or breaks a rule is refused at its field") {
  CHECK(refusal(R"({"layout": "BHDS"})") == "contract.unknown_value at file: layout");
  CHECK(refusal(R"({"causal_alignment": "bottom"})") ==
        "contract.unknown_value at file: causal_alignment");
  CHECK(refusal(R"({"empty_row": "average"})") == "contract.unknown_value at file: empty_row");
  CHECK(refusal(R"({"head_map": "explicit"})") == "contract.unknown_value at file: head_map");
  CHECK(refusal(R"({"head_map": [0, -1]})") == "contract.head_map_entry at file: head_map");
  CHECK(refusal(R"({"scale": 0})") == "contract.scale_not_positive at file: scale");
  CHECK(refusal(R"({"scale": "x"})") == "rational.syntax at file: scale");
  CHECK(refusal(R"({"scale": ""})") == "rational.empty at file: scale");
  CHECK(refusal(R"({"scale": "1/0"})") == "rational.zero_denominator at file: scale");
  CHECK(refusal(R"({"window": [-2, 0]})") == "contract.window at file: window");
  CHECK(refusal(R"({"softcap": -1})") == "contract.softcap_negative at file: softcap");
  CHECK(refusal(R"({"softcap": "nan"})") == "rational.syntax at file: softcap");
  CHECK(refusal(R"({"layout": "BSH"})") == "contract.layout_heads at file: layout");
}

TEST_CASE("contract_json: what is written is read back as the same contract") {
  Contract contract;
  contract.layout = Layout::bsh;
  contract.q_num_heads = 6;
  contract.kv_num_heads = 2;
  contract.head_map = {HeadMapKind::explicit_list, {0, 1, 0, 1, 1, 1}};
  contract.scale = make_rational(1, 3);
  contract.causal = true;
  contract.causal_alignment = CausalAlignment::onnx;
  contract.window = {7, -1};
  contract.softcap = make_rational(61, 2);
  contract.empty_row = EmptyRow::any;
  contract.dialect = "onnx";
  for (const Contract& c : {contract, Contract()}) {
    const auto json = to_json(c);
    const Contract back = contract_of(json.dump());
    CHECK(to_json(back) == json);
    CHECK(back.head_map == c.head_map);
    CHECK(back.scale == c.scale);
    CHECK(back.softcap == c.softcap);
    CHECK(back.window == c.window);
    CHECK(back.q_num_heads == c.q_num_heads);
  }
}

TEST_CASE("contract_json: a dialect's window word is kept until the dialect is known") {
  const Contract before = contract_of(R"({"sliding_window": 4, "dialect": "transformers"})");
  CHECK(before.window_word == WindowWord{"sliding_window", 4});
  CHECK(resolve_dialect(before).window == Window{3, 0});
  Contract contract = contract_of(R"({"local_window_size": 4})");
  read_contract(parse_json_strictly(R"({"dialect": "onnxruntime-gqa@old"})", "f"), contract, "f");
  CHECK(resolve_dialect(contract).window == Window{4, 0});
  // The later statement wins, in whatever word.
  read_contract(parse_json_strictly(R"({"window": [7, 0]})", "f"), contract, "f");
  CHECK(resolve_dialect(contract).window == Window{7, 0});
  read_contract(parse_json_strictly(R"({"local_window_size": -1})", "f"), contract, "f");
  CHECK(resolve_dialect(contract).window == Window{-1, -1});
}

TEST_CASE("contract_json: stated fields win over the dialect, whatever comes first") {
  Contract contract = contract_of(R"({"empty_row": "nan", "causal_alignment": "onnx"})");
  read_contract(parse_json_strictly(R"({"dialect": "jax"})", "f"), contract, "f");
  CHECK(resolve_dialect(contract).empty_row == EmptyRow::nan);
  CHECK(resolve_dialect(contract).causal_alignment == CausalAlignment::onnx);
  contract = contract_of(R"({"dialect": "jax"})");
  CHECK(resolve_dialect(contract).empty_row == EmptyRow::mean);
  read_contract(parse_json_strictly(R"({"empty_row": "zero"})", "f"), contract, "f");
  CHECK(resolve_dialect(contract).empty_row == EmptyRow::zero);
}

TEST_CASE("contract_json: dialects and their windows are refused with field and code") {
  CHECK(refusal(R"({"dialect": "tensorflow"})") == "contract.unknown_value at file: dialect");
  CHECK(refusal(R"({"dialect": 3})") == "contract.field_type at file: dialect");
  CHECK(refusal(R"({"sliding_window": "4"})") == "contract.field_type at file: sliding_window");
  CHECK(refusal(R"({"n_swa": 0})") == "contract.window at file: n_swa");
  CHECK(refusal(R"({"n_swa": 4, "window": [3, 0]})") ==
        "contract.window_stated_twice at file: window");
  CHECK(refusal(R"({"n_swa": 4, "sliding_window": 4})") ==
        "contract.window_stated_twice at file: n_swa");
}

TEST_CASE("contract_json: a resolved dialect is written with its window spelled out") {
  const auto json =
      to_json(resolve_dialect(contract_of(R"({"sliding_window": 4, "dialect": "transformers"})")));
  CHECK(json["window"] == nlohmann::ordered_json::array({3, 0}));
  CHECK(json["dialect"] == "transformers");
  CHECK_FALSE(json.contains("sliding_window"));
  CHECK(resolve_dialect(contract_of(json.dump())).window == Window{3, 0});
}
