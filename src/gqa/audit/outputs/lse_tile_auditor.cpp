#include "gqa/audit/outputs/lse_tile_auditor.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "gqa/audit/filter/filter_bound.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

constexpr double unbounded = std::numeric_limits<double>::infinity();
// More than the roundings of these formulas and of RowStatistics together.
constexpr double slack = 1e-3;
// Rows of a tile whose zeros would pass for all that the filter knows, and that are asked once
// more: one refuted row is enough for a verdict.
constexpr int most_zeros_asked = 2;

LseParts parts_of(const FilterRow& row) {
  LseParts parts;
  parts.largest = Ball::with_radius(row.maximum, row.score_radius);
  parts.lse = Ball::with_radius(row.lse, row.lse_radius);
  parts.log_denominator = max(Ball(0), parts.lse - parts.largest);
  return parts;
}

// Rounded up; not finite if an element is not.
double norm_of(const std::vector<double>& row) {
  double squares = 0;
  for (const double x : row) squares += x * x;
  return upper_norm(squares, static_cast<std::int64_t>(row.size()));
}

double least_magnitude(double centre, double radius) {
  return std::max(0.0, (std::abs(centre) - radius) * (1 - slack));
}

}  // namespace

// The allowance lies between them.
struct LseTileAuditor::Allowance {
  double least = 0;
  double most = unbounded;
};

LseTileAuditor::LseTileAuditor(const AttentionProblem& problem, const AuditOptions& options,
                               StridedTensor output)
    : problem_(problem),
      options_(options),
      model_(nullptr),
      output_(std::move(output)),
      key_norms_(histories_at_once()) {
  const auto* tolerance = std::get_if<ModelTolerance>(&options.tolerance);
  if (tolerance != nullptr) model_ = tolerance->model;
}

// WeightBound::lse with what is not known left out; every part of it is at least zero. Its variance
// is linear in the sums of squares.
double LseTileAuditor::likely_at_least(const FilterTile& tile, const FilterRow& row,
                                       double later) const {
  const PrecisionModel& m = *model_;
  const RowStatistics& s = row.statistics;
  const bool plain = problem_.contract.softcap == 0 && !problem_.has_bias();
  ScoreSquares<double> squares;
  squares.products = s.query_norm4_squared * tile.key_norm4_squared_minimum;
  squares.score = square(s.square_score_mean) + s.square_score_variance;
  squares.raw = plain ? squares.score : 0;
  squares.distance = 0;
  const double variance =
      s.square_weight * score_variance(m, problem_.dimensions.key_size, plain, squares) +
      square(m.denominator) * static_cast<double>(row.visible + 1) / 9;
  const bool has_sink = problem_.sink_of(row.head).has_value();
  const double mean = has_sink ? 0 : least_magnitude(s.score_mean, row.score_radius);
  return (m.lambda * std::sqrt(std::max(0.0, variance)) + (2 * m.score + m.exponential) * mean) *
             (1 - slack) +
         later;
}

// worst_lse from (1 + u)^n - 1 >= n u and -ln(1 - u) >= u: some |scale q.k_j| is at least that of
// the mean.
double LseTileAuditor::worst_at_least(const FilterRow& row, double later) const {
  const PrecisionModel& m = *model_;
  const bool plain = problem_.contract.softcap == 0 && !problem_.has_bias();
  const double n = static_cast<double>(row.visible);
  const double dk = static_cast<double>(problem_.dimensions.key_size);
  const double mean = plain ? least_magnitude(row.statistics.score_mean, row.score_radius) : 0;
  const double sum = (4 * n + 4) * m.exponential + (2 * n + 2) * m.denominator +
                     ((dk + 6) * m.score + 2 * m.stored_score + 2 * m.operand) * mean;
  return sum * (1 - slack) + later;
}

double LseTileAuditor::largest_key_norm(std::int64_t batch, std::int64_t kv_head) {
  return *key_norms_.of(batch, kv_head, [&] {
    const std::int64_t width = problem_.dimensions.key_size;
    std::vector<double> key(static_cast<std::size_t>(width));
    double largest = 0;
    for (std::int64_t j = 0; j < problem_.dimensions.keys; ++j) {
      problem_.key.read_rows(batch, kv_head, j, j + 1, key.data(), key.size());
      const double norm = norm_of(key);
      // Keys that nobody sees may hold anything; where a row sees one, it is open.
      if (std::isfinite(norm)) largest = std::max(largest, norm);
    }
    return std::make_shared<const double>(largest);
  });
}

// The worst case with the largest norms of the history for those of the row.
double LseTileAuditor::worst_at_most(const FilterTile& tile, const FilterRow& row,
                                     const LseParts& parts) {
  if (problem_.contract.softcap != 0 || problem_.has_bias()) return unbounded;
  const std::int64_t width = problem_.dimensions.key_size;
  std::vector<double> query(static_cast<std::size_t>(width));
  problem_.query.read_rows(tile.batch, row.head, row.row, row.row + 1, query.data(), query.size());
  ScoreMagnitudes magnitudes;
  magnitudes.key_size = width;
  magnitudes.scale = problem_.scale_ball();
  magnitudes.query_norm2 = Ball(norm_of(query));
  magnitudes.key_norm2 = Ball(largest_key_norm(tile.batch, tile.kv_head));
  const Ball score = magnitudes.scale * magnitudes.query_norm2 * magnitudes.key_norm2;
  magnitudes.raw = magnitudes.score = score;
  RowExtremes extremes;
  extremes.visible = row.visible;
  extremes.magnitude = score;
  if (const auto sink = problem_.sink_of(row.head)) {
    extremes.sink = true;
    extremes.magnitude = max(score, abs(Ball(*sink)));
  }
  extremes.distance = score + extremes.magnitude;
  extremes.score_error = largest_score_error(*model_, magnitudes);
  const Ball worst = worst_lse(*model_, least_denominator(*model_, extremes, parts), row.visible,
                               parts, options_.recorded);
  return worst.is_finite() ? worst.upper_double() : unbounded;
}

LseTileAuditor::Allowance LseTileAuditor::allowance(const FilterTile& tile, const FilterRow& row,
                                                    const LseParts& parts) {
  const bool accept_worst = std::get<ModelTolerance>(options_.tolerance).accept_worst_case;
  const Ball later = lse_rounding(*model_, parts) +
                     stored_output(options_.recorded, abs(parts.lse)) +
                     lse_underflow(*model_, row.visible);
  const double least = std::max(0.0, later.lower_double());
  const double worst = worst_at_least(row, least);
  return {accept_worst ? worst : std::min(worst, likely_at_least(tile, row, least)),
          worst_at_most(tile, row, parts)};
}

// nullopt: the filter does not tell.
std::optional<AuditedElement> LseTileAuditor::decided(const FilterTile& tile,
                                                      const FilterRow& row) {
  AuditedElement element;
  element.index = {tile.batch, row.head, row.row, 0};
  element.output = output_.value(tile.batch, row.head, row.row, 0);
  element.format = &output_.format();
  element.by_filter = true;
  const LseParts parts = parts_of(row);
  const LseForm& form = problem_.contract.lse;
  const ReferenceSource nothing_more{[] {
                                       return Enclosed{Ball(1) / Ball(0), std::nullopt};
                                     },
                                     [] { return std::optional<Rational>(); }};
  AuditOptions options = options_;
  options.largest_precision = 0;  // asked once
  if (model_ == nullptr) {
    settle(element, in_declared_base(form, nullptr, {parts.lse, std::nullopt}), nothing_more,
           options);
    return element.decision.within.is_decided() ? std::optional(element) : std::nullopt;
  }
  const Allowance allowed = allowance(tile, row, parts);
  const auto enclosed = [&](double bound) {
    return in_declared_base(form, model_, {parts.lse, RoundingBounds{Ball(bound), Ball(bound)}});
  };
  const Enclosed least = enclosed(allowed.least);
  settle(element, least, nothing_more, options);
  const double lower = element.allowed.lower;
  const bool passes = element.decision.within.certainly();
  if (!passes && !std::isfinite(allowed.most)) return std::nullopt;
  if (std::isfinite(allowed.most)) {
    AuditedElement beyond = element;
    settle(beyond, enclosed(allowed.most), nothing_more, options);
    element.allowed = {lower, beyond.allowed.upper};
    if (!passes && !beyond.decision.within.certainly_not()) return std::nullopt;
    element.decision = passes ? element.decision : beyond.decision;
  } else {
    element.allowed = {lower, unbounded};
  }
  element.bounds.reset();  // neither of them is the bound
  return element;
}

void LseTileAuditor::ask_again(const FilterTile& tile, const FilterRow& row, AuditTally& tally) {
  auditors_
      .of(tile.batch, tile.kv_head,
          [&] {
            return std::make_shared<const ScoreAuditor>(problem_, options_, tile.batch,
                                                        tile.kv_head, output_);
          })
      ->audit_lse(row.head, row.row, tally);
}

void LseTileAuditor::audit_tile(const FilterTile& tile, AuditTally& tally) {
  const PrecisionScope precision(options_.first_precision);
  int unrefuted_asked = 0;
  for (const FilterRow& row : tile.rows) {
    std::optional<AuditedElement> element;
    if (!row.open && row.visible > 0 && std::isfinite(row.lse)) element = decided(tile, row);
    NullRow nulls;
    if (element && element->ball) {
      nulls.add(std::max(0.0, abs(*element->ball).lower_double()), element->allowed.upper);
      if (model_ != nullptr && !nulls.refutes_zeros() && unrefuted_asked < most_zeros_asked) {
        ++unrefuted_asked;
        element.reset();
      }
    }
    if (!element) {
      ask_again(tile, row, tally);
      continue;
    }
    NullRow own;
    if (options_.observe) options_.observe(*element);
    add_element(tally, *element, tile.batch * problem_.dimensions.q_heads + row.head, own);
    own.add_to(tally.nulls);
  }
}

}  // namespace gqa
