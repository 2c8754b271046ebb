// The probes themselves: few, the same numbers in every type, and distinct.
#include "gqa/diagnose/probes/probe.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <set>

#include "diagnose/planted_faults.hpp"
#include "gqa/diagnose/probes/probe_list.hpp"
#include "support/errors.hpp"

using namespace gqa;

namespace {

constexpr std::array probe_types{ElementType::binary64,      ElementType::binary32,
                                 ElementType::binary16,      ElementType::bfloat16,
                                 ElementType::float8_e4m3fn, ElementType::float8_e5m2};

std::vector<std::pair<std::string, std::shared_ptr<const TypedTensor>>> operands_of(
    const Probe& probe) {
  const ProblemTensors& t = probe.tensors;
  std::vector<std::pair<std::string, std::shared_ptr<const TypedTensor>>> operands;
  for (const auto& [label, tensor] : {std::pair{"query", t.query},
                                      {"key", t.key},
                                      {"value", t.value},
                                      {"past_key", t.past_key},
                                      {"past_value", t.past_value},
                                      {"attn_mask", t.attn_mask},
                                      {"sink", t.sink},
                                      {"alibi_slopes", t.alibi_slopes}}) {
    if (tensor && float_format(tensor->type) != nullptr) operands.emplace_back(label, tensor);
  }
  return operands;
}

bool is_narrow(double x) {
  const auto is_exact = [x](ElementType type) {
    return encode_exact(*float_format(type), x).has_value();
  };
  return std::isnan(x) || x == -std::numeric_limits<double>::infinity() ||
         (is_exact(ElementType::float8_e4m3fn) && is_exact(ElementType::float8_e5m2));
}

}  // namespace

TEST_CASE("probes: at most 64, with names of their own, in every type") {
  for (const ElementType type : probe_types) {
    CAPTURE(name(type));
    std::set<std::string> names;
    const auto all = probes(type);
    for (const Probe& probe : all) {
      CAPTURE(probe.name);
      CHECK(names.insert(probe.name).second);
      CHECK_FALSE(probe.reads.empty());
      CHECK(probe.tensors.output == nullptr);
      CHECK(probe.tensors.query->type == type);
    }
    CHECK(all.size() <= 64);
    CHECK(all.size() >= 40);
  }
}

TEST_CASE(
    "probes: every operand is exact in both float8 types, and the same number in every type") {
  const auto reference = probes(ElementType::binary64);
  for (const ElementType type : probe_types) {
    CAPTURE(name(type));
    const auto all = probes(type);
    REQUIRE(all.size() == reference.size());
    for (std::size_t n = 0; n < all.size(); ++n) {
      CAPTURE(all[n].name);
      CHECK(all[n].name == reference[n].name);
      const auto operands = operands_of(all[n]);
      const auto expected = operands_of(reference[n]);
      REQUIRE(operands.size() == expected.size());
      for (std::size_t i = 0; i < operands.size(); ++i) {
        CAPTURE(operands[i].first);
        const auto left = decode(*operands[i].second, "left").data();
        const auto right = decode(*expected[i].second, "right").data();
        REQUIRE(left.size() == right.size());
        for (std::size_t k = 0; k < left.size(); ++k) {
          CAPTURE(right[k]);
          CHECK(is_narrow(right[k]));
          // float8 e4m3fn has no infinity: its mask hides nothing there.
          const bool hidden = std::isinf(right[k]) && type == ElementType::float8_e4m3fn;
          const bool same = left[k] == right[k] || (std::isnan(left[k]) && std::isnan(right[k]));
          CHECK((same || (hidden && std::isfinite(left[k]))));
        }
      }
    }
  }
}

TEST_CASE("probes: each is a valid problem, small enough for any kernel") {
  for (const Probe& probe : probes(ElementType::binary16)) {
    CAPTURE(probe.name);
    const ProblemTensors& t = probe.tensors;
    CHECK(t.query->size() <= 4096);
    CHECK(t.key->size() <= 4096);
    if (t.cu_seqlens_q) continue;
    CHECK(test::refusal_of([&] { make_problem(t, probe.contract); }) == "none");
  }
}
