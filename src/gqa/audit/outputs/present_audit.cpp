#include "gqa/audit/outputs/present_audit.hpp"

#include <fmt/format.h>

#include <cmath>

#include "gqa/audit/decide/describe_violations.hpp"
#include "gqa/audit/enclose/audited_element.hpp"
#include "gqa/audit/work/output_shape.hpp"
#include "gqa/error.hpp"

namespace gqa {
namespace {

void require_type(const History& history, ElementType type, const std::string& where) {
  for (const StridedTensor* rows : {history.past(), &history.current()}) {
    if (rows == nullptr || rows->type() == type) continue;
    throw InputError(
        "contract.element_type", where,
        fmt::format("holds {}, the rows that it repeats hold {}", name(type), name(rows->type())));
  }
}

// An element whose bits differ; its value may be equal all the same (zeros, NaN).
AuditedElement differing(const StridedTensor& present, const std::array<std::int64_t, 4>& index,
                         double expected) {
  AuditedElement element;
  element.index = index;
  element.format = &present.format();
  element.output = present.value(index[0], index[1], index[2], index[3]);
  element.exactly = true;
  element.reference = {expected, expected};
  if (std::isfinite(expected)) element.ball = Ball(expected);
  element.allowed = {0, 0};
  element.decision = {Uncertain::no(), FailureStrength::proved};
  return element;
}

void compare_row(const History& history, const StridedTensor& present, std::int64_t b,
                 std::int64_t h, std::int64_t row, AuditTally& tally) {
  const Shape& shape = present.shape();
  NullRow nulls;
  for (std::int64_t column = 0; column < shape[3]; ++column) {
    if (present.bits(b, h, row, column) == history.bits(b, h, row, column)) {
      ++tally.elements;
      ++tally.decided_exactly;
      const double value = present.value(b, h, row, column);
      if (std::isfinite(value)) tally.add_errors({}, {}, 0);
      nulls.add(std::abs(value), 0);
      continue;
    }
    const double expected = history.value(b, h, row, column);
    add_element(tally, differing(present, {b, h, row, column}, expected), b * shape[1] + h, nulls);
  }
  nulls.add_to(tally.nulls);
}

}  // namespace

AuditResult audit_present(const History& history, const std::shared_ptr<const TypedTensor>& present,
                          const std::string& where) {
  const StridedTensor rows(present, Layout::bhsd, 0, where);
  const Shape& current = history.current().shape();
  const Shape expected{current[0], current[1], history.rows(), history.width()};
  require_output_shape(rows.shape(), expected, where);
  require_type(history, rows.type(), where);
  OutputAxes axes{expected[0], expected[1], expected[2], expected[3]};
  axes.head = {"KV head", "KV heads"};
  axes.row = {"key", "keys"};
  AuditTally tally(axes.batch, axes.heads, axes.rows, axes.columns);
  for (std::int64_t b = 0; b < axes.batch; ++b) {
    for (std::int64_t h = 0; h < axes.heads; ++h) {
      for (std::int64_t row = 0; row < axes.rows; ++row) {
        compare_row(history, rows, b, h, row, tally);
      }
    }
  }
  std::string described = describe_violations(tally, axes);
  return result_of(std::move(tally), std::move(described), UlpTolerance{});
}

}  // namespace gqa
