// What a fixture says of other maps, permuted and pooled heads, pairs of heads and points.
#include <fmt/ranges.h>

#include <algorithm>

#include "gqa/exact/fixture_checker.hpp"
#include "gqa/exact/pooling.hpp"
#include "gqa/exact/segment.hpp"

namespace gqa {
namespace {

bool head_equal(const AttentionResult<GmpNumbers>& a, std::int64_t head_a,
                const AttentionResult<GmpNumbers>& b, std::int64_t head_b) {
  for (std::int64_t batch = 0; batch < a.output.extent(0); ++batch) {
    const auto left = a.output.matrix(batch, head_a);
    const auto right = b.output.matrix(batch, head_b);
    for (std::size_t i = 0; i < left.rows(); ++i) {
      if (!std::ranges::equal(left.row(i), right.row(i))) return false;
    }
  }
  return true;
}

bool is_permutation_of(const std::vector<std::int64_t>& list, std::int64_t count) {
  std::vector<std::int64_t> sorted = list;
  std::ranges::sort(sorted);
  for (std::int64_t i = 0; i < static_cast<std::int64_t>(sorted.size()); ++i) {
    if (sorted[static_cast<std::size_t>(i)] != i) return false;
  }
  return static_cast<std::int64_t>(list.size()) == count;
}

// New KV index of every new query head: where the old map's target went.
HeadMap permuted_map(const std::vector<std::int64_t>& old_map, const HeadPermutation& p) {
  HeadMap map{HeadMapKind::explicit_list, {}};
  for (const std::int64_t old_head : p.query_heads) {
    const std::int64_t old_kv = old_map[static_cast<std::size_t>(old_head)];
    map.list.push_back(std::ranges::find(p.kv_heads, old_kv) - p.kv_heads.begin());
  }
  return map;
}

}  // namespace

void FixtureChecker::check_pairs() {
  const std::int64_t heads = result_.output.extent(1);
  const auto check = [&](const std::vector<HeadPair>& pairs, bool equal) {
    for (const auto& [a, b] : pairs) {
      if (std::min(a, b) < 0 || std::max(a, b) >= heads) {
        fail("heads {} and {}: there are only {}", a, b, heads);
      } else if (head_equal(result_, a, result_, b) != equal) {
        fail("heads {} and {}: outputs are {}", a, b, equal ? "not equal" : "equal");
      }
    }
  };
  check(fixture_.equal_outputs, true);
  check(fixture_.unequal_outputs, false);
}

void FixtureChecker::check_map(const MapComparison& comparison) {
  note("another head map: query heads {} change", comparison.changed_heads);
  Problem<GmpNumbers> other = fixture_.problem;
  other.contract.head_map = comparison.head_map;
  const Result changed = attention(other);
  std::vector<std::int64_t> heads;
  for (std::int64_t h = 0; h < result_.output.extent(1); ++h) {
    if (!head_equal(result_, h, changed, h)) heads.push_back(h);
  }
  if (heads != comparison.changed_heads) {
    fail("under the other map heads {} change, expected {}", heads, comparison.changed_heads);
  }
  if (comparison.output) expect_tensor(other, changed, *comparison.output, "compared output");
}

void FixtureChecker::check_permutation() {
  if (!fixture_.permutation) return;
  const HeadPermutation& p = *fixture_.permutation;
  note("query heads permuted to {}, KV heads to {}", p.query_heads, p.kv_heads);
  const Problem<GmpNumbers>& old = fixture_.problem;
  if (!is_permutation_of(p.query_heads, result_.output.extent(1)) ||
      !is_permutation_of(p.kv_heads, old.value.extent(1))) {
    fail("the permutation does not name every head once");
    return;
  }
  Problem<GmpNumbers> permuted = old;
  permuted.contract.head_map = permuted_map(
      resolve_head_map(old.contract.head_map, result_.output.extent(1), old.value.extent(1)), p);
  if (!old.strengths) {
    permuted.query = expand_heads(old.query, p.query_heads);
    permuted.key = expand_heads(old.key, p.kv_heads);
  }
  permuted.value = expand_heads(old.value, p.kv_heads);
  if (old.strengths) permuted.strengths = expand_heads(*old.strengths, p.query_heads);
  if (old.bias) permuted.bias = expand_heads(*old.bias, p.query_heads);
  if (old.score_shift) permuted.score_shift = expand_heads(*old.score_shift, p.query_heads);
  if (old.mask && old.mask->extent(1) != 1) {
    permuted.mask = expand_heads(*old.mask, p.query_heads);
  }
  if (old.sink) {
    for (std::size_t h = 0; h < p.query_heads.size(); ++h) {
      (*permuted.sink)[h] = (*old.sink)[static_cast<std::size_t>(p.query_heads[h])];
    }
  }
  const Result result = attention(permuted);
  for (std::size_t h = 0; h < p.query_heads.size(); ++h) {
    if (!head_equal(result_, p.query_heads[h], result, static_cast<std::int64_t>(h))) {
      fail("permuted head {} differs from head {}", h, p.query_heads[h]);
    }
  }
}

void FixtureChecker::check_pooling() {
  if (!fixture_.pooled) return;
  note("KV heads averaged to {}", fixture_.pooled->kv_heads);
  Problem<GmpNumbers> pooled = fixture_.problem;
  pooled.contract.head_map = {};
  if (!pooled.strengths) {
    pooled.key = mean_pool_heads(fixture_.problem.key, fixture_.pooled->kv_heads);
  }
  pooled.value = mean_pool_heads(fixture_.problem.value, fixture_.pooled->kv_heads);
  const Result result = attention(pooled);
  expect_tensor(pooled, result, fixture_.pooled->output, "pooled output");
  const bool lossless = result.output == result_.output;
  if (lossless != fixture_.pooled->lossless) {
    fail("pooling is {}", lossless ? "lossless" : "not lossless");
  }
}

void FixtureChecker::check_segment() {
  if (fixture_.segment.empty()) return;
  const auto values = fixture_.problem.value.matrix(0, 0);
  for (const SegmentExpectation& expected : fixture_.segment) {
    std::vector<std::string> text;
    for (const Rational& x : expected.point) text.push_back(to_text(x));
    const std::string point = fmt::format("point ({})", fmt::join(text, ","));
    note("{}, {}attainable", point, expected.attainable ? "" : "not ");
    const auto weights = affine_weights(values, expected.point);
    if (is_attainable(weights) != expected.attainable) {
      fail("{} is {}", point, is_attainable(weights) ? "attainable" : "not attainable");
    }
    if (values.rows() == 2 &&
        on_open_segment(values.row(0), values.row(1), expected.point) != expected.attainable) {
      fail("{}: the segment test disagrees", point);
    }
    if (expected.weights && (!weights || *weights != *expected.weights)) {
      fail("{}: the weights differ from those expected", point);
    }
  }
}

}  // namespace gqa
