// ONNX Runtime's own GroupQueryAttention results, put back as its node took them: the
// binding's contract must be the one that the kernel kept.
#include <doctest/doctest.h>

#include <cstring>

#include "gqa/audit/audit.hpp"
#include "gqa/io/recordings.hpp"
#include "io/onnx_binding_support.hpp"

using namespace gqa;
using namespace gqa::test;

namespace {

using TensorPointer = std::shared_ptr<const TypedTensor>;

// Rows [begin, end) of [B, H, S, D], as [B, H, rows, D] or folded to [B, rows, H * D].
TensorPointer rows_of(const TypedTensor& tensor, std::int64_t begin, std::int64_t end, bool fold) {
  const Shape& s = tensor.shape;
  const std::int64_t rows = end - begin;
  const std::size_t row_bytes = static_cast<std::size_t>(s[3]) * element_size(tensor.type);
  TypedTensor result{
      tensor.type, fold ? Shape{s[0], rows, s[1] * s[3]} : Shape{s[0], s[1], rows, s[3]},
      std::vector<std::byte>(static_cast<std::size_t>(s[0] * s[1] * rows) * row_bytes)};
  for (std::int64_t b = 0; b < s[0]; ++b) {
    for (std::int64_t h = 0; h < s[1]; ++h) {
      for (std::int64_t i = 0; i < rows; ++i) {
        const auto from = static_cast<std::size_t>((b * s[1] + h) * s[2] + begin + i);
        const auto to =
            static_cast<std::size_t>(fold ? (b * rows + i) * s[1] + h : (b * s[1] + h) * rows + i);
        std::memcpy(result.bytes.data() + to * row_bytes, tensor.bytes.data() + from * row_bytes,
                    row_bytes);
      }
    }
  }
  return std::make_shared<const TypedTensor>(std::move(result));
}

// The verdict on one recording, bound as the node with these attributes.
Verdict verdict_of(const std::string& name, const std::string& attributes) {
  const std::string path =
      std::string(GQAVERIFY_SOURCE_DIR) + "/fixtures/recordings/" + name + ".safetensors";
  const ProblemTensors recorded = read_recordings(path).front().tensors;
  const std::int64_t queries = recorded.query->shape[2];
  const std::int64_t keys = recorded.key->shape[2];
  const std::int64_t past = keys - queries;
  OnnxValues values;
  values["Q"] = rows_of(*recorded.query, 0, queries, true);
  values["K"] = rows_of(*recorded.key, past, keys, true);
  values["V"] = rows_of(*recorded.value, past, keys, true);
  values["past_key"] = rows_of(*recorded.key, 0, past, false);
  values["past_value"] = rows_of(*recorded.value, 0, past, false);
  values["seqlens_k"] = recorded.query->shape[0] == 2
                            ? int32_tensor({static_cast<int>(keys) - 1, static_cast<int>(keys) - 1})
                            : int32_tensor({static_cast<int>(keys) - 1});
  values["total"] = int32_tensor({static_cast<int>(keys)});
  values["Y"] = rows_of(*recorded.output, 0, queries, true);
  ModelText text;
  text.operator_name = "GroupQueryAttention";
  text.domain = "com.microsoft";
  text.opset = 1;
  text.inputs = {"Q", "K", "V", "past_key", "past_value", "seqlens_k", "total"};
  text.attributes = int_attribute("num_heads", 8) + int_attribute("kv_num_heads", 2) + attributes;
  const Recording bound = recording_of(text, values);
  AuditOptions options;
  options.tolerance = AbsoluteRelativeTolerance{Rational(1, 1000000), Rational(1, 200000)};
  return audit(make_problem(bound.tensors, bound.contract), options).verdict;
}

}  // namespace

TEST_CASE("GroupQueryAttention: the kernel's prompts, caches, windows and caps fit the binding") {
  const std::string scaled = float_attribute("scale", 0.375F);
  const std::string capped = float_attribute("softcap", 2.5F);
  CHECK(verdict_of("gqa_prefill", "") == Verdict::pass);
  CHECK(verdict_of("gqa_decode", "") == Verdict::pass);
  CHECK(verdict_of("gqa_chunk", "") == Verdict::pass);
  CHECK(verdict_of("gqa_window", int_attribute("local_window_size", 6)) == Verdict::pass);
  CHECK(verdict_of("gqa_softcap", scaled + capped) == Verdict::pass);
}

TEST_CASE("GroupQueryAttention: attributes that the kernel did not have are refuted") {
  CHECK(verdict_of("gqa_prefill", int_attribute("causal", 0)) == Verdict::fail);
  CHECK(verdict_of("gqa_chunk", int_attribute("causal", 0)) == Verdict::fail);
  CHECK(verdict_of("gqa_window", int_attribute("local_window_size", 5)) == Verdict::fail);
  CHECK(verdict_of("gqa_window", int_attribute("local_window_size", 7)) == Verdict::fail);
  CHECK(verdict_of("gqa_softcap", float_attribute("scale", 0.375F)) == Verdict::fail);
  CHECK(verdict_of("gqa_prefill", int_attribute("smooth_softmax", 1)) == Verdict::fail);
}
