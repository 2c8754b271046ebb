// The recorded ONNX backend tests: what was wrong with those of ONNX 1.18.0 is named.
//
// The reference implementation of ONNX 1.18.0 reshaped folded heads without the transpose, tiled
// the KV heads and applied the softcap after the mask; later releases corrected all three, and
// exchanged modes 1 and 2 of qk_matmul_output. A test's name says which of them it meets.
#include <doctest/doctest.h>

#include <map>
#include <optional>

#include "diagnose/planted_faults.hpp"
#include "gqa/audit/model_choice.hpp"
#include "gqa/diagnose/cases/recording_diagnosis.hpp"
#include "gqa/io/recordings.hpp"
#include "support/onnx_data.hpp"

using namespace gqa;
namespace fs = std::filesystem;

namespace {

/// What is named, by the test's name without "test_attention_".
std::map<std::string, std::string> diagnoses_of(const fs::path& directory) {
  std::map<std::string, std::string> all;
  const std::string prefix = "test_attention_";
  for (const fs::path& path : find_recordings(directory)) {
    for (const Recording& recording : read_recordings(path)) {
      const AttentionProblem problem = make_problem(recording.tensors, recording.contract);
      const std::vector<OutputAudit> outputs =
          audit_with_candidates(problem, recording.tensors, {});
      const Diagnosis diagnosis = diagnose_recording(recording.tensors, recording.contract, outputs,
                                                     outputs.front().tolerance);
      const std::string test = fs::path(recording.path).parent_path().filename().string();
      REQUIRE(test.starts_with(prefix));
      CAPTURE(test);
      // Named by every row, and proved by enclosures on all of these small cases.
      for (const Explanation& explanation : diagnosis.explanations) {
        CHECK(explanation.rows == explanation.certified_rows);
      }
      all[test.substr(prefix.size())] = test::named_by(diagnosis, "output");
    }
  }
  return all;
}

/// What ONNX 1.18.0 did wrong in the test of that name.
std::string fault_of_1_18(const std::string& test) {
  const auto has = [&test](const char* part) { return test.find(part) != std::string::npos; };
  std::vector<std::string> slugs;
  if (has("3d")) slugs.emplace_back("layout.reshape_without_transpose");
  if (has("gqa")) slugs.emplace_back("head_map.tiled");
  // The two tests that have both a softcap and a mask.
  if (has("qk_matmul_softcap")) slugs.emplace_back("softcap.after_mask");
  if (test == "4d_with_qk_matmul_bias" || test == "4d_with_past_and_present_qk_matmul_bias") {
    slugs.emplace_back("qk_output.modes_swapped");
  }
  return slugs.empty() ? "none" : test::joined_slugs(std::move(slugs));
}

}  // namespace

TEST_CASE("onnx corpus: each wrong output of ONNX 1.18.0 has one explanation, the right one") {
  const auto directory = test::onnx_data_directory("v1.18.0");
  if (!directory) return;
  std::map<std::string, int> counts;
  for (const auto& [test, named] : diagnoses_of(*directory)) {
    CAPTURE(test);
    CHECK(named == fault_of_1_18(test));
    ++counts[named];
  }
  const std::map<std::string, int> expected{
      {"layout.reshape_without_transpose", 15},
      {"head_map.tiled + layout.reshape_without_transpose", 6},
      {"head_map.tiled", 6},
      {"softcap.after_mask", 1},
      {"layout.reshape_without_transpose + softcap.after_mask", 1},
      {"qk_output.modes_swapped", 2},
      {"none", 16}};
  CHECK(counts == expected);
}

TEST_CASE("onnx corpus: nothing is named in the 87 current cases, which are right") {
  const auto directory = test::onnx_data_directory("current");
  if (!directory) return;
  const auto diagnoses = diagnoses_of(*directory);
  CHECK(diagnoses.size() == 87);
  for (const auto& [test, named] : diagnoses) {
    CAPTURE(test);
    CHECK(named == "none");
  }
}
