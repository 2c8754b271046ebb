#include "gqa/attention/attention_problem.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/attention/dialect.hpp"
#include "gqa/attention/layout_fit.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

std::int64_t heads_or_zero(const std::optional<std::int64_t>& heads) {
  return heads.value_or(0);
}

std::vector<double> finite_or_infinite_values(const std::shared_ptr<const TypedTensor>& tensor,
                                              const char* name) {
  Tensor<double> values = decode(*tensor, name);
  for (const double value : values.data()) {
    if (std::isnan(value)) {
      throw InputError("contract.not_a_number", name, "holds NaN");
    }
  }
  return std::move(values.data());
}

// A float mask: minus infinity hides the key, everything else is added to the score.
// Hidden entries get bias 0, so that nothing not finite enters the arithmetic.
void split_float_mask(const TypedTensor& tensor, std::optional<Tensor<double>>& bias,
                      std::optional<Tensor<char>>& mask) {
  Tensor<double> values = decode(tensor, "attn_mask");
  Tensor<char> visible(values.shape(), 1);
  bool any_hidden = false;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values.data()[i] == -std::numeric_limits<double>::infinity()) {
      visible.data()[i] = 0;
      values.data()[i] = 0;
      any_hidden = true;
    }
  }
  // A last axis shorter than the keys hides the rest, which only the mask can say.
  // (A mask without any axis is refused with the other shapes.)
  const bool may_be_short = !values.shape().empty() && values.shape().back() > 1;
  if (any_hidden || may_be_short) mask = std::move(visible);
  bias = std::move(values);
}

void read_mask(const ProblemTensors& tensors, std::optional<Tensor<double>>& bias,
               std::optional<Tensor<char>>& mask) {
  if (!tensors.attn_mask) return;
  if (tensors.attn_mask->type == ElementType::boolean) {
    const Tensor<std::int64_t> flags = decode_integers(*tensors.attn_mask, "attn_mask");
    std::vector<char> visible;
    visible.reserve(flags.size());
    for (const std::int64_t flag : flags.data()) visible.push_back(flag != 0 ? 1 : 0);
    mask = Tensor<char>(flags.shape(), std::move(visible));
    return;
  }
  if (float_format(tensors.attn_mask->type) == nullptr) {
    throw InputError("contract.element_type", "attn_mask",
                     fmt::format("holds {}; a mask is boolean or floating point",
                                 name(tensors.attn_mask->type)));
  }
  split_float_mask(*tensors.attn_mask, bias, mask);
}

std::optional<std::vector<std::int64_t>> read_lengths(const ProblemTensors& tensors) {
  if (!tensors.nonpad_kv_seqlen) return std::nullopt;
  if (tensors.nonpad_kv_seqlen->shape.size() != 1) {
    throw InputError(
        "contract.shape_rank", "nonpad_kv_seqlen",
        fmt::format("shape {} has {} axes; expected 1", to_text(tensors.nonpad_kv_seqlen->shape),
                    tensors.nonpad_kv_seqlen->shape.size()));
  }
  return decode_integers(*tensors.nonpad_kv_seqlen, "nonpad_kv_seqlen").data();
}

ProblemShapes shapes_of(const AttentionProblem& problem, const ProblemTensors& tensors,
                        const std::optional<StridedTensor>& past_key,
                        const std::optional<StridedTensor>& past_value) {
  ProblemShapes shapes;
  shapes.query = problem.query.shape();
  shapes.key = problem.key.current().shape();
  shapes.value = problem.value.current().shape();
  if (past_key) shapes.past_key = past_key->shape();
  if (past_value) shapes.past_value = past_value->shape();
  if (tensors.attn_mask) shapes.attn_mask = tensors.attn_mask->shape;
  if (tensors.sink) shapes.sink = tensors.sink->shape;
  if (tensors.alibi_slopes) shapes.alibi_slopes = tensors.alibi_slopes->shape;
  if (problem.output) shapes.output = problem.output->shape();
  return shapes;
}

void require_head_count(const std::optional<std::int64_t>& declared, std::int64_t found,
                        const char* field) {
  if (!declared || *declared == found) return;
  throw InputError("contract.head_count", field,
                   fmt::format("{} heads are declared; the tensors have {}", *declared, found));
}

// [Hq] or [B, Hq] -> B * Hq values.
std::vector<double> broadcast_slopes(std::vector<double> slopes, const Dimensions& d) {
  const auto full = static_cast<std::size_t>(d.batch * d.q_heads);
  if (slopes.size() == full || slopes.empty()) return slopes;
  std::vector<double> result;
  result.reserve(full);
  for (std::int64_t b = 0; b < d.batch; ++b) {
    result.insert(result.end(), slopes.begin(), slopes.end());
  }
  return result;
}

// A transposition is what most often makes shapes disagree.
InputError with_layouts_that_fit(const InputError& error, const ProblemTensors& tensors,
                                 const Contract& contract) {
  constexpr std::array<std::string_view, 6> codes{
      "contract.shape_rank",   "contract.shape_mismatch", "contract.heads_not_divisible",
      "contract.layout_heads", "contract.layout_width",   "contract.head_count"};
  if (std::ranges::find(codes, error.code()) == codes.end()) return error;
  constexpr std::size_t told = 3;
  std::vector<std::string> flags;
  for (const Contract& fitting : fitting_layouts(tensors, contract, told)) {
    flags.push_back(layout_flags(fitting));
  }
  if (flags.empty()) return error;
  return {error.code(), error.where(),
          fmt::format("{}; the shapes fit with {}", error.message(), fmt::join(flags, " or "))};
}

AttentionProblem checked_problem_of(const ProblemTensors& tensors, const Contract& declared) {
  const Contract contract = resolve_dialect(declared);
  validate(contract);
  if (tensors.cu_seqlens_q || tensors.cu_seqlens_k) {
    throw InputError("contract.packed_not_cut", "cu_seqlens_q",
                     "several documents are not one problem");
  }
  if (tensors.past_lengths) {
    throw InputError("contract.static_cache", "past_lengths", "the cache is not in plain form");
  }
  require_present(tensors.query, "query");
  require_present(tensors.key, "key");
  require_present(tensors.value, "value");
  const auto view = [&](const auto& tensor, const auto& heads, Operand operand) {
    return StridedTensor(tensor, contract.layout_of(operand), heads_or_zero(heads),
                         std::string(name(operand)));
  };
  // Caches are BHSD whatever the layout of the new rows, as in ONNX Attention.
  const auto cache = [](const auto& tensor, const char* name) {
    return tensor ? std::optional(StridedTensor(tensor, Layout::bhsd, 0, name)) : std::nullopt;
  };
  std::optional<Tensor<double>> bias;
  std::optional<Tensor<char>> mask;
  read_mask(tensors, bias, mask);
  const auto past_key = cache(tensors.past_key, "past_key");
  const auto past_value = cache(tensors.past_value, "past_value");
  AttentionProblem problem;
  problem.contract = contract;
  problem.query = view(tensors.query, contract.q_num_heads, Operand::query);
  problem.key = History(view(tensors.key, contract.kv_num_heads, Operand::key));
  problem.value = History(view(tensors.value, contract.kv_num_heads, Operand::value));
  problem.bias = std::move(bias);
  if (tensors.output) problem.output = view(tensors.output, contract.q_num_heads, Operand::output);
  const Dimensions d = resolve_dimensions(shapes_of(problem, tensors, past_key, past_value));
  require_head_count(contract.q_num_heads, d.q_heads, "q_num_heads");
  require_head_count(contract.kv_num_heads, d.kv_heads, "kv_num_heads");
  if (past_key) {
    problem.key = History(*past_key, problem.key.current());
    problem.value = History(*past_value, problem.value.current());
  }
  problem.dimensions = d;
  problem.head_map = resolve_head_map(contract.head_map, d.q_heads, d.kv_heads);
  problem.visibility = Visibility(contract, d, read_lengths(tensors), std::move(mask));
  if (tensors.sink) problem.sink = finite_or_infinite_values(tensors.sink, "sink");
  if (tensors.alibi_slopes) {
    problem.alibi_slopes =
        broadcast_slopes(finite_or_infinite_values(tensors.alibi_slopes, "alibi_slopes"), d);
  }
  return problem;
}

}  // namespace

void require_present(const std::shared_ptr<const TypedTensor>& tensor, const char* name) {
  if (tensor) return;
  throw InputError("contract.missing_tensor", name, "is needed and absent");
}

AttentionProblem make_problem(const ProblemTensors& tensors, const Contract& declared) {
  try {
    return checked_problem_of(tensors, declared);
  } catch (const InputError& error) {
    throw with_layouts_that_fit(error, tensors, declared);
  }
}

Ball AttentionProblem::scale_ball() const {
  if (contract.scale) return Ball(*contract.scale);
  return Ball(1) / sqrt(Ball(static_cast<int>(dimensions.key_size)));
}

std::optional<double> sink_logit(const std::optional<std::vector<double>>& sinks,
                                 std::int64_t head) {
  if (!sinks) return std::nullopt;
  const double logit = (*sinks)[static_cast<std::size_t>(head)];
  if (logit == -std::numeric_limits<double>::infinity()) return std::nullopt;
  return logit;
}

BiasTerms AttentionProblem::bias_of(std::int64_t batch, std::int64_t head, std::int64_t row,
                                    std::int64_t key) const {
  BiasTerms terms;
  if (bias) {
    // The mask that came with the bias hides what lies beyond its end.
    const auto index = broadcast_index(bias->shape(), batch, head, row, key);
    if (index) terms.mask = bias->data()[*index];
  }
  if (alibi_slopes) {
    terms.slope = (*alibi_slopes)[static_cast<std::size_t>(batch * dimensions.q_heads + head)];
    terms.distance = std::abs(visibility.position(batch, row) - key);
  }
  return terms;
}

bool BiasTerms::is_finite() const {
  return std::isfinite(mask) && std::isfinite(slope);
}

Rational BiasTerms::sum() const {
  return Rational(mask) - Rational(slope) * Rational(static_cast<long>(distance));
}

Ball BiasTerms::magnitude() const {
  return Ball(std::abs(mask)) + Ball(std::abs(slope)) * Ball(static_cast<double>(distance));
}

double AttentionProblem::scale_double() const {
  if (contract.scale) return Ball(*contract.scale).midpoint_double();
  return 1.0 / std::sqrt(static_cast<double>(dimensions.key_size));
}

}  // namespace gqa
