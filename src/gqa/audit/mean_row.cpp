#include "gqa/audit/mean_row.hpp"

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
  return row;
}

ElementDecision decide_mean(const EnclosureReader& reader, std::int64_t column, double output,
                            const FloatFormat& format, const Tolerance& tolerance,
                            const FormatRounding& recorded, Ball& reference) {
  const std::optional<Rational> mean = reader.mean_of_all(column);
  if (!mean) {
    reference = Ball(1) / Ball(0);
    return {};
  }
  reference = Ball(*mean);
  std::optional<RoundingBounds> bounds;
  if (const auto* model = std::get_if<ModelTolerance>(&tolerance)) {
    std::vector<std::size_t> all(reader.keys());
    std::iota(all.begin(), all.end(), std::size_t{0});
    const RowRounding rounding = equal_score_rounding(static_cast<std::int64_t>(all.size()));
    bounds = RoundingBound(*model->model, rounding, recorded)
                 .column(reader.value_column(all, column), reference);
  }
  return decide_exactly(output, format, *mean, tolerance, bounds ? &*bounds : nullptr);
}

}  // namespace gqa
