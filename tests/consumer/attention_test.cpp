// A kernel's own test, as a project that uses an installed gqaverify writes it with doctest.
#define DOCTEST_CONFIG_IMPLEMENT_WITH_MAIN
#include "attention.hpp"

#include <doctest/doctest.h>

#include <gqa/audit.hpp>

namespace {

constexpr Sizes sizes{.q_heads = 6, .kv_heads = 2, .queries = 5, .keys = 7, .width = 8};

gqa::CheckResult checked(KvHead kv_head_of) {
  const Operands o = operands(sizes);
  const std::vector<float> output = attention(sizes, o, kv_head_of);
  return gqa::check_attention({o.query.data(), {1, 6, 5, 8}}, {o.key.data(), {1, 2, 7, 8}},
                              {o.value.data(), {1, 2, 7, 8}}, {output.data(), {1, 6, 5, 8}},
                              {.contract = R"({"causal": true})"});
}

}  // namespace

TEST_CASE("right: heads share their group's history") {
  const gqa::CheckResult result = checked([](int head) { return head / 3; });
  CHECK_MESSAGE(result, result.message());
  CHECK(result.faults() == "");
}

// Run alone, to be seen failing.
TEST_CASE("wrong: heads are tiled") {
  const gqa::CheckResult result = checked([](int head) { return head % 2; });
  CHECK_MESSAGE(result, result.message());
}
