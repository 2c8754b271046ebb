#include "gqa/diagnose/tensors/backward.hpp"

#include <tbb/parallel_for.h>

#include <cmath>
#include <limits>

#include "gqa/attention/numbers.hpp"
#include "gqa/attention/score_stages.hpp"
#include "gqa/audit/gradients/gradient_auditor.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr double not_a_number = std::numeric_limits<double>::quiet_NaN();

const PrecisionModel* model_of(const Tolerance& tolerance) {
  const auto* model = std::get_if<ModelTolerance>(&tolerance);
  return model != nullptr ? model->model : nullptr;
}

double softcap_slope_at(double scaled, double cap) {
  if (cap == 0) return 1;
  return softcap_slope<DoubleNumbers>(DoubleNumbers::softcapped(scaled, cap), cap);
}

}  // namespace

// What one row adds: to first order, with the variances of its roundings.
struct BackwardPass::Row {
  std::vector<std::size_t> keys;
  std::vector<double> weights;
  std::vector<double> scores_gradient;     // dS, of the raw scores
  std::vector<double> score_variances;     // of dS
  std::vector<double> relative_variances;  // of the weights
  double delta_variance = 0;
};

BackwardPass::BackwardPass(const ProblemTensors& tensors, const Contract& contract,
                           const Tolerance& tolerance)
    : problem_(make_diagnosis_case(tensors, contract, tolerance)) {
  const Contract& own = problem_.declared.contract;
  const std::int64_t q_heads = own.q_num_heads.value_or(0);
  const std::int64_t kv_heads = own.kv_num_heads.value_or(0);
  grad_output_ =
      view_of(tensors.grad_output, own.layout_of(Operand::output), q_heads, "grad_output");
  if (tensors.grad_lse) grad_lse_ = decode(*tensors.grad_lse, "grad_lse").data();
  const std::array gradients{tensors.grad_query, tensors.grad_key, tensors.grad_value};
  for (const GradientKind kind : gradient_kinds) {
    const auto& tensor = gradients[index(kind)];
    if (!tensor) continue;
    const bool of_queries = kind == GradientKind::query;
    // Operands come in the order of the kinds.
    views_[index(kind)] = view_of(tensor, own.layout_of(operands[index(kind)]),
                                  of_queries ? q_heads : kv_heads, std::string(name(kind)));
    formats_[index(kind)] = float_format(tensor->type);
  }
}

double BackwardPass::grad_lse_at(const RowPlace& place) const {
  if (grad_lse_.empty()) return 0;
  const Behaviour& b = declared();
  return grad_lse_[extent((place.batch * b.query_heads() + place.head) * b.queries() + place.row)];
}

double BackwardPass::work() const {
  const Behaviour& b = declared();
  return static_cast<double>(b.batch() * b.query_heads() * b.queries()) *
         static_cast<double>(b.keys() * (b.key_size() + b.value_size()));
}

// With P the weights, dP_j = g . v_j and delta = g . o: dS_j = P_j (dP_j - delta), times the
// softcap's derivative. var(dS) = P^2 (r^2 (dP - delta)^2 + u_q^2/3 dP^2) + u_p^2/3 dS^2, r^2 the
// relative variance of P; delta itself errs by u_o^2/3 sum g^2 o^2, the same for the whole row.
BackwardPass::Row BackwardPass::row_of(const BackwardRule& rule, const RowPlace& place) const {
  const Behaviour& b = rule.behaviour;
  const auto row = evaluate_row<double>(b, place.batch, place.head, place.row);
  const auto forward = evaluate_row<double>(declared(), place.batch, place.head, place.row);
  const double normaliser = log_sum_exp(rule.from_forward ? forward : row);
  const std::vector<double>& output = rule.from_forward ? forward.output : row.output;
  const auto* model = model_of(problem_.tolerance);
  const PrecisionModel exact{};
  const PrecisionModel& m = model != nullptr ? *model : exact;
  Row result;
  // A right forward pass that saw nothing leaves weights of zero.
  if (std::isinf(normaliser)) return result;
  result.keys = row.visible;
  double delta = 0;
  for (std::size_t c = 0; c < output.size(); ++c) {
    const double term =
        grad_output_.at(place.batch, place.head, place.row, static_cast<std::int64_t>(c)) *
        output[c];
    delta += term;
    result.delta_variance += square(m.output * term) / 3;
  }
  if (rule.without_delta) delta = 0;
  delta -= rule.grad_lse * grad_lse_at(place);
  if (!rule.delta_shift.empty()) {
    delta += rule.delta_shift[extent((place.batch * b.query_heads() + place.head) * b.queries() +
                                     place.row)];
  }
  const auto variances = score_variances(b, place, row, problem_.tolerance);
  const std::int64_t head = b.value_head[extent(place.head)];
  for (std::size_t k = 0; k < row.visible.size(); ++k) {
    const OperandRow values =
        b.value_row(place.batch, head, static_cast<std::int64_t>(row.visible[k]));
    double product = 0;
    for (std::size_t c = 0; c < output.size(); ++c) {
      product += grad_output_.at(place.batch, place.head, place.row, static_cast<std::int64_t>(c)) *
                 values[static_cast<std::int64_t>(c)];
    }
    const double weight = std::exp(row.scores[k] - normaliser);
    const double relative = variances[k] + square(m.weight) / 3;
    const double cap = b.contract.softcap.get_d();
    const double slope = softcap_slope_at(row.raw_scores[k], cap);
    result.weights.push_back(weight);
    result.relative_variances.push_back(relative);
    result.scores_gradient.push_back(weight * (product - delta) * slope);
    result.score_variances.push_back(square(weight) * (relative * square(product - delta) +
                                                       square(m.stored_score * product) / 3) +
                                     square(m.weight * result.scores_gradient.back()) / 3);
  }
  return result;
}

// Twelve standard deviations: the formula is of first order, and this is no verdict but a search.
double BackwardPass::allowance(double variance, double expected, const FloatFormat& format) const {
  constexpr double deviations = 12;
  const auto* model = model_of(problem_.tolerance);
  if (model == nullptr) return stated_allowance(problem_.tolerance, format, expected);
  const double stored = std::max(model->output, format.unit_roundoff());
  return deviations * std::sqrt(variance) + 2 * stored * std::abs(expected) +
         64 * (model->storage_underflow + model->output_rounding(format).underflow);
}

BackwardElements BackwardPass::query_row(const BackwardRule& rule, const RowPlace& place) const {
  return query_row(rule, place, row_of(rule, place));
}

BackwardElements BackwardPass::query_row(const BackwardRule& rule, const RowPlace& place,
                                         const Row& row) const {
  const Behaviour& b = rule.behaviour;
  const double scale = b.score_scaled ? b.scale.midpoint_double() : 1;
  const std::int64_t head = b.key_head[extent(place.head)];
  BackwardElements elements;
  for (std::int64_t d = 0; d < b.key_size(); ++d) {
    double sum = 0, variance = 0, weighted = 0;
    for (std::size_t k = 0; k < row.keys.size(); ++k) {
      const double key = b.key_at(place.batch, head, static_cast<std::int64_t>(row.keys[k]), d);
      sum += row.scores_gradient[k] * key;
      variance += row.score_variances[k] * square(key);
      weighted += row.weights[k] * key;
    }
    variance += row.delta_variance * square(weighted);
    elements.expected.push_back(scale * sum);
    elements.recorded.push_back(views_[0] ? views_[0]->at(place.batch, place.head, place.row, d)
                                          : not_a_number);
    elements.allowed.push_back(
        views_[0] ? allowance(square(scale) * variance, scale * sum, *formats_[0]) : 0);
  }
  return elements;
}

std::vector<double> BackwardPass::moved_by_delta(const RowPlace& place) const {
  const Behaviour& b = declared();
  const auto row = evaluate_row<double>(b, place.batch, place.head, place.row);
  const std::int64_t head = b.key_head[extent(place.head)];
  std::vector<double> moved(extent(b.key_size()), 0);
  const double scale = b.scale.midpoint_double();
  const double cap = b.contract.softcap.get_d();
  for (std::size_t k = 0; k < row.visible.size(); ++k) {
    const double slope = softcap_slope_at(row.raw_scores[k], cap);
    const OperandRow key = b.key_row(place.batch, head, static_cast<std::int64_t>(row.visible[k]));
    for (std::size_t d = 0; d < moved.size(); ++d) {
      moved[d] += scale * slope * row.weights[k] * key[static_cast<std::int64_t>(d)];
    }
  }
  return moved;
}

// Sums of one KV head's keys or values over the query rows of its heads.
struct BackwardPass::Sums {
  std::vector<double> sum;
  std::vector<double> variance;

  explicit Sums(std::size_t size) : sum(size, 0), variance(size, 0) {}
  void add(std::size_t at, double term, double its_variance) {
    sum[at] += term;
    variance[at] += its_variance;
  }
};

std::array<BackwardElements, 3> BackwardPass::all(const BackwardRule& rule,
                                                  std::int64_t batch) const {
  const Behaviour& b = rule.behaviour;
  const std::int64_t heads = b.query_heads();
  const std::int64_t rows = b.queries();
  const std::int64_t past = b.past();
  const std::int64_t fresh = b.keys() - past;
  std::vector<BackwardElements> queries(extent(heads));
  std::vector<Sums> keys(extent(heads), Sums(extent(fresh * b.key_size())));
  std::vector<Sums> values(extent(heads), Sums(extent(fresh * b.value_size())));
  const double scale = b.score_scaled ? b.scale.midpoint_double() : 1;
  tbb::parallel_for(std::int64_t{0}, heads, [&](std::int64_t h) {
    for (std::int64_t i = 0; i < rows; ++i) {
      const RowPlace place{batch, h, i};
      const Row row = row_of(rule, place);
      if (has(GradientKind::query)) {
        const BackwardElements own = query_row(rule, place, row);
        BackwardElements& all_rows = queries[extent(h)];
        all_rows.expected.insert(all_rows.expected.end(), own.expected.begin(), own.expected.end());
        all_rows.recorded.insert(all_rows.recorded.end(), own.recorded.begin(), own.recorded.end());
        all_rows.allowed.insert(all_rows.allowed.end(), own.allowed.begin(), own.allowed.end());
      }
      for (std::size_t k = 0; k < row.keys.size(); ++k) {
        const std::int64_t j = static_cast<std::int64_t>(row.keys[k]) - past;
        if (j < 0) continue;  // the past is constant
        const double weight = row.weights[k];
        for (std::int64_t d = 0; d < b.key_size(); ++d) {
          const double query = b.query.at(batch, h, i, d);
          keys[extent(h)].add(extent(j * b.key_size() + d), scale * row.scores_gradient[k] * query,
                              square(scale * query) *
                                  (row.score_variances[k] + square(weight) * row.delta_variance));
        }
        for (std::int64_t c = 0; c < b.value_size(); ++c) {
          const double term = weight * grad_output_.at(batch, h, i, c);
          values[extent(h)].add(extent(j * b.value_size() + c), term,
                                square(term) * row.relative_variances[k]);
        }
      }
    }
  });
  std::array<BackwardElements, 3> result;
  for (BackwardElements& head : queries) {
    auto& own = result[0];
    own.expected.insert(own.expected.end(), head.expected.begin(), head.expected.end());
    own.recorded.insert(own.recorded.end(), head.recorded.begin(), head.recorded.end());
    own.allowed.insert(own.allowed.end(), head.allowed.begin(), head.allowed.end());
  }
  for (const GradientKind kind : {GradientKind::key, GradientKind::value}) {
    if (!has(kind)) continue;
    const bool is_key = kind == GradientKind::key;
    const std::int64_t width = is_key ? b.key_size() : b.value_size();
    const auto& map = !rule.sum_head.empty() ? rule.sum_head : is_key ? b.key_head : b.value_head;
    const std::int64_t kv_heads = b.key.head_count();
    Sums total(extent(kv_heads * fresh * width));
    for (std::int64_t h = 0; h < heads; ++h) {
      if (map[extent(h)] < 0) continue;
      const Sums& part = is_key ? keys[extent(h)] : values[extent(h)];
      const std::size_t first = extent(map[extent(h)] * fresh * width);
      for (std::size_t n = 0; n < part.sum.size(); ++n) {
        total.add(first + n, part.sum[n], part.variance[n]);
      }
    }
    BackwardElements& own = result[index(kind)];
    own.expected = std::move(total.sum);
    for (std::int64_t n = 0; n < kv_heads * fresh * width; ++n) {
      own.recorded.push_back(
          views_[index(kind)]->at(batch, n / (fresh * width), n / width % fresh, n % width));
      own.allowed.push_back(
          allowance(total.variance[extent(n)], own.expected[extent(n)], *formats_[index(kind)]));
    }
  }
  return result;
}

}  // namespace gqa
