// Every fault of the catalogue, planted alone in a live kernel, is named and nothing else is.
#include <doctest/doctest.h>

#include <set>

#include "diagnose/planted_faults.hpp"

using namespace gqa;

namespace {

// Sums in the output's own type, or in one as wide: the loose models f16 and bf16 have them.
bool is_narrow_sum_in(ElementType type, const std::string& slug) {
  return (slug == "softmax.binary16_sum" && type == ElementType::binary16) ||
         (slug == "softmax.binary16_sum" && type == ElementType::bfloat16) ||
         (slug == "softmax.bfloat16_sum" && type == ElementType::bfloat16);
}

}  // namespace

TEST_CASE("catalogue: every fault has a switch in the faulty kernel, every switch is a fault") {
  const auto slugs = test::catalogue_slugs();
  const auto switches = test::fault_switches();
  const std::set<std::string> of_catalogue(slugs.begin(), slugs.end());
  const std::set<std::string> of_kernel(switches.begin(), switches.end());
  for (const std::string& slug : of_catalogue) {
    CAPTURE(slug);
    CHECK(of_kernel.contains(slug));
  }
  for (const std::string& slug : of_kernel) {
    CAPTURE(slug);
    CHECK(of_catalogue.contains(slug));
  }
  CHECK(of_catalogue.size() == slugs.size());
  CHECK(of_kernel.size() == switches.size());
}

TEST_CASE("probes: a single planted fault is the only explanation, in every type") {
  for (const ElementType type : test::types_to_probe()) {
    CAPTURE(name(type));
    for (const auto& [slug, report] : test::reports_on_single_faults(type)) {
      CAPTURE(slug);
      if (slug.empty()) continue;
      CHECK(test::named_by(report.diagnosis) == slug);
    }
  }
}

TEST_CASE("probes: a planted fault fails a probe, but for sums that a loose model allows") {
  for (const ElementType type : test::types_to_probe()) {
    CAPTURE(name(type));
    for (const auto& [slug, report] : test::reports_on_single_faults(type)) {
      CAPTURE(slug);
      if (slug.empty()) continue;
      CHECK((report.count(Verdict::fail) == 0) == is_narrow_sum_in(type, slug));
      CHECK(report.count(Verdict::error) == 0);
    }
  }
}
