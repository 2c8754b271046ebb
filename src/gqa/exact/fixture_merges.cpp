// The same output by parts of the keys (split-KV) and by tiles (online softmax).
#include <fmt/ranges.h>

#include <algorithm>

#include "gqa/exact/fixture_checker.hpp"
#include "gqa/exact/merge.hpp"

namespace gqa {
namespace {

using ExactProblem = gqa::Problem<GmpNumbers>;

// Attention over the keys [begin, end) alone. A sink is no key: it is of no part. A key is visible
// exactly if its weight is not zero.
ExactProblem part_of(const ExactProblem& whole, const Tensor<Rational>& weights, std::int64_t begin,
                     std::int64_t end) {
  ExactProblem part = whole;
  part.sink.reset();
  part.mask = Tensor<char>(weights.shape(), 0);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const std::int64_t key = static_cast<std::int64_t>(i) % weights.extent(3);
    if (key >= begin && key < end && weights.data()[i] != 0) part.mask->data()[i] = 1;
  }
  return part;
}

// [B, Hq, T, 1]: what the keys [begin, end) have of each row's softmax.
Tensor<Rational> share_of(const Tensor<Rational>& weights, std::int64_t begin, std::int64_t end) {
  Shape shape = weights.shape();
  shape[3] = 1;
  Tensor<Rational> shares(shape, Rational(0));
  for (std::size_t row = 0; row < shares.size(); ++row) {
    const auto first =
        weights.data().begin() + static_cast<std::ptrdiff_t>(row) * weights.extent(3);
    for (auto w = first + begin; w != first + end; ++w) shares.data()[row] += *w;
  }
  return shares;
}

PartialAttention<Rational> partial_row(const Tensor<Rational>& output,
                                       const Tensor<Rational>& share, std::size_t row) {
  const auto width = output.extent(3);
  const auto first = output.data().begin() + static_cast<std::ptrdiff_t>(row) * width;
  return {std::vector<Rational>(first, first + width), share.data()[row]};
}

}  // namespace

void FixtureChecker::check_merge(const MergeExpectation& expected) {
  note("merged from parts that begin at keys 0, {}", fmt::join(expected.splits, ", "));
  const std::int64_t keys = result_.weights.extent(3);
  const auto width = static_cast<std::size_t>(result_.output.extent(3));
  std::vector<PartialAttention<Rational>> rows(result_.empty.size());
  for (auto& row : rows) row.output.assign(width, Rational(0));
  std::vector<std::int64_t> bounds = expected.splits;
  bounds.insert(bounds.begin(), 0);
  bounds.push_back(keys);
  for (std::size_t p = 0; p + 1 < bounds.size(); ++p) {
    const Result part =
        attention(part_of(fixture_.problem, result_.weights, bounds[p], bounds[p + 1]));
    const Tensor<Rational> share = share_of(result_.weights, bounds[p], bounds[p + 1]);
    expect_elements(part.output, expected.outputs[p], fmt::format("merged part {}: output", p));
    expect_elements(share, expected.shares[p], fmt::format("merged part {}: share", p));
    for (std::size_t row = 0; row < rows.size(); ++row) {
      rows[row] = merge(rows[row], partial_row(part.output, share, row));
    }
  }
  for (std::size_t row = 0; row < rows.size(); ++row) {
    // A sink is merged once, as a part whose values are zero.
    if (fixture_.problem.sink) {
      rows[row] = merge(rows[row],
                        {std::vector<Rational>(width, Rational(0)), Rational(1 - rows[row].total)});
    }
    for (std::size_t c = 0; c < width; ++c) {
      const std::size_t at = row * width + c;
      if (rows[row].output[c] == result_.output.data()[at]) continue;
      fail("merged output{}: {}, the output is {}", index_text(result_.output.shape(), at),
           to_text(rows[row].output[c]), to_text(result_.output.data()[at]));
    }
  }
}

void FixtureChecker::check_online_softmax() {
  if (fixture_.tile_sizes.empty()) return;
  note("online softmax in tiles of {}", fmt::join(fixture_.tile_sizes, ", "));
  const auto head_map =
      resolve_head_map(fixture_.problem.contract.head_map, result_.output.extent(1),
                       fixture_.problem.value.extent(1));
  const auto width = static_cast<std::size_t>(result_.output.extent(3));
  const auto heads = static_cast<std::int64_t>(head_map.size());
  for (std::size_t row = 0; row < result_.empty.size(); ++row) {
    const auto head = static_cast<std::int64_t>(row) / result_.output.extent(2);
    const auto stored = fixture_.problem.value.matrix(
        head / heads, head_map[static_cast<std::size_t>(head % heads)]);
    std::vector<Rational> values(&stored(0, 0), &stored(0, 0) + stored.rows() * width);
    const auto first =
        result_.weights.data().begin() + static_cast<std::ptrdiff_t>(row * stored.rows());
    std::vector<Rational> weights(first, first + static_cast<std::ptrdiff_t>(stored.rows()));
    if (fixture_.problem.sink) {  // one more key, of value zero
      Rational rest = 1;
      for (const Rational& w : weights) rest -= w;
      weights.push_back(rest);
      values.resize(values.size() + width);
    }
    const MatrixView<const Rational> history(values.data(), weights.size(), width);
    for (const std::int64_t size : fixture_.tile_sizes) {
      const auto output = online_softmax(std::span<const Rational>(weights), history,
                                         static_cast<std::size_t>(size));
      if (std::equal(output.begin(), output.end(),
                     result_.output.data().begin() + static_cast<std::ptrdiff_t>(row * width))) {
        continue;
      }
      fail("online softmax in tiles of {} differs in row {}", size, row);
    }
  }
}

}  // namespace gqa
