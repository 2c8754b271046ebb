// What GradientEnclosure keeps of a row while it sums.
#pragma once

#include <optional>
#include <span>
#include <vector>

#include "gqa/audit/gradients/gradient_enclosure.hpp"
#include "gqa/num/arithmetic.hpp"

namespace gqa {

// One row's forward pass.
struct GradientEnclosure::Row {
  std::vector<std::size_t> visible;
  EnclosureReader::Row result;
  Ball lse;
  Ball delta;
  Ball grad_lse;
  /// What every g.v is compared with.
  Ball subtracted() const { return delta - grad_lse; }
};

struct GradientEnclosure::Model {
  const PrecisionModel& precision;
  GradientRoundings roundings;
  GradientCopies copies;
};

// Sums of derivatives (or weights) times operands; with a model also those of factors.
struct GradientEnclosure::Sums {
  std::vector<Ball> columns;
  std::vector<GradientFactors<Ball>> factors;
  GradientFactorCounts counts{0, 0, 0};
  bool is_bounded = true;
  std::int64_t terms = 0;
  std::vector<Ball> head;          // one query head's part of `columns`
  std::vector<Ball> head_squares;  // of what is stored of them
  std::optional<RowSums> of_row;   // of a query

  explicit Sums(std::int64_t width) : columns(static_cast<std::size_t>(width)) {}
  void add(const Ball& factor, std::span<const Ball> row) {
    for (std::size_t c = 0; c < columns.size(); ++c) columns[c] += factor * row[c];
  }
  void start(const GradientFactorCounts& all) {
    counts = all;
    factors.resize(columns.size());
    head.resize(columns.size());
    head_squares.resize(columns.size());
  }
  void add(const GradientFactors<Ball>& by, std::span<const Ball> row) {
    for (std::size_t c = 0; c < factors.size(); ++c) {
      GradientFactors<Ball>& to = factors[c];
      const Ball square_of = square(row[c]);
      const Ball magnitude = abs(row[c]);
      for (std::size_t i = 0; i < counts.squares; ++i) to.squares[i] += by.squares[i] * square_of;
      for (std::size_t i = 0; i < counts.plain; ++i) to.plain[i] += by.plain[i] * row[c];
      for (std::size_t i = 0; i < counts.magnitudes; ++i) {
        to.magnitudes[i] += by.magnitudes[i] * magnitude;
      }
    }
    ++terms;
  }
  // What one head has added since the last call was stored.
  void finish_head(const Ball& scale, double roundoff, double underflow) {
    for (std::size_t c = 0; c < head.size(); ++c) {
      const Ball part = Ball(roundoff) * abs(scale * (columns[c] - head[c]));
      head_squares[c] += square(max(part, Ball(underflow)));
      head[c] = columns[c];
    }
  }
};

}  // namespace gqa
