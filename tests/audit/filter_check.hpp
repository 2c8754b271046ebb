// What the filter certified, checked against balls at 256 bits.
#pragma once

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <cmath>
#include <map>

#include "audit/filter_support.hpp"
#include "gqa/audit/enclose/enclosure.hpp"
#include "support/numbers.hpp"

namespace gqa_test {

using namespace gqa;

using gqa::test::infinity;

// How the radii compare with the errors, over all rows that were checked.
struct Ledger {
  std::int64_t rows = 0;
  std::int64_t open = 0;
  std::int64_t elements = 0;
  std::int64_t with_error = 0;
  double sum_of_logarithms = 0;
  double smallest = infinity;

  void note(double radius, double error) {
    ++elements;
    // An exact result is off by the last bits of the ball at most.
    if (!(error > radius * 0x1p-100)) return;
    ++with_error;
    sum_of_logarithms += std::log(radius / error);
    smallest = std::min(smallest, radius / error);
  }
  void print(const char* title) const {
    fmt::print(
        "{}: {} rows ({} open), {} elements; radius / error: geometric mean {:.3g}, "
        "smallest {:.3g}\n",
        title, rows, open, elements,
        std::exp(sum_of_logarithms / std::max<double>(1, static_cast<double>(with_error))),
        smallest);
  }
};

inline Ball exact_lse(const EnclosureReader::Row& result, const std::vector<std::size_t>& visible,
                      const double* sink, double shift) {
  Ball sum;
  for (const std::size_t j : visible) sum += exp(result.scores[j] - Ball(shift));
  if (sink != nullptr) sum += exp(Ball(*sink) - Ball(shift));
  return log(sum) + Ball(shift);
}

inline void check_squares(const Certified& certified, const EnclosureReader::Row& result,
                          const EnclosureReader& reader, const std::vector<std::size_t>& visible) {
  if (certified.squares.empty() || certified.row.epsilon > 1e-7) return;
  for (std::size_t c = 0; c < certified.squares.size(); ++c) {
    const auto values = reader.value_column(visible, static_cast<std::int64_t>(c));
    Ball sum;
    for (std::size_t k = 0; k < visible.size(); ++k) {
      const Ball product = result.weights[visible[k]] * *values[k];
      sum += product * product;
    }
    const double error = abs(sum - Ball(certified.squares[c])).upper_double();
    CAPTURE(c);
    CAPTURE(to_text(sum));
    CHECK(error <= certified.squares_relative * certified.squares[c] + certified.squares_absolute);
  }
}

inline void check_row(const AttentionProblem& problem, const Certified& certified,
                      const EnclosureReader& reader, Ledger& ledger) {
  const FilterRow& row = certified.row;
  const auto visible = reader.visible(row.head, row.row);
  INFO("batch ", certified.batch, ", head ", row.head, ", row ", row.row, ", visible ",
       visible.size());
  ++ledger.rows;
  if (row.open) {
    ++ledger.open;
    return;
  }
  const double* sink =
      problem.sink ? &(*problem.sink)[static_cast<std::size_t>(row.head)] : nullptr;
  CHECK(row.visible == static_cast<std::int64_t>(visible.size()));
  CHECK(row.empty == (visible.empty() && (sink == nullptr || *sink == -infinity)));
  REQUIRE(reader.is_finite(row.head, row.row, visible));
  if (visible.empty()) {
    for (const double value : certified.output) CHECK(value == 0.0);
    return;
  }
  const PrecisionScope precision(256);
  const EnclosureReader::Row result = reader.row(row.head, row.row, visible);
  for (std::size_t c = 0; c < certified.output.size(); ++c) {
    const double error = abs(result.output[c] - Ball(certified.output[c])).upper_double();
    CAPTURE(c);
    CAPTURE(to_text(result.output[c]));
    CAPTURE(certified.output[c]);
    CAPTURE(row.epsilon);
    CHECK(error <= certified.radius[c]);
    ledger.note(certified.radius[c], error);
  }
  const Ball lse = exact_lse(result, visible, sink, row.maximum);
  CAPTURE(to_text(lse));
  CHECK(abs(lse - Ball(row.lse)).upper_double() <= row.lse_radius);
  check_squares(certified, result, reader, visible);
}

inline void check_problem(const AttentionProblem& problem, const FilterOptions& options,
                          Ledger& ledger) {
  const std::vector<Certified> rows = run_filter(problem, options);
  const Dimensions& d = problem.dimensions;
  REQUIRE(static_cast<std::int64_t>(rows.size()) == d.batch * d.q_heads * d.queries);
  std::map<std::pair<std::int64_t, std::int64_t>, EnclosureReader> readers;
  const PrecisionScope precision(256);
  for (const Certified& row : rows) {
    const auto [at, added] =
        readers.try_emplace({row.batch, row.kv_head}, problem, row.batch, row.kv_head);
    check_row(problem, row, at->second, ledger);
  }
}

}  // namespace gqa_test
