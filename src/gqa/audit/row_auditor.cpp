#include "gqa/audit/row_auditor.hpp"

#include <cmath>
#include <numeric>
#include <optional>

#include "gqa/audit/mean_row.hpp"

namespace gqa {

// One row at one precision; the model's bounds are made once and asked per column.
struct RowAuditor::Row {
  std::int64_t head;
  std::int64_t row;
  std::vector<std::size_t> visible;
  EnclosureReader::Row result;
  std::optional<RowRounding> rounding;
  std::optional<RoundingBound> bound;

  Row(const EnclosureReader& reader, const Tolerance& tolerance, std::int64_t head_index,
      std::int64_t row_index, std::vector<std::size_t> keys)
      : head(head_index), row(row_index), visible(std::move(keys)) {
    if (visible.empty()) return;
    result = reader.row(head, row, visible);
    if (const auto* model = std::get_if<ModelTolerance>(&tolerance)) {
      rounding.emplace(reader.rounding(head, row, visible, result));
      bound.emplace(*model->model, *rounding);
    }
  }

  std::optional<RoundingBounds> bounds(const EnclosureReader& reader, std::int64_t column) const {
    if (!bound) return std::nullopt;
    return bound->column(reader.value_column(visible, column),
                         result.output[static_cast<std::size_t>(column)]);
  }
};

struct RowAuditor::Element {
  double output = 0;
  Ball reference;
  ElementDecision decision;
  bool exactly = false;
};

void RowAuditor::audit_row(std::int64_t head, std::int64_t row, AuditTally& tally) const {
  std::vector<std::int64_t> columns(static_cast<std::size_t>(problem_.dimensions.value_size));
  std::iota(columns.begin(), columns.end(), std::int64_t{0});
  audit_columns(head, row, columns, tally);
}

void RowAuditor::audit_columns(std::int64_t head, std::int64_t row,
                               std::span<const std::int64_t> columns, AuditTally& tally) const {
  std::vector<std::size_t> visible = reader_.visible(head, row);
  const auto count = static_cast<std::int64_t>(columns.size());
  if (!visible.empty() && !reader_.is_finite(head, row, visible)) {
    // The contract gives no number: nothing is right, and nothing is proved wrong.
    tally.elements += count;
    tally.undecided += count;
    tally.not_finite_references += count;
    return;
  }
  const PrecisionScope precision(options_.first_precision);
  const Row at_first(reader_, options_.tolerance, head, row, std::move(visible));
  if (at_first.visible.empty()) {
    audit_empty_row(at_first, columns, tally);
    return;
  }
  for (const std::int64_t column : columns) audit_element(at_first, column, tally);
}

// No visible key: the declared policy says what the element must be, exactly. A declared
// sink keeps the denominator positive, so the row is a true zero (CONTRACT, step 6).
void RowAuditor::audit_empty_row(const Row& row, std::span<const std::int64_t> columns,
                                 AuditTally& tally) const {
  const EmptyRow policy = problem_.sink_of(row.head) ? EmptyRow::zero : problem_.contract.empty_row;
  for (const std::int64_t column : columns) {
    Element element;
    element.output = problem_.output->value(batch_, row.head, row.row, column);
    element.exactly = true;
    if (policy == EmptyRow::mean) {
      element.decision = decide_mean(reader_, column, element.output, problem_.output->format(),
                                     options_.tolerance, element.reference);
      record(row, column, element, tally);
      continue;
    }
    const bool right = policy == EmptyRow::any ||
                       (policy == EmptyRow::zero && element.output == 0) ||
                       (policy == EmptyRow::nan && std::isnan(element.output));
    element.decision.within = Uncertain::from(right);
    if (!right) element.decision.strength = FailureStrength::proved;
    record(row, column, element, tally);
  }
}

void RowAuditor::audit_element(const Row& row, std::int64_t column, AuditTally& tally) const {
  Element element;
  element.output = problem_.output->value(batch_, row.head, row.row, column);
  element.reference = row.result.output[static_cast<std::size_t>(column)];
  const auto bounds = row.bounds(reader_, column);
  element.decision = decide(element.output, problem_.output->format(), element.reference,
                            options_.tolerance, bounds ? &*bounds : nullptr);
  if (!element.decision.within.is_decided()) refine(row, column, element);
  record(row, column, element, tally);
}

// Open at the first precision: a tie is decided exactly, anything else by more bits.
void RowAuditor::refine(const Row& row, std::int64_t column, Element& element) const {
  const FloatFormat& format = problem_.output->format();
  if (const auto exact = reader_.rational_output(row.head, row.row, row.visible, column)) {
    const auto bounds = row.bounds(reader_, column);
    element.reference = Ball(*exact);
    element.decision = decide_exactly(element.output, format, *exact, options_.tolerance,
                                      bounds ? &*bounds : nullptr);
    element.exactly = element.decision.within.is_decided();
  }
  for (long bits = 2 * options_.first_precision;
       !element.decision.within.is_decided() && bits <= options_.largest_precision; bits *= 2) {
    const PrecisionScope precision(bits);
    const Row finer(reader_, options_.tolerance, row.head, row.row, row.visible);
    const auto bounds = finer.bounds(reader_, column);
    element.reference = finer.result.output[static_cast<std::size_t>(column)];
    element.decision = decide(element.output, format, element.reference, options_.tolerance,
                              bounds ? &*bounds : nullptr);
  }
}

void RowAuditor::record(const Row& row, std::int64_t column, const Element& element,
                        AuditTally& tally) const {
  ++tally.elements;
  WorstElement worst;
  worst.index = {batch_, row.head, row.row, column};
  worst.output = element.output;
  worst.within = element.decision.within;
  worst.reference = {element.reference.lower_double(), element.reference.upper_double()};
  if (element.decision.within.certainly_not()) {
    tally.add_violation(batch_ * problem_.dimensions.q_heads + row.head, row.row, column);
    if (element.decision.strength == FailureStrength::proved) ++tally.proved_violations;
  }
  if (!element.decision.within.is_decided()) {
    ++tally.undecided;
  } else if (element.exactly) {
    ++tally.decided_exactly;
  } else {
    ++tally.decided_by_enclosure;
  }
  const bool empty_any = row.visible.empty() && problem_.contract.empty_row != EmptyRow::zero;
  if (std::isfinite(element.output) && element.reference.is_finite() && !empty_any) {
    const Ball error = absolute_error(element.output, element.reference);
    const Ball ulps = ulp_error(element.output, problem_.output->format(), element.reference);
    worst.absolute_error = {error.lower_double(), error.upper_double()};
    worst.ulp_error = {ulps.lower_double(), ulps.upper_double()};
    tally.add_errors(worst.absolute_error, worst.ulp_error, ulps.midpoint_double());
  }
  if (!element.decision.within.certainly() || worst.ulp_error.upper > 0) tally.add_worst(worst);
}

}  // namespace gqa
