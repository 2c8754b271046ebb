#include "gqa/audit/enclose/element_bounds.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "gqa/audit/decide/recorded_rounding.hpp"
#include "gqa/audit/enclose/enclosure.hpp"

namespace gqa {
namespace {

using Index = std::array<std::int64_t, 4>;

constexpr long bits = 128;

Ball ulp_at(const FloatFormat& format, const Ball& reference) {
  Ball ulp(1);
  arb_mul_2exp_si(ulp.get(), ulp.get(), ulp_exponents(format, reference).smallest);
  return ulp;
}

// One row of a history, and the bounds of its columns.
class BoundedRow {
 public:
  BoundedRow(const AttentionProblem& problem, const Tolerance& tolerance,
             const FormatRounding& recorded, const EnclosureReader& reader, std::int64_t head,
             std::int64_t row)
      : format_(problem.output->format()), tolerance_(tolerance), reader_(reader) {
    visible_ = reader.visible(head, row);
    if (visible_.empty() || !reader.is_finite(head, row, visible_)) return;
    result_ = reader.row(head, row, visible_);
    if (const auto* model = std::get_if<ModelTolerance>(&tolerance)) {
      rounding_ = reader.rounding(*model->model, head, row, visible_, *result_);
      bound_.emplace(*model->model, *rounding_, recorded);
    }
  }
  BoundedRow(const BoundedRow&) = delete;  // bound_ refers to rounding_
  BoundedRow& operator=(const BoundedRow&) = delete;

  std::optional<ElementBounds> column(const Index& index) const {
    if (!result_) return std::nullopt;
    const Ball& reference = result_->output[static_cast<std::size_t>(index[3])];
    const Ball ulp = ulp_at(format_, reference);
    const auto in_ulps = [&ulp](const Ball& bound) { return Ball(bound / ulp).upper_double(); };
    ElementBounds bounds{index, 0, std::nullopt};
    if (bound_) {
      const RoundingBounds both =
          bound_->column(reader_.value_column(visible_, index[3]), reference);
      bounds.allowed = in_ulps(both.allowance());
      bounds.worst = in_ulps(both.worst);
    } else if (const auto* stated = std::get_if<AbsoluteRelativeTolerance>(&tolerance_)) {
      bounds.allowed = in_ulps(Ball(stated->absolute) + Ball(stated->relative) * abs(reference));
    } else {
      bounds.allowed = Ball(std::get<UlpTolerance>(tolerance_).ulps).upper_double();
    }
    return bounds;
  }

 private:
  const FloatFormat& format_;
  const Tolerance& tolerance_;
  const EnclosureReader& reader_;
  std::vector<std::size_t> visible_;
  std::optional<EnclosureReader::Row> result_;
  std::optional<RowRounding> rounding_;
  std::optional<RoundingBound> bound_;
};

}  // namespace

std::vector<ElementBounds> element_bounds(const AttentionProblem& problem,
                                          const Tolerance& tolerance,
                                          std::span<const Index> indices,
                                          std::int64_t largest_history) {
  const PrecisionScope precision(bits);
  const Dimensions& d = problem.dimensions;
  const std::int64_t history = d.keys * (d.key_size + d.value_size);
  if (history > largest_history) return {};
  std::map<std::pair<std::int64_t, std::int64_t>, std::set<Index>> by_history;
  const std::int64_t most = history > 0 ? 4 * largest_history / history : 1;
  for (const Index& index : indices) {
    const std::pair key{index[0], problem.head_map[static_cast<std::size_t>(index[1])]};
    if (by_history.contains(key) || static_cast<std::int64_t>(by_history.size()) < most) {
      by_history[key].insert(index);
    }
  }
  const FormatRounding recorded = recorded_rounding(tolerance, *problem.output);
  std::vector<ElementBounds> all;
  for (const auto& [key, chosen] : by_history) {
    const EnclosureReader reader(problem, key.first, key.second);
    std::optional<BoundedRow> row;
    Index last{-1, -1, -1, -1};
    for (const Index& index : chosen) {
      if (!row || index[1] != last[1] || index[2] != last[2]) {
        row.emplace(problem, tolerance, recorded, reader, index[1], index[2]);
      }
      last = index;
      if (auto bounds = row->column(index)) all.push_back(std::move(*bounds));
    }
  }
  std::ranges::sort(all, {}, &ElementBounds::index);
  return all;
}

}  // namespace gqa
