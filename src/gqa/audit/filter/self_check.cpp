#include "gqa/audit/filter/self_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <variant>

#include "gqa/attention/numbers.hpp"
#include "gqa/attention/score_stages.hpp"
#include "gqa/audit/enclose/row_auditor.hpp"

namespace gqa {
namespace {

constexpr std::int64_t most_rows = 4;
// Products of a key or value with a number, of all rows that are asked: some hundredths of a
// second.
constexpr std::int64_t most_products = std::int64_t{1} << 20;
constexpr std::uint64_t seed = 0x5e1fc4ec;
// Verdicts of a model that are asked in one row, and the products up to which they are: the bounds
// cost ten times the row.
constexpr std::size_t most_model_verdicts = 4;
constexpr std::int64_t most_model_products = most_products / 16;
constexpr long self_check_bits = 128;

std::string place_of(const FilterTile& tile, std::size_t r, std::size_t c) {
  const FilterRow& row = tile.rows[r];
  return fmt::format("output[{}, {}, {}, {}]", tile.batch, row.head, row.row, c);
}

std::string filter_interval(const FilterTile& tile, std::size_t r, std::size_t c) {
  const auto column = static_cast<std::int64_t>(c);
  return fmt::format("{:.17g} with radius {:.3g}", tile.output(r, column), tile.radius(r, column));
}

// Is every number of the ball certainly farther from the computed one than the radius says?
bool misses(const FilterTile& tile, std::size_t r, std::size_t c, const Ball& exact) {
  const auto column = static_cast<std::int64_t>(c);
  const Ball distance = abs(exact - Ball(tile.output(r, column)));
  // NaN fails: a row that is not open has numbers.
  return !(distance.lower_double() <= tile.radius(r, column));
}

std::int64_t products_of(const Dimensions& d) {
  return d.keys * (d.key_size + d.value_size);
}

// One row by balls. EnclosureReader turns a whole history into balls, for many rows; this reads
// what one row sees, some keys at a time.
class SingleRow {
 public:
  SingleRow(const AttentionProblem& problem, const FilterTile& tile, const FilterRow& row)
      : problem_(problem),
        batch_(tile.batch),
        kv_head_(tile.kv_head),
        head_(row.head),
        row_(row.row),
        visible_(problem.visibility.keys_of(batch_, head_, row_)) {}

  // nullopt: an operand is not finite. Precondition: the row sees a key.
  std::optional<std::vector<Ball>> output() {
    if (!read_scores()) return std::nullopt;
    const auto sink = problem_.sink_of(head_);
    if (sink && !std::isfinite(*sink)) return std::nullopt;
    // Any shift is exact in mathematics; that of the largest score widens least.
    Ball largest = sink ? Ball(*sink) : scores_.front();
    for (const Ball& score : scores_) {
      if (midpoint_less(largest, score)) largest = score;
    }
    const Ball shift = largest.midpoint();
    Ball total;
    if (sink) total = exp(Ball(*sink) - shift);
    for (Ball& score : scores_) {
      score = exp(score - shift);
      total += score;
    }
    return means(total);
  }

 private:
  bool read_scores() {
    const auto size = static_cast<std::size_t>(problem_.dimensions.key_size);
    std::vector<double> numbers(size);
    std::vector<Ball> query(size);
    std::vector<Ball> key(size);
    problem_.query.read_rows(batch_, head_, row_, row_ + 1, numbers.data(), size);
    if (!take(numbers, query.data(), 1)) return false;
    const Ball scale = problem_.scale_ball();
    const Ball softcap(problem_.contract.softcap);
    for (const std::size_t j : visible_) {
      const auto at = static_cast<std::int64_t>(j);
      problem_.key.read_rows(batch_, kv_head_, at, at + 1, numbers.data(), size);
      const BiasTerms terms = problem_.bias_of(batch_, head_, row_, at);
      if (!take(numbers, key.data(), 1) || !terms.is_finite()) return false;
      const Ball bias = problem_.has_bias() ? Ball(terms.sum()) : Ball();
      scores_.push_back(
          score_stages<BallNumbers>(dot(query.data(), key.data(), size), &scale,
                                    problem_.contract.softcap != 0 ? &softcap : nullptr,
                                    problem_.has_bias() ? &bias : nullptr));
    }
    return true;
  }

  // By columns of a block of values, which are contiguous for dot.
  std::optional<std::vector<Ball>> means(const Ball& total) const {
    constexpr std::size_t block = 64;
    const auto size = static_cast<std::size_t>(problem_.dimensions.value_size);
    std::vector<double> numbers(size);
    std::vector<Ball> columns(size * block);
    std::vector<Ball> sums(size);
    for (std::size_t first = 0; first < visible_.size(); first += block) {
      const std::size_t count = std::min(block, visible_.size() - first);
      for (std::size_t k = 0; k < count; ++k) {
        const auto at = static_cast<std::int64_t>(visible_[first + k]);
        problem_.value.read_rows(batch_, kv_head_, at, at + 1, numbers.data(), size);
        if (!take(numbers, columns.data() + k, block)) return std::nullopt;
      }
      for (std::size_t c = 0; c < size; ++c) {
        sums[c] += dot(scores_.data() + first, columns.data() + c * block, count);
      }
    }
    for (Ball& sum : sums) sum /= total;
    return sums;
  }

  static bool take(const std::vector<double>& numbers, Ball* to, std::size_t stride) {
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      if (!std::isfinite(numbers[i])) return false;
      to[i * stride] = Ball(numbers[i]);
    }
    return true;
  }

  const AttentionProblem& problem_;
  std::int64_t batch_;
  std::int64_t kv_head_;
  std::int64_t head_;
  std::int64_t row_;
  std::vector<std::size_t> visible_;
  std::vector<Ball> scores_;
};

// Are the elements within the tolerance, by enclosures? Unknown where nobody has asked.
FilterVerdicts enclosed_verdicts(const AttentionProblem& problem, const AuditOptions& options,
                                 const FilterTile& tile, const FilterRow& row,
                                 std::span<const Ball> output,
                                 std::span<const Uncertain> verdicts) {
  FilterVerdicts found(verdicts.size(), Uncertain::unknown());
  if (!std::holds_alternative<ModelTolerance>(options.tolerance)) {
    for (std::size_t c = 0; c < found.size(); ++c) {
      const double recorded =
          problem.output->value(tile.batch, row.head, row.row, static_cast<std::int64_t>(c));
      found[c] =
          decide(recorded, problem.output->format(), output[c], options.tolerance, nullptr).within;
    }
    return found;
  }
  if (products_of(problem.dimensions) > most_model_products) return found;
  std::vector<std::int64_t> answered;
  for (std::size_t c = 0; c < verdicts.size(); ++c) {
    if (verdicts[c].is_decided()) answered.push_back(static_cast<std::int64_t>(c));
  }
  // Some of them, spread over the row.
  std::vector<std::int64_t> columns;
  const std::size_t most = std::min(most_model_verdicts, answered.size());
  for (std::size_t i = 0; i < most; ++i) columns.push_back(answered[i * answered.size() / most]);
  const auto asked =
      RowAuditor(problem, options, tile.batch, tile.kv_head).ask(row.head, row.row, columns);
  for (std::size_t i = 0; asked && i < columns.size(); ++i)
    found[static_cast<std::size_t>(columns[i])] = (*asked)[i];
  return found;
}

}  // namespace

std::vector<std::int64_t> self_check_rows(const AttentionProblem& problem,
                                          const AuditOptions& options) {
  const Dimensions& d = problem.dimensions;
  const std::int64_t products = products_of(d);
  if (!options.self_check || products > most_products) return {};
  const std::int64_t wanted =
      std::min(most_rows, most_products / std::max<std::int64_t>(products, 1));
  const std::int64_t of = row_count(d);
  if (!options.sample) return sampled_numbers({wanted, seed}, of);
  // Of those that are audited.
  const std::vector<std::int64_t> audited = sampled_numbers(*options.sample, of);
  std::vector<std::int64_t> rows;
  for (const std::int64_t n :
       sampled_numbers({wanted, seed}, static_cast<std::int64_t>(audited.size()))) {
    rows.push_back(audited[static_cast<std::size_t>(n)]);
  }
  return rows;
}

std::string self_check_message(const std::string& contradiction) {
  return fmt::format(
      "self-check: {}; the BLAS, the processor or its memory computes wrongly, or gqaverify does: "
      "no verdict of this run can be trusted (--no-filter audits without the BLAS)",
      contradiction);
}

std::optional<std::string> find_contradiction(const AttentionProblem& problem,
                                              const AuditOptions& options, const FilterTile& tile,
                                              std::size_t r, std::span<const Uncertain> verdicts) {
  const PrecisionScope scope(self_check_bits);
  const FilterRow& row = tile.rows[r];
  const auto output = SingleRow(problem, tile, row).output();
  if (!output) {
    return fmt::format("{}: the filter gives {}, but an operand of the row is not finite",
                       place_of(tile, r, 0), filter_interval(tile, r, 0));
  }
  for (std::size_t c = 0; c < output->size(); ++c) {
    if (!misses(tile, r, c, (*output)[c])) continue;
    return fmt::format("{}: the filter certifies {}, enclosures {}", place_of(tile, r, c),
                       filter_interval(tile, r, c), to_text((*output)[c]));
  }
  const FilterVerdicts found = enclosed_verdicts(problem, options, tile, row, *output, verdicts);
  for (std::size_t c = 0; c < found.size(); ++c) {
    if (!found[c].is_decided() || !verdicts[c].is_decided() || found[c] == verdicts[c]) continue;
    const auto word = [](Uncertain within) { return within.certainly() ? "within" : "beyond"; };
    return fmt::format("{}: {} the tolerance by the filter ({}), {} it by enclosures ({})",
                       place_of(tile, r, c), word(verdicts[c]), filter_interval(tile, r, c),
                       word(found[c]), to_text((*output)[c]));
  }
  return std::nullopt;
}

}  // namespace gqa
