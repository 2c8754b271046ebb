#include "gqa/audit/enclose/mean_row.hpp"

#include <numeric>
#include <optional>

namespace gqa {

RowRounding equal_score_rounding(std::int64_t keys) {
  const auto count = static_cast<std::size_t>(keys);
  RowRounding row;
  row.visible = keys;
  row.key_norm2.resize(count);
  row.key_norm4_squared.resize(count);
  row.raw_scores.resize(count);
  row.scores.resize(count);
  row.weights.assign(count, Ball(1) / Ball(static_cast<double>(keys)));
  row.equal = equal_classes(std::vector<std::int64_t>(count), {});
  return row;
}

void settle_mean(AuditedElement& element, const EnclosureReader& reader,
                 const AuditOptions& options) {
  const std::int64_t column = element.index[3];
  const std::optional<Rational> mean = reader.mean_of_all(column);
  if (!mean) return;
  RoundingBounds bounds;
  if (const auto* model = std::get_if<ModelTolerance>(&options.tolerance)) {
    std::vector<std::size_t> all(reader.keys());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const RowRounding rounding = equal_score_rounding(static_cast<std::int64_t>(all.size()));
    bounds = RoundingBound(*model->model, rounding, options.recorded)
                 .column(reader.value_column(all, column), Ball(*mean));
  }
  settle_exactly(element, *mean, options, bounds);
  element.exactly = element.decision.within.is_decided();
}

}  // namespace gqa
