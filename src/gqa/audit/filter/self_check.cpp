#include "gqa/audit/filter/self_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace gqa {
namespace {

constexpr std::int64_t most_rows = 4;
// Products of a key or value with a number, of all rows that are asked: some hundredths of a
// second.
constexpr std::int64_t most_products = std::int64_t{1} << 20;
constexpr std::uint64_t seed = 0x5e1fc4ec;
// Verdicts of a model that are asked in one row.
constexpr std::size_t most_model_verdicts = 4;

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

// Some of the columns with an answer, spread over the row.
std::vector<std::size_t> answered(std::span<const Uncertain> verdicts, std::size_t most) {
  std::vector<std::size_t> all;
  for (std::size_t c = 0; c < verdicts.size(); ++c) {
    if (verdicts[c].is_decided()) all.push_back(c);
  }
  if (all.size() <= most) return all;
  std::vector<std::size_t> some;
  for (std::size_t i = 0; i < most; ++i) some.push_back(all[i * all.size() / most]);
  return some;
}

}  // namespace

std::vector<std::int64_t> self_check_rows(const AttentionProblem& problem,
                                          const AuditOptions& options) {
  const Dimensions& d = problem.dimensions;
  const std::int64_t products = d.keys * (d.key_size + d.value_size);
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

std::optional<std::string> find_contradiction(const FilterTile& tile, std::size_t r,
                                              std::span<const Uncertain> verdicts,
                                              const RowAuditor& rows) {
  const FilterRow& row = tile.rows[r];
  const std::vector<std::size_t> columns = answered(
      verdicts, rows.uses_model() ? most_model_verdicts : static_cast<std::size_t>(tile.columns));
  const auto asked = rows.ask(row.head, row.row, columns);
  if (!asked) {
    return fmt::format("{}: the filter gives {}, but an operand of the row is not finite",
                       place_of(tile, r, 0), filter_interval(tile, r, 0));
  }
  for (std::size_t c = 0; c < asked->output.size(); ++c) {
    if (!misses(tile, r, c, asked->output[c])) continue;
    return fmt::format("{}: the filter certifies {}, enclosures {}", place_of(tile, r, c),
                       filter_interval(tile, r, c), to_text(asked->output[c]));
  }
  for (std::size_t i = 0; i < columns.size(); ++i) {
    const std::size_t c = columns[i];
    const Uncertain found = asked->within[i];
    if (!found.is_decided() || found.certainly() == verdicts[c].certainly()) continue;
    const auto word = [](Uncertain within) { return within.certainly() ? "within" : "beyond"; };
    return fmt::format("{}: {} the tolerance by the filter ({}), {} it by enclosures ({})",
                       place_of(tile, r, c), word(verdicts[c]), filter_interval(tile, r, c),
                       word(found), to_text(asked->output[c]));
  }
  return std::nullopt;
}

}  // namespace gqa
