#include "gqa/audit/enclose/row_auditor.hpp"

#include <cmath>
#include <limits>
#include <numeric>
#include <optional>

#include "gqa/audit/enclose/mean_row.hpp"

namespace gqa {

// One row at one precision; the model's bounds are made once and asked per column.
struct RowAuditor::Row {
  std::int64_t head;
  std::int64_t row;
  std::vector<std::size_t> visible;
  EnclosureReader::Row result;
  std::optional<RowRounding> rounding;
  std::optional<RoundingBound> bound;

  Row(const EnclosureReader& reader, const AuditOptions& options, std::int64_t head_index,
      std::int64_t row_index, std::vector<std::size_t> keys, std::span<const std::int64_t> columns)
      : head(head_index), row(row_index), visible(std::move(keys)) {
    result = reader.row(head, row, visible, columns);
    if (const auto* tolerance = std::get_if<ModelTolerance>(&options.tolerance)) {
      const PrecisionModel& model = *tolerance->model;
      rounding.emplace(reader.rounding(model, head, row, visible, result));
      bound.emplace(model, *rounding, options.recorded);
    }
  }

  Enclosed enclosed(const EnclosureReader& reader, std::int64_t column) const {
    const Ball& output = result.output[static_cast<std::size_t>(column)];
    if (!bound) return {output, std::nullopt};
    return {output, bound->column(reader.value_column(visible, column), output)};
  }
};

void RowAuditor::audit_row(std::int64_t head, std::int64_t row, AuditTally& tally) const {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(problem_.dimensions.value_size));
  std::iota(columns.begin(), columns.end(), std::int64_t{0});
  NullRow nulls;
  audit_columns(head, row, columns, tally, nulls);
  nulls.add_to(tally.nulls);
}

void RowAuditor::audit_columns(std::int64_t head, std::int64_t row,
                               std::span<const std::int64_t> columns, AuditTally& tally) const {
  NullRow nulls;
  audit_columns(head, row, columns, tally, nulls);
}

void RowAuditor::audit_columns(std::int64_t head, std::int64_t row,
                               std::span<const std::int64_t> columns, AuditTally& tally,
                               NullRow& nulls) const {
  std::vector<std::size_t> visible = reader_.visible(head, row);
  if (visible.empty()) {
    audit_empty_row(head, row, columns, tally, nulls);
    return;
  }
  if (!reader_.is_finite(head, row, visible)) {
    // The contract gives no number: nothing is right, and nothing is proved wrong.
    const auto count = static_cast<std::int64_t>(columns.size());
    tally.elements += count;
    tally.undecided += count;
    tally.not_finite_references += count;
    return;
  }
  const PrecisionScope precision(options_.first_precision);
  const Row at_first(reader_, options_, head, row, std::move(visible), columns);
  for (const std::int64_t column : columns) audit_element(at_first, column, tally, nulls);
}

std::optional<std::vector<Uncertain>> RowAuditor::ask(std::int64_t head, std::int64_t row,
                                                      std::span<const std::int64_t> columns) const {
  std::vector<std::size_t> visible = reader_.visible(head, row);
  if (!reader_.is_finite(head, row, visible)) return std::nullopt;
  const PrecisionScope precision(options_.first_precision);
  const Row asked(reader_, options_, head, row, std::move(visible), columns);
  std::vector<Uncertain> within;
  for (const std::int64_t column : columns) {
    const AuditedElement element = element_at(head, row, column);
    const Enclosed enclosed = asked.enclosed(reader_, column);
    const RoundingBounds* bounds = enclosed.bounds ? &*enclosed.bounds : nullptr;
    within.push_back(
        decide(element.output, *element.format, enclosed.reference, options_.tolerance, bounds)
            .within);
  }
  return within;
}

AuditedElement RowAuditor::element_at(std::int64_t head, std::int64_t row,
                                      std::int64_t column) const {
  AuditedElement element;
  element.index = {batch_, head, row, column};
  element.output = problem_.output->value(batch_, head, row, column);
  element.format = &problem_.output->format();
  return element;
}

void RowAuditor::add(const AuditedElement& element, AuditTally& tally, NullRow& nulls) const {
  if (options_.observe) options_.observe(element);
  add_element(tally, element, batch_ * problem_.dimensions.q_heads + element.index[1], nulls);
}

// No visible key: the policy says what the element must be, exactly (docs/contract.md,
// "Definition", step 6).
void RowAuditor::audit_empty_row(std::int64_t head, std::int64_t row,
                                 std::span<const std::int64_t> columns, AuditTally& tally,
                                 NullRow& nulls) const {
  const EmptyRow policy = problem_.empty_row_of(head);
  for (const std::int64_t column : columns) {
    AuditedElement element = element_at(head, row, column);
    switch (policy) {
      case EmptyRow::zero:
        demand(element, 0);
        if (std::isfinite(element.output)) element.ball = Ball(0);
        break;
      case EmptyRow::nan:
        demand(element, std::numeric_limits<double>::quiet_NaN());
        break;
      case EmptyRow::any:
        accept_anything(element);
        break;
      case EmptyRow::mean:
        settle_mean(element, reader_, options_);
        break;
    }
    add(element, tally, nulls);
  }
}

void RowAuditor::audit_element(const Row& row, std::int64_t column, AuditTally& tally,
                               NullRow& nulls) const {
  AuditedElement element = element_at(row.head, row.row, column);
  const ReferenceSource source{
      [&] {
        return Row(reader_, options_, row.head, row.row, row.visible, std::span(&column, 1))
            .enclosed(reader_, column);
      },
      [&] { return reader_.rational_output(row.head, row.row, row.visible, column); }};
  settle(element, row.enclosed(reader_, column), source, options_);
  add(element, tally, nulls);
}

}  // namespace gqa
