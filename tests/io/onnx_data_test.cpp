// The recorded ONNX backend tests: all are read, with the contracts that their models state.
//
// The expected numbers were counted in the .onnx and .pb files by a protobuf walk of a few
// lines of Python that shares nothing with the reader.
#include "support/onnx_data.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <functional>
#include <optional>

#include "gqa/audit/audit.hpp"
#include "gqa/io/recordings.hpp"

using namespace gqa;
namespace fs = std::filesystem;

namespace {

std::vector<Recording> read_all(const fs::path& directory) {
  std::vector<Recording> all;
  for (const fs::path& path : find_recordings(directory)) {
    for (Recording& recording : read_recordings(path)) all.push_back(std::move(recording));
  }
  return all;
}

std::ptrdiff_t count(const std::vector<Recording>& all,
                     const std::function<bool(const Recording&)>& holds) {
  return std::count_if(all.begin(), all.end(), holds);
}

const Recording& case_named(const std::vector<Recording>& all, const std::string& name) {
  const auto found = std::find_if(all.begin(), all.end(), [&name](const Recording& recording) {
    return fs::path(recording.path).parent_path().filename() == "test_attention_" + name;
  });
  REQUIRE(found != all.end());
  return *found;
}

// NumPy computed in the tensors' own format: a few roundings, far from any fault.
Verdict verdict_on_output(const Recording& recording) {
  const bool half = recording.tensors.output->type == ElementType::binary16;
  AuditOptions options;
  options.tolerance = half ? AbsoluteRelativeTolerance{Rational(1, 250), Rational(1, 250)}
                           : AbsoluteRelativeTolerance{Rational(1, 1000000), Rational(1, 200000)};
  return audit(make_problem(recording.tensors, recording.contract), options).verdict;
}

}  // namespace

TEST_CASE("onnx data: all 87 current cases are read, with the contracts of their models") {
  const auto directory = test::onnx_data_directory("current");
  if (!directory) return;
  const std::vector<Recording> all = read_all(*directory);
  REQUIRE(all.size() == 87);
  CHECK(count(all, [](const auto& r) { return r.contract.causal; }) == 27);
  CHECK(count(all, [](const auto& r) { return r.contract.layout == Layout::bsh; }) == 24);
  CHECK(count(all, [](const auto& r) { return r.contract.softcap != 0; }) == 11);
  CHECK(count(all, [](const auto& r) { return r.contract.scale.has_value(); }) == 6);
  CHECK(count(all, [](const auto& r) { return r.contract.window.left >= 0; }) == 10);
  CHECK(count(all, [](const auto& r) { return r.contract.window.right >= 0; }) == 1);
  CHECK(count(all, [](const auto& r) { return r.tensors.attn_mask != nullptr; }) == 49);
  CHECK(count(all, [](const auto& r) { return r.tensors.past_key != nullptr; }) == 21);
  CHECK(count(all, [](const auto& r) { return r.tensors.nonpad_kv_seqlen != nullptr; }) == 11);
  CHECK(count(all, [](const auto& r) { return r.tensors.output != nullptr; }) == 87);
  CHECK(count(all, [](const auto& r) { return r.tensors.present_key != nullptr; }) == 21);
  CHECK(count(all, [](const auto& r) { return r.tensors.present_value != nullptr; }) == 21);
  CHECK(count(all, [](const auto& r) { return r.tensors.qk_matmul_output != nullptr; }) == 18);
  for (const Recording& recording : all) {
    CHECK(recording.contract.dialect == "onnx");
    CHECK(recording.contract.causal_alignment == CausalAlignment::onnx);
    CHECK(recording.contract.head_map == HeadMap{});
  }
}

TEST_CASE("onnx data: single contracts are those of model.onnx") {
  const auto directory = test::onnx_data_directory("current");
  if (!directory) return;
  const std::vector<Recording> all = read_all(*directory);
  const Recording& window = case_named(all, "bidirectional_window");
  CHECK(window.contract.window == Window{1, 2});
  CHECK_FALSE(window.contract.causal);
  const Recording& folded = case_named(all, "3d_gqa_scaled");
  CHECK(folded.contract.q_num_heads == 9);
  CHECK(folded.contract.kv_num_heads == 3);
  CHECK(*folded.contract.scale == Rational(5368709, 536870912));
  const Recording& all_at_once = case_named(all, "local_window_gqa_rank4_mask");
  CHECK(all_at_once.contract.window == Window{2, -1});
  CHECK(all_at_once.contract.softcap == 2);
  CHECK(all_at_once.contract.causal);
  CHECK(all_at_once.tensors.qk_matmul_output_mode == 3);
  CHECK(case_named(all, "4d_with_qk_matmul_bias").tensors.qk_matmul_output_mode == 2);
  CHECK(case_named(all, "local_window_default").contract.window == Window{-1, -1});
  CHECK(case_named(all, "4d_fp16").tensors.query->type == ElementType::binary16);
  CHECK(case_named(all, "4d_attn_mask_bool").tensors.attn_mask->type == ElementType::boolean);
}

TEST_CASE("onnx data: output Y is right in all 87 current cases") {
  const auto directory = test::onnx_data_directory("current");
  if (!directory) return;
  for (const Recording& recording : read_all(*directory)) {
    CAPTURE(recording.path);
    CHECK(verdict_on_output(recording) == Verdict::pass);
  }
}

TEST_CASE("onnx data: output Y is wrong in 29 of the 47 cases of ONNX 1.18.0") {
  const auto directory = test::onnx_data_directory("v1.18.0");
  if (!directory) return;
  const std::vector<Recording> all = read_all(*directory);
  REQUIRE(all.size() == 47);
  CHECK(count(all, [](const auto& r) { return r.contract.causal; }) == 6);
  CHECK(count(all, [](const auto& r) { return r.contract.layout == Layout::bsh; }) == 22);
  CHECK(count(all, [](const auto& r) { return r.contract.softcap != 0; }) == 8);
  CHECK(count(all, [](const auto& r) { return r.contract.scale.has_value(); }) == 6);
  CHECK(count(all, [](const auto& r) { return verdict_on_output(r) == Verdict::fail; }) == 29);
  CHECK(count(all, [](const auto& r) { return verdict_on_output(r) == Verdict::pass; }) == 18);
}
