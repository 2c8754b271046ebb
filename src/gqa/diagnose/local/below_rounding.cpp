#include "gqa/diagnose/local/below_rounding.hpp"

#include <fmt/format.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "gqa/diagnose/evaluate/row_keys.hpp"
#include "gqa/diagnose/explain/explanation.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

enum KeyFault : std::size_t { newest_missing, oldest_missing, newer_read, older_read };
constexpr std::array<const char*, 4> words{"a missing newest key", "a missing oldest key",
                                           "one key too many at the new end",
                                           "one key too many at the old end"};

// Sums over the rows asked.
struct FitSums {
  double products = 0;  // e d
  double squares = 0;   // d^2
  double errors = 0;    // e^2
  double elements = 0;

  void add(const FitSums& other) {
    products += other.products;
    squares += other.squares;
    errors += other.errors;
    elements += other.elements;
  }
};
using AllSums = std::array<FitSums, words.size()>;

// The declared range with one more key at each end.
std::optional<std::pair<std::int64_t, std::int64_t>> wider_range(const Behaviour& b) {
  constexpr std::int64_t far = std::int64_t{1} << 40;
  const Contract& contract = b.contract;
  const bool is_plain = !b.range_override && !b.causal_only_square && b.causal_row_divisor == 1 &&
                        b.first_block == 0 && !b.documents;
  if (!is_plain) return std::nullopt;
  std::int64_t first = -far, last = far;
  if (contract.window.left >= 0) first = -contract.window.left - 1;
  if (contract.window.right >= 0) last = contract.window.right + 1;
  if (contract.causal) last = std::min<std::int64_t>(last, 1);
  return std::pair{first, last};
}

// One row: which of its keys are visible, and which one lies beyond each end.
struct EndsOfRow {
  EvaluatedRow<double> row;  // over the wider range
  std::size_t begin = 0;     // of the visible ones among its keys
  std::size_t end = 0;
};

std::optional<EndsOfRow> ends_of(const DiagnosisCase& problem, const Behaviour& wider,
                                 const RowPlace& place) {
  const RowKeys keys = keys_of_row(problem.declared, place.batch, place.head, place.row);
  constexpr std::size_t fewest = 3;
  if (keys.visible.size() < fewest) return std::nullopt;
  EndsOfRow ends{evaluate_row<double>(wider, place.batch, place.head, place.row)};
  if (ends.row.anything) return std::nullopt;
  const auto& all = ends.row.visible;
  ends.begin =
      static_cast<std::size_t>(std::ranges::lower_bound(all, keys.visible.front()) - all.begin());
  ends.end =
      static_cast<std::size_t>(std::ranges::upper_bound(all, keys.visible.back()) - all.begin());
  // A mask that hides keys between is not what this looks at.
  if (ends.end - ends.begin != keys.visible.size()) return std::nullopt;
  return ends;
}

// With o over the visible keys: without a key of share w of them o - v moves by w / (1 - w), with
// one more of w times their sum by -w / (1 + w).
void add_row(const DiagnosisCase& problem, const RowPlace& place, const EndsOfRow& ends,
             AllSums& sums) {
  const Behaviour& b = problem.declared;
  const std::int64_t head = b.value_head[extent(place.head)];
  const auto value = [&](std::size_t k) {
    return b.value_row(place.batch, head, static_cast<std::int64_t>(ends.row.visible[k]));
  };
  double total = ends.row.sink_weight.value_or(0);
  std::vector<double> output(ends.row.output.size(), 0);
  for (std::size_t k = ends.begin; k < ends.end; ++k) {
    const OperandRow values = value(k);
    total += ends.row.weights[k];
    for (std::size_t c = 0; c < output.size(); ++c) {
      output[c] += ends.row.weights[k] * values[static_cast<std::int64_t>(c)];
    }
  }
  double size = 0;
  for (double& x : output) {
    x /= total;
    size += square(x);
  }
  if (!(size > 0) || !std::isfinite(size)) return;
  const auto add = [&](KeyFault fault, std::size_t k, double sign) {
    const double share = ends.row.weights[k] / total;
    const double factor = sign * share / (1 - sign * share);
    const OperandRow values = value(k);
    FitSums& sum = sums[fault];
    for (std::size_t c = 0; c < output.size(); ++c) {
      const auto column = static_cast<std::int64_t>(c);
      const double change = factor * (output[c] - values[column]);
      const double error = recorded(b, place, column) - output[c];
      if (!std::isfinite(error)) continue;
      sum.products += error * change / size;
      sum.squares += square(change) / size;
      sum.errors += square(error) / size;
      sum.elements += 1;
    }
  };
  add(newest_missing, ends.end - 1, 1);
  add(oldest_missing, ends.begin, 1);
  if (ends.end < ends.row.visible.size()) add(newer_read, ends.end, -1);
  if (ends.begin > 0) add(older_read, ends.begin - 1, -1);
}

std::optional<ErrorFit> fit_of(const FitSums& sums) {
  constexpr double fewest_elements = 256;
  if (sums.elements < fewest_elements || !(sums.squares > 0)) return std::nullopt;
  const double beta = sums.products / sums.squares;
  const double residual = std::max(sums.errors - beta * sums.products, 0.0);
  return ErrorFit{beta, std::sqrt(residual / sums.elements / sums.squares)};
}

}  // namespace

std::vector<std::string> findings_below_rounding(const DiagnosisCase& problem) {
  constexpr std::int64_t most_keys = 200'000, most_rows = 64, fewest_rows = 8;
  constexpr double near = 0.1;
  const Behaviour& b = problem.declared;
  const auto range = wider_range(b);
  if (!range || b.keys() == 0) return {};
  Behaviour wider = b;
  wider.range_override = *range;
  const std::vector<RowPlace> places =
      places_of(b, std::clamp(most_keys / b.keys(), fewest_rows, most_rows));
  std::vector<AllSums> of_rows(places.size());
  tbb::parallel_for(std::size_t{0}, places.size(), [&](std::size_t n) {
    if (const auto ends = ends_of(problem, wider, places[n])) {
      add_row(problem, places[n], *ends, of_rows[n]);
    }
  });
  std::vector<std::string> findings;
  for (std::size_t fault = 0; fault < words.size(); ++fault) {
    FitSums total;
    for (const AllSums& sums : of_rows) total.add(sums[fault]);
    const auto fit = fit_of(total);
    if (!fit || std::abs(fit->beta - 1) > near || fit->standard_error > near) continue;
    findings.push_back(
        fmt::format("the errors look like {}: beta = {:.3f} +- {:.3f}, where 0 is a "
                    "healthy kernel; no single element is beyond what is allowed",
                    words[fault], fit->beta, fit->standard_error));
  }
  return findings;
}

}  // namespace gqa
