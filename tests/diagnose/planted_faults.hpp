// The probes put before the faulty kernel, and what the diagnosis makes of it.
#pragma once

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "gqa/diagnose/probes/kernel_probes.hpp"
#include "kernels/faults.h"
#include "support/random.hpp"

namespace gqa::test {

inline constexpr std::array probed_types{ElementType::binary32, ElementType::binary16,
                                         ElementType::bfloat16};

/// All of them, or the first in a light run.
inline std::span<const ElementType> types_to_probe() {
  return std::span(probed_types).first(is_light() ? 1 : probed_types.size());
}

/// The slugs that the faulty kernel has a switch for, in its order.
inline std::vector<std::string> fault_switches() {
#define GQA_FAULT_SLUG(id, slug) slug,
  return {GQA_FAULTS(GQA_FAULT_SLUG)};
#undef GQA_FAULT_SLUG
}

inline std::vector<std::string> catalogue_slugs() {
  std::vector<std::string> slugs;
  for (const FaultKind* kind : fault_kinds()) slugs.emplace_back(kind->slug);
  return slugs;
}

/// "head_map.tiled + scale.twice": slugs without parameters, in alphabetical order.
inline std::string joined_slugs(std::vector<std::string> slugs) {
  std::ranges::sort(slugs);
  return fmt::format("{}", fmt::join(slugs, " + "));
}
inline std::string slugs_of(const Explanation& explanation) {
  std::vector<std::string> slugs;
  for (const Fault& fault : explanation.faults) slugs.emplace_back(fault.kind->slug);
  return joined_slugs(std::move(slugs));
}

/// What is named: "none", "unexplained", or the explanations joined by " or "; of one output, if it
/// has any.
inline std::string named_by(const Diagnosis& diagnosis, std::string_view tensor = "") {
  if (diagnosis.explanations.empty()) return std::string(name(diagnosis.status));
  std::vector<std::string> all;
  // Each output has an explanation of its own; what is said of several is one name.
  for (const Explanation& explanation : diagnosis.explanations) {
    if (!tensor.empty() && explanation.tensor != tensor) continue;
    const std::string slugs = slugs_of(explanation);
    if (std::ranges::find(all, slugs) == all.end()) all.push_back(slugs);
  }
  // Where that output has none, what is wrong beside it.
  if (all.empty()) return named_by(diagnosis);
  return fmt::format("{}", fmt::join(all, " or "));
}

inline KernelHost load_example_kernel(const std::string& name) {
  return KernelHost(std::filesystem::path(GQAVERIFY_KERNELS_DIR) / (name + "_kernel.so"), {},
                    GQAVERIFY_KERNEL_HOST);
}

/// The faulty kernel, with the faults of a comma-separated list switched on one list at a time.
class FaultyKernel {
 public:
  FaultyKernel() : host_(load_example_kernel("faulty")) {}

  ProbeReport probed_with(const std::string& slugs, ElementType type) {
    host_.configure(slugs);
    return run_probes(kernel_runner(host_, type), type);
  }

 private:
  KernelHost host_;
};

/// The report on each slug of the catalogue alone, and on "" for none, in one type.
inline const std::map<std::string, ProbeReport>& reports_on_single_faults(ElementType type) {
  static std::map<ElementType, std::map<std::string, ProbeReport>> all;
  std::map<std::string, ProbeReport>& reports = all[type];
  if (!reports.empty()) return reports;
  FaultyKernel kernel;
  reports[""] = kernel.probed_with("", type);
  for (const std::string& slug : catalogue_slugs()) {
    reports[slug] = kernel.probed_with(slug, type);
  }
  return reports;
}

}  // namespace gqa::test
