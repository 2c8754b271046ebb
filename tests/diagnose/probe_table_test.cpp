// Which fault is caught by which probes: probe_table.txt, made anew and compared.
//
// GQA_REWRITE_PROBE_TABLE=1 writes the file instead.
#include <doctest/doctest.h>

#include <cstdlib>
#include <fstream>
#include <sstream>

#include "diagnose/planted_faults.hpp"
#include "gqa/diagnose/probes/probe_list.hpp"

using namespace gqa;

namespace {

/// Probes that fail under the loosest precision model of the type.
std::string failing_probes(const ProbeReport& report) {
  std::vector<std::string> failing;
  for (const ProbeResult& result : report.results) {
    if (result.verdict == Verdict::fail) failing.push_back(result.probe.name);
  }
  if (failing.empty()) {
    return report.diagnosis.status == DiagnosisStatus::named
               ? "none: within a loose model, named as a finding"
               : "none";
  }
  return fmt::format("{}", fmt::join(failing, " "));
}

/// The types that have the same probes share a line.
std::string lines_of(const std::string& slug) {
  std::vector<std::pair<std::string, std::string>> lines;  // types, probes
  for (const ElementType type : test::probed_types) {
    const std::string probes = failing_probes(test::reports_on_single_faults(type).at(slug));
    const auto same =
        std::ranges::find(lines, probes, &std::pair<std::string, std::string>::second);
    if (same == lines.end()) {
      lines.emplace_back(name(type), probes);
    } else {
      same->first += fmt::format(" {}", name(type));
    }
  }
  std::string text = slug + "\n";
  for (const auto& [types, probes] : lines) text += fmt::format("  {}: {}\n", types, probes);
  return text;
}

std::string probe_table() {
  std::string text =
      "# Which probes fail for a fault, by element type. Made by test_diagnose, with\n"
      "# GQA_REWRITE_PROBE_TABLE=1 in its environment.\n";
  for (const std::string& slug : test::catalogue_slugs()) text += lines_of(slug);
  return text;
}

}  // namespace

TEST_CASE("probes: the table of faults and the probes that catch them is up to date") {
  if (test::is_light()) {
    MESSAGE("left out: a light run probes one type, the table has all");
    return;
  }
  const std::string path = std::string(GQAVERIFY_SOURCE_DIR) + "/tests/diagnose/probe_table.txt";
  const std::string made = probe_table();
  if (std::getenv("GQA_REWRITE_PROBE_TABLE") != nullptr) {
    std::ofstream(path) << made;
    return;
  }
  std::stringstream kept;
  kept << std::ifstream(path).rdbuf();
  std::string line, expected;
  std::istringstream lines(made);
  while (std::getline(lines, line)) {
    std::getline(kept, expected);
    CHECK(line == expected);
  }
  CHECK_FALSE(std::getline(kept, expected));
}

TEST_CASE("probes: every probe catches some fault") {
  std::vector<std::string> idle;
  for (const Probe& probe : probes(ElementType::binary32)) {
    bool used = false;
    for (const auto& [slug, report] : test::reports_on_single_faults(ElementType::binary32)) {
      for (const ProbeResult& result : report.results) {
        used = used || (result.probe.name == probe.name && result.verdict == Verdict::fail);
      }
    }
    if (!used) idle.push_back(probe.name);
  }
  CAPTURE(fmt::format("{}", fmt::join(idle, ", ")));
  CHECK(idle.empty());
}
