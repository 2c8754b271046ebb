#include "gqa/io/json.hpp"

#include <doctest/doctest.h>

#include <chrono>

#include "io/io_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

InputError error_of_text(std::string_view text) {
  return error_of([&] { parse_json_strictly(text, "file.json"); });
}

std::string nested(int depth) {
  return std::string(static_cast<std::size_t>(depth), '[') +
         std::string(static_cast<std::size_t>(depth), ']');
}

}  // namespace

TEST_CASE("json: well-formed text of every kind is read") {
  const nlohmann::json value = parse_json_strictly(
      R"( {"a": [1, -2, 2.5, true, null], "b": {"a": "x\u00e9"}, "": {}} )", "file.json");
  CHECK(value["a"][0].is_number_unsigned());
  CHECK(value["a"][1] == -2);
  CHECK(value["a"][2] == 2.5);
  CHECK(value["a"][3] == true);
  CHECK(value["a"][4].is_null());
  CHECK(value["b"]["a"] == "x\xc3\xa9");
  CHECK(value[""].empty());
  CHECK(parse_json_strictly("7", "file.json") == 7);
}

TEST_CASE("json: a duplicate key is refused, naming its path") {
  const auto check = [](std::string_view text, const std::string& where) {
    CAPTURE(text);
    const InputError error = error_of_text(text);
    CHECK(error.code() == "json.duplicate_key");
    CHECK(error.where() == where);
  };
  check(R"({"a": 1, "a": 1})", "file.json: a");
  check(R"({"a": 1, "b": 2, "a": {}})", "file.json: a");
  check(R"({"a": 1, "\u0061": 2})", "file.json: a");
  check(R"({"a": {"b": 1, "b": 2}})", "file.json: a.b");
  check(R"([[], {"k": 1}, {"k": [0, {"x": 1, "x": 2}]}])", "file.json: [2].k[1].x");
  check(R"({"": 1, "": 2})", "file.json: ");
  check(R"({"line\nbreak": 1, "line\nbreak": 2})", "file.json: line\\nbreak");
}

TEST_CASE("json: the same key in different objects is no duplicate") {
  CHECK(error_of_text(R"({"a": {"a": 1}, "b": [{"a": 1}, {"a": 1}]})").code() == "none");
}

TEST_CASE("json: what is not JSON is refused with its byte offset") {
  const auto check = [](std::string_view text, const std::string& offset) {
    CAPTURE(text);
    const InputError error = error_of_text(text);
    CHECK(error.code() == "json.syntax");
    CHECK(error.where() == "file.json");
    CHECK_MESSAGE(error.message().starts_with("at byte " + offset + ": "), error.message());
  };
  check("", "0");
  check("{\"a\": }", "6");
  check("{\"a\": 1} x", "9");
  check("{\"a\": 1}{}", "8");
  check("[1,]", "3");
  check("{'a': 1}", "1");
  check("[01]", "2");
  check("[NaN]", "1");
  check("[1] // no comments", "4");
  check("[\"\xff\"]", "2");
  check("[\"\xc3\"]", "3");
  check("[\"\xed\xa0\x80\"]", "3");
  check("[\"\\ud800\"]", "8");
  check(std::string_view("[1]\0[2]", 7), "3");
  check(std::string_view("[\"\0\"]", 5), "2");
}

TEST_CASE("json: a number beyond binary64 is refused") {
  const InputError error = error_of_text("[1e400]");
  CHECK(error.code() == "json.syntax");
  CHECK(error.where() == "file.json");
}

TEST_CASE("json: an integer beyond 64 bits is not an integer any more") {
  const nlohmann::json value = parse_json_strictly("[18446744073709551616, -0]", "file.json");
  CHECK(value[0].is_number_float());
  CHECK_FALSE(value[1].is_number_unsigned());
}

TEST_CASE("json: nesting is allowed to the limit and refused beyond it") {
  CHECK(error_of_text(nested(max_json_depth)).code() == "none");
  const InputError error = error_of_text(nested(max_json_depth + 1));
  CHECK(error.code() == "json.too_deep");
  CHECK(error.where().starts_with("file.json: [0][0]"));
  CHECK(error_of_text(std::string(1000000, '[')).code() == "json.too_deep");
  std::string objects;
  for (int i = 0; i < 1000; ++i) objects += R"({"a":)";
  CHECK(error_of_text(objects).code() == "json.too_deep");
}

TEST_CASE("json: foreign text is shortened and escaped for messages") {
  CHECK(printable("plain.name-1") == "plain.name-1");
  CHECK(printable("a\nb\x1b[0m") == "a\\nb\\u001b[0m");
  CHECK(printable("\xff") == "\\ufffd");
  CHECK(printable(std::string(1000, 'x')) == std::string(160, 'x') + "...");
}

TEST_CASE("json: many keys and many objects cost time in proportion to the text") {
  // Quadratic in the 200,000 objects, this took minutes.
  std::string text = "{";
  for (int i = 0; i < 200000; ++i) text += (i > 0 ? ",\"" : "\"") + std::to_string(i) + "\":{}";
  const auto start = std::chrono::steady_clock::now();
  CHECK(parse_json_strictly(text + "}", "file.json").size() == 200000);
  CHECK(error_of_text(text + R"(,"77":1})").where() == "file.json: 77");
  const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
  CHECK(taken.count() < 20);  // a second, on a machine that is not busy
}

TEST_CASE("json: exponents of exact numbers are counted before anything is made of them") {
  const auto refusal = [](std::size_t count, const std::string& number) {
    const nlohmann::json document{{"a", {std::vector<std::string>(count, number)}}};
    return refusal_of([&] { require_moderate_exponents(document, "file.json"); });
  };
  const std::string refused = "json.numbers_too_large at file.json";
  CHECK(refusal(200, "1e20000") == "none");
  CHECK(refusal(201, "1e20000") == refused);
  CHECK(refusal(201, "-1.5E-20000") == refused);
  CHECK(refusal(201, "0x1p+20000") == refused);
  CHECK(refusal(1000000, "2*ln(3)") == "none");
  CHECK(refusal(41, "1e" + std::string(1000, '9')) == refused);
}
