// What a test of a kernel gets to see.
#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <vector>

#include "gqa/audit.hpp"
#include "gqa/error.hpp"
#include "support/errors.hpp"

using namespace gqa;

namespace {

// Hq = 4, Hkv = 2, one query, two keys with equal scores: every output is a mean of two values.
struct Example {
  std::vector<float> query = std::vector<float>(4 * 2, 0.0F);
  std::vector<float> key{1, 0, 0, 1, 2, 0, 0, 2};
  std::vector<float> value{1, 2, 3, 4, 10, 20, 30, 40};
  std::vector<float> output{2, 3, 2, 3, 20, 30, 20, 30};

  CheckResult check(const CheckOptions& options = {}) const {
    return check_attention({query.data(), {1, 4, 1, 2}}, {key.data(), {1, 2, 2, 2}},
                           {value.data(), {1, 2, 2, 2}}, {output.data(), {1, 4, 1, 2}}, options);
  }
};

InputError refusal(const Example& example, const CheckOptions& options) {
  return test::error_of([&] { example.check(options); });
}

}  // namespace

TEST_CASE("check_attention: a right output is true, and has no fault") {
  const CheckResult result = Example().check({.max_ulp = "0"});
  CHECK(result);
  CHECK(result.verdict() == CheckVerdict::pass);
  CHECK(result.faults().empty());
}

TEST_CASE("check_attention: a tiled map is false, and its message begins with the name") {
  Example example;
  example.output = {2, 3, 20, 30, 2, 3, 20, 30};
  const CheckResult result = example.check();
  CAPTURE(result.message());
  CHECK_FALSE(result);
  CHECK(result.verdict() == CheckVerdict::fail);
  CHECK(result.faults() == "head_map.tiled");
  CHECK(result.message().starts_with("attention is wrong: head_map.tiled\n"));
  CHECK(result.message().find("query heads 1 and 2") != std::string::npos);
  std::ostringstream stream;
  stream << result;
  CHECK(stream.str() == result.message());
}

TEST_CASE("check_attention: what no fault explains is told by its place") {
  Example example;
  example.output[3] = 17;
  const CheckResult result = example.check();
  CHECK(result.verdict() == CheckVerdict::fail);
  CHECK(result.faults().empty());
  CAPTURE(result.message());
  CHECK(result.message().starts_with("attention is wrong: "));
  const std::string first = result.message().substr(0, result.message().find('\n'));
  CHECK(first.find("one row (column 1 of head 1)") != std::string::npos);
}

TEST_CASE("check_attention: NaN fails in the output, and decides nothing in a visible operand") {
  Example wrong;
  wrong.output[0] = std::numeric_limits<float>::quiet_NaN();
  CHECK(wrong.check({.atol = "1e300"}).verdict() == CheckVerdict::fail);
  Example open;
  open.key[0] = std::numeric_limits<float>::quiet_NaN();
  const CheckResult result = open.check();
  CHECK_FALSE(result);
  CHECK(result.verdict() == CheckVerdict::undecided);
  CHECK(result.message().starts_with("attention was not verified\n"));
}

TEST_CASE("check_attention: the contract, the mask and the tolerance are taken") {
  Example example;
  example.output = {1, 2, 1, 2, 10, 20, 10, 20};  // key 0 alone
  CHECK(example.check({.contract = R"({"window": [0, -1], "causal": true,
                                       "causal_alignment": "top_left"})"}));
  const bool mask[] = {true, false};
  CHECK(example.check({.attn_mask = TensorView(mask, {2})}));
  const std::int64_t lengths[] = {1};
  CHECK(example.check({.nonpad_kv_seqlen = TensorView(lengths, {1})}));
  example.output[0] = 1.5F;
  CHECK(example.check({.atol = "0.5", .attn_mask = TensorView(mask, {2})}));
  CHECK_FALSE(example.check({.atol = "0.4999", .attn_mask = TensorView(mask, {2})}));
}

TEST_CASE("check_attention: strides are honoured, and half precision comes as bits") {
  Example example;
  // Value as [Hkv, S, dv] stored with its first two axes exchanged.
  const std::vector<float> exchanged{1, 2, 10, 20, 3, 4, 30, 40};
  const std::vector<float>& output = example.output;
  CHECK(check_attention({example.query.data(), {1, 4, 1, 2}}, {example.key.data(), {1, 2, 2, 2}},
                        {exchanged.data(), {1, 2, 2, 2}, {8, 2, 4, 1}},
                        {output.data(), {1, 4, 1, 2}}));
  // binary16: 0x3c00 is 1, 0x4000 is 2, 0x3e00 is 1.5.
  const std::uint16_t query = 0;
  const std::uint16_t pair[] = {0x3c00, 0x4000};
  const std::uint16_t mean = 0x3e00;
  const auto half = [](const std::uint16_t* bits, std::int64_t keys) {
    return TensorView(bits, ElementType::binary16, {1, 1, keys, 1});
  };
  const std::uint16_t zero_keys[] = {0, 0};
  CHECK(check_attention(half(&query, 1), half(zero_keys, 2), half(pair, 2), half(&mean, 1),
                        {.max_ulp = "0"}));
}

TEST_CASE("check_attention: bad input is refused at its name") {
  const Example example;
  const struct {
    CheckOptions options;
    const char* code;
    const char* where;
  } cases[] = {
      {{.contract = "{"}, "json.syntax", "contract"},
      {{.contract = R"({"casual": true})"}, "contract.unknown_field", "contract: casual"},
      {{.contract = R"({"head_map": [0]})"}, "contract.head_map_length", "head_map"},
      {{.max_ulp = "1", .model = "f32"}, "tolerance.stated_twice", "model"},
      {{.max_ulp = "many"}, "rational.syntax", "max_ulp"},
      {{.sink = TensorView(example.key.data(), {2})}, "contract.shape_mismatch", "sink"},
      {{.attn_mask = TensorView(static_cast<const bool*>(nullptr), {2})},
       "tensor.no_data",
       "attn_mask"},
  };
  for (const auto& wrong : cases) {
    const InputError error = refusal(example, wrong.options);
    CHECK(error.code() == wrong.code);
    CHECK(error.where() == wrong.where);
  }
}
