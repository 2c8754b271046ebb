#include "gqa/diagnose/evaluate/behaviour.hpp"

#include <numeric>

#include "gqa/attention/dialect.hpp"
#include "gqa/attention/packed.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

EmptyOutcome outcome_of(EmptyRow policy) {
  switch (policy) {
    case EmptyRow::zero:
      return EmptyOutcome::zero;
    case EmptyRow::nan:
      return EmptyOutcome::nan;
    case EmptyRow::any:
      return EmptyOutcome::anything;
    case EmptyRow::mean:
      return EmptyOutcome::mean_of_all;
  }
  return EmptyOutcome::zero;
}

void read_views(const ProblemTensors& tensors, const Contract& contract, Behaviour& behaviour) {
  const std::int64_t q_heads = contract.q_num_heads.value_or(0);
  const std::int64_t kv_heads = contract.kv_num_heads.value_or(0);
  behaviour.query = view_of(tensors.query, contract.layout_of(Operand::query), q_heads, "query");
  behaviour.key = view_of(tensors.key, contract.layout_of(Operand::key), kv_heads, "key");
  behaviour.value = view_of(tensors.value, contract.layout_of(Operand::value), kv_heads, "value");
  behaviour.output =
      view_of(tensors.output, contract.layout_of(Operand::output), q_heads, "output");
  // Caches are BHSD whatever the layout of the new rows, as in ONNX Attention.
  if (tensors.past_key) {
    behaviour.past_key = view_of(tensors.past_key, Layout::bhsd, 0, "past_key");
    behaviour.past_value = view_of(tensors.past_value, Layout::bhsd, 0, "past_value");
  }
  behaviour.written_columns = behaviour.value_size();
}

std::vector<std::int64_t> starts_of(const TypedTensor& tensor, const char* where) {
  return decode_integers(tensor, where).data();
}

// The checks of cut_documents hold for the whole; its first document checks the rest.
AttentionProblem checked_problem(const ProblemTensors& tensors, const Contract& contract) {
  if (!tensors.cu_seqlens_q) return make_problem(tensors, contract);
  return make_problem(cut_documents(tensors, contract).front().tensors, contract);
}

void take_visibility(const AttentionProblem& problem, const ProblemTensors& tensors,
                     Behaviour& behaviour) {
  behaviour.contract = problem.contract;
  if (const Tensor<char>* mask = problem.visibility.mask()) behaviour.mask = *mask;
  behaviour.bias = problem.bias;
  if (tensors.nonpad_kv_seqlen) {
    behaviour.lengths = decode_integers(*tensors.nonpad_kv_seqlen, "nonpad_kv_seqlen").data();
  }
  if (tensors.cu_seqlens_q) {
    Documents documents;
    documents.query_starts = starts_of(*tensors.cu_seqlens_q, "cu_seqlens_q");
    documents.key_starts = tensors.cu_seqlens_k ? starts_of(*tensors.cu_seqlens_k, "cu_seqlens_k")
                                                : documents.query_starts;
    behaviour.documents = std::move(documents);
  }
}

}  // namespace

Behaviour behaviour_of(const ProblemTensors& tensors, const Contract& contract) {
  const AttentionProblem problem = checked_problem(tensors, contract);
  if (!tensors.output) {
    throw InputError("contract.missing_tensor", "output", "is needed and absent");
  }
  Behaviour behaviour;
  behaviour.products = std::make_shared<OperandProducts>();
  read_views(tensors, problem.contract, behaviour);
  take_visibility(problem, tensors, behaviour);
  // Edits move the sides and add them to positions.
  behaviour.contract.window =
      narrowed(problem.contract.window, behaviour.queries(), behaviour.keys());
  behaviour.key_head = behaviour.value_head = problem.head_map;
  behaviour.mask_head.resize(problem.head_map.size());
  std::iota(behaviour.mask_head.begin(), behaviour.mask_head.end(), std::int64_t{0});
  behaviour.scale = problem.scale_ball();
  behaviour.sink = problem.sink;
  behaviour.empty = outcome_of(problem.contract.empty_row);
  if (problem.alibi_slopes) {
    std::vector<Ball>& slopes = behaviour.slopes.emplace();
    // Of a packed problem, `problem` is the first document alone.
    const std::vector<double> all = tensors.cu_seqlens_q
                                        ? decode(*tensors.alibi_slopes, "alibi_slopes").data()
                                        : *problem.alibi_slopes;
    for (const double slope : all) slopes.emplace_back(slope);
  }
  return behaviour;
}

}  // namespace gqa
