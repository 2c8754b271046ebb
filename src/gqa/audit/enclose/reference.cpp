#include "gqa/audit/enclose/reference.hpp"

#include <tbb/parallel_for.h>

#include <algorithm>
#include <limits>

#include "gqa/audit/enclose/enclosure.hpp"

namespace gqa {
namespace {

constexpr long precision = 128;
constexpr double nan = std::numeric_limits<double>::quiet_NaN();
constexpr double infinity = std::numeric_limits<double>::infinity();

struct Place {
  std::span<double> value;
  std::span<double> radius;

  void set(std::size_t column, double number, double error) const {
    value[column] = number;
    radius[column] = error;
  }
  void set(std::size_t column, const Ball& ball) const {
    if (!ball.is_finite()) return set(column, nan, infinity);
    const double middle = ball.midpoint_double();
    set(column, middle, abs(ball - Ball(middle)).upper_double());
  }
  void fill(double number, double error) const {
    std::ranges::fill(value, number);
    std::ranges::fill(radius, error);
  }
};

void fill_empty_row(const EnclosureReader& reader, EmptyRow policy, const Place& place) {
  switch (policy) {
    case EmptyRow::zero:
      return place.fill(0, 0);
    case EmptyRow::nan:
      return place.fill(nan, 0);
    case EmptyRow::any:
      return place.fill(nan, infinity);
    case EmptyRow::mean:
      break;
  }
  for (std::size_t c = 0; c < place.value.size(); ++c) {
    const auto mean = reader.mean_of_all(static_cast<std::int64_t>(c));
    if (mean) {
      place.set(c, Ball(*mean));
    } else {
      place.set(c, nan, infinity);
    }
  }
}

void fill_row(const AttentionProblem& problem, const EnclosureReader& reader, std::int64_t head,
              std::int64_t row, const Place& place) {
  const PrecisionScope scope(precision);
  const std::vector<std::size_t> visible = reader.visible(head, row);
  if (visible.empty()) return fill_empty_row(reader, problem.empty_row_of(head), place);
  if (!reader.is_finite(head, row, visible)) return place.fill(nan, infinity);
  const EnclosureReader::Row result = reader.row(head, row, visible);
  for (std::size_t c = 0; c < place.value.size(); ++c) place.set(c, result.output[c]);
}

}  // namespace

CertifiedReference certified_reference(const AttentionProblem& problem) {
  const Dimensions& d = problem.dimensions;
  const Shape shape{d.batch, d.q_heads, d.queries, d.value_size};
  CertifiedReference result{Tensor<double>(shape), Tensor<double>(shape)};
  for (std::int64_t b = 0; b < d.batch; ++b) {
    for (std::int64_t kv_head = 0; kv_head < d.kv_heads; ++kv_head) {
      const EnclosureReader reader(problem, b, kv_head);
      for (std::int64_t h = 0; h < d.q_heads; ++h) {
        if (problem.head_map[static_cast<std::size_t>(h)] != kv_head) continue;
        const auto values = result.value.matrix(b, h);
        const auto radii = result.radius.matrix(b, h);
        tbb::parallel_for(std::int64_t{0}, d.queries, [&](std::int64_t i) {
          const auto at = static_cast<std::size_t>(i);
          fill_row(problem, reader, h, i, {values.row(at), radii.row(at)});
        });
      }
    }
  }
  return result;
}

}  // namespace gqa
