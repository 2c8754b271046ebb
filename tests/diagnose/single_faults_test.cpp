// Every fault of the catalogue, planted alone in a live kernel, is named and nothing else is.
#include <doctest/doctest.h>

#include <set>

#include "diagnose/planted_faults.hpp"

using namespace gqa;

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

TEST_CASE("probes: a planted fault fails a probe, narrow sums included") {
  for (const ElementType type : test::types_to_probe()) {
    CAPTURE(name(type));
    for (const auto& [slug, report] : test::reports_on_single_faults(type)) {
      CAPTURE(slug);
      if (slug.empty()) continue;
      CHECK(report.count(Verdict::fail) > 0);
      CHECK(report.count(Verdict::error) == 0);
    }
  }
}
