#include "gqa/attention/visibility.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/errors.hpp"
#include "support/random_problem.hpp"

using namespace gqa;
using gqa::test::refusal_of;
using Keys = std::vector<std::size_t>;
using Lengths = std::optional<std::vector<std::int64_t>>;

namespace {

Dimensions sizes(std::int64_t queries, std::int64_t keys, std::int64_t past = 0,
                 std::int64_t batch = 1) {
  return {batch, 1, 1, queries, past, keys, 1, 1};
}

Contract causal(CausalAlignment alignment) {
  Contract contract;
  contract.causal = true;
  contract.causal_alignment = alignment;
  return contract;
}

Contract windowed(std::int64_t left, std::int64_t right) {
  Contract contract;
  contract.window = {left, right};
  return contract;
}

// The visible keys of every row of batch 0, head 0.
std::vector<Keys> rows_of(const Visibility& visibility, std::int64_t queries,
                          std::int64_t batch = 0) {
  std::vector<Keys> rows;
  for (std::int64_t i = 0; i < queries; ++i) rows.push_back(visibility.keys_of(batch, 0, i));
  return rows;
}

std::vector<Keys> rows_of(const Contract& contract, const Dimensions& d,
                          const Lengths& lengths = std::nullopt) {
  return rows_of(Visibility(contract, d, lengths), d.queries);
}

}  // namespace

TEST_CASE("visibility: without rules every key is visible") {
  CHECK(rows_of(Contract(), sizes(2, 3)) == std::vector<Keys>{{0, 1, 2}, {0, 1, 2}});
  CHECK(rows_of(Contract(), sizes(1, 0)) == std::vector<Keys>{{}});
}

TEST_CASE("visibility: causal top left, with fewer, as many and more keys than queries") {
  const Contract contract = causal(CausalAlignment::top_left);
  CHECK(rows_of(contract, sizes(2, 4)) == std::vector<Keys>{{0}, {0, 1}});
  CHECK(rows_of(contract, sizes(3, 3)) == std::vector<Keys>{{0}, {0, 1}, {0, 1, 2}});
  CHECK(rows_of(contract, sizes(4, 2)) == std::vector<Keys>{{0}, {0, 1}, {0, 1}, {0, 1}});
}

TEST_CASE("visibility: causal bottom right; a negative offset leaves empty rows, unclamped") {
  const Contract contract = causal(CausalAlignment::bottom_right);
  CHECK(rows_of(contract, sizes(2, 4)) == std::vector<Keys>{{0, 1, 2}, {0, 1, 2, 3}});
  CHECK(rows_of(contract, sizes(3, 3)) == std::vector<Keys>{{0}, {0, 1}, {0, 1, 2}});
  CHECK(rows_of(contract, sizes(4, 2)) == std::vector<Keys>{{}, {}, {0}, {0, 1}});
  const Visibility visibility(contract, sizes(4, 2));
  CHECK(visibility.position(0, 0) == -2);
  CHECK(visibility.position(0, 3) == 1);
}

TEST_CASE("visibility: causal by ONNX's rule: past, or lengths, or the top left corner") {
  const Contract contract = causal(CausalAlignment::onnx);
  CHECK(rows_of(contract, sizes(2, 4)) == std::vector<Keys>{{0}, {0, 1}});
  CHECK(rows_of(contract, sizes(2, 5, 3)) == std::vector<Keys>{{0, 1, 2, 3}, {0, 1, 2, 3, 4}});
  CHECK(rows_of(contract, sizes(2, 5), Lengths{{3}}) == std::vector<Keys>{{0, 1}, {0, 1, 2}});
  CHECK(rows_of(contract, sizes(3, 5), Lengths{{1}}) == std::vector<Keys>{{}, {}, {0}});
}

TEST_CASE("visibility: the bottom right corner is that of each batch entry's own length") {
  const Visibility visibility(causal(CausalAlignment::bottom_right), sizes(2, 4, 0, 3),
                              Lengths{{4, 2, 0}});
  CHECK(rows_of(visibility, 2, 0) == std::vector<Keys>{{0, 1, 2}, {0, 1, 2, 3}});
  CHECK(rows_of(visibility, 2, 1) == std::vector<Keys>{{0}, {0, 1}});
  CHECK(rows_of(visibility, 2, 2) == std::vector<Keys>{{}, {}});
}

TEST_CASE("visibility: keys at and after the length are hidden, causal or not") {
  CHECK(rows_of(Contract(), sizes(1, 4), Lengths{{2}}) == std::vector<Keys>{{0, 1}});
  CHECK(rows_of(Contract(), sizes(1, 4), Lengths{{0}}) == std::vector<Keys>{{}});
  CHECK(rows_of(causal(CausalAlignment::top_left), sizes(3, 4), Lengths{{2}}) ==
        std::vector<Keys>{{0}, {0, 1}, {0, 1}});
}

TEST_CASE("visibility: both ends of a window are included") {
  CHECK(rows_of(windowed(1, 0), sizes(4, 4)) == std::vector<Keys>{{0}, {0, 1}, {1, 2}, {2, 3}});
  CHECK(rows_of(windowed(0, 1), sizes(4, 4)) == std::vector<Keys>{{0, 1}, {1, 2}, {2, 3}, {3}});
  CHECK(rows_of(windowed(0, 0), sizes(3, 3)) == std::vector<Keys>{{0}, {1}, {2}});
  CHECK(rows_of(windowed(-1, 0), sizes(3, 3)) == std::vector<Keys>{{0}, {0, 1}, {0, 1, 2}});
  CHECK(rows_of(windowed(1, -1), sizes(3, 3)) == std::vector<Keys>{{0, 1, 2}, {0, 1, 2}, {1, 2}});
}

TEST_CASE("visibility: a window follows the position, and may leave a row without keys") {
  Contract contract = windowed(1, 0);  // bottom right without causal
  CHECK(rows_of(contract, sizes(2, 4)) == std::vector<Keys>{{1, 2}, {2, 3}});
  contract.causal_alignment = CausalAlignment::top_left;
  CHECK(rows_of(contract, sizes(4, 2)) == std::vector<Keys>{{0}, {0, 1}, {1}, {}});
}

TEST_CASE("visibility: the widest window that a number can say hides nothing") {
  const std::int64_t most = std::numeric_limits<std::int64_t>::max();
  CHECK(rows_of(windowed(most, most), sizes(3, 2)) == std::vector<Keys>{{0, 1}, {0, 1}, {0, 1}});
  CHECK(rows_of(windowed(most, 0), sizes(3, 2)) == std::vector<Keys>{{}, {0}, {0, 1}});
  CHECK(rows_of(windowed(0, most), sizes(3, 2)) == std::vector<Keys>{{0, 1}, {0, 1}, {1}});
}

TEST_CASE("visibility: a boolean mask is broadcast from the right") {
  const Dimensions d{2, 2, 1, 2, 0, 3, 1, 1};
  const auto visible = [&](Tensor<char> mask, std::int64_t b, std::int64_t h, std::int64_t i) {
    return Visibility(Contract(), d, std::nullopt, std::move(mask)).keys_of(b, h, i);
  };
  CHECK(visible(Tensor<char>({3}, {1, 0, 1}), 1, 1, 1) == Keys{0, 2});
  CHECK(visible(Tensor<char>({2, 3}, {1, 0, 0, 0, 1, 1}), 1, 1, 0) == Keys{0});
  CHECK(visible(Tensor<char>({2, 3}, {1, 0, 0, 0, 1, 1}), 0, 0, 1) == Keys{1, 2});
  const Tensor<char> per_head({2, 1, 3}, {1, 1, 0, 0, 0, 1});
  CHECK(visible(per_head, 0, 0, 1) == Keys{0, 1});
  CHECK(visible(per_head, 1, 1, 0) == Keys{2});
  const Tensor<char> per_batch({2, 1, 1, 1}, {0, 1});
  CHECK(visible(per_batch, 0, 1, 1).empty());
  CHECK(visible(per_batch, 1, 0, 0) == Keys{0, 1, 2});
  const Tensor<char> per_row({1, 1, 2, 1}, {0, 1});
  CHECK(visible(per_row, 0, 0, 0).empty());
  CHECK(visible(per_row, 0, 0, 1) == Keys{0, 1, 2});
}

TEST_CASE("visibility: a mask's short last axis hides the keys beyond it, extent 1 does not") {
  const Dimensions d{1, 1, 1, 1, 0, 4, 1, 1};
  const auto visible = [&](Tensor<char> mask) {
    return Visibility(Contract(), d, std::nullopt, std::move(mask)).keys_of(0, 0, 0);
  };
  CHECK(visible(Tensor<char>({2}, {1, 1})) == Keys{0, 1});
  CHECK(visible(Tensor<char>({1, 3}, {0, 1, 1})) == Keys{1, 2});
  CHECK(visible(Tensor<char>({1}, {1})) == Keys{0, 1, 2, 3});
  CHECK(visible(Tensor<char>({1}, {0})).empty());
  CHECK(visible(Tensor<char>(Shape{0})).empty());
}

TEST_CASE("visibility: lengths that do not fit are refused at nonpad_kv_seqlen") {
  const auto refusal = [](std::vector<std::int64_t> lengths) {
    return refusal_of([&] { Visibility(Contract(), sizes(1, 4, 0, 2), std::move(lengths)); });
  };
  const char* expected = "contract.lengths at nonpad_kv_seqlen";
  CHECK(refusal({1}) == expected);
  CHECK(refusal({1, 2, 3}) == expected);
  CHECK(refusal({}) == expected);
  CHECK(refusal({1, 5}) == expected);
  CHECK(refusal({-1, 2}) == expected);
  CHECK(refusal({0, 4}) == "none");
}

TEST_CASE("visibility: equals the rules asked one by one, on random problems") {
  for (const std::uint64_t seed : test::seeds(500)) {
    test::Random random(seed);
    oracle::Rules rules = test::random_rules(random);
    rules.past = random.one_in(3) ? static_cast<int>(random.integer(0, rules.keys)) : 0;
    const Dimensions d{rules.batch, rules.q_heads, rules.kv_heads, rules.queries,
                       rules.past,  rules.keys,    rules.key_size, rules.value_size};
    Lengths lengths;
    if (!rules.lengths.empty()) lengths.emplace(rules.lengths.begin(), rules.lengths.end());
    std::optional<Tensor<char>> mask;
    if (!rules.mask.empty()) mask = test::to_tensor<char>(rules.mask);
    const Visibility visibility(test::to_contract(rules), d, lengths, mask);
    CAPTURE(seed);
    for (std::int64_t b = 0; b < d.batch; ++b) {
      for (std::int64_t h = 0; h < d.q_heads; ++h) {
        for (std::int64_t i = 0; i < d.queries; ++i) {
          Keys expected;
          for (std::size_t j = 0; j < static_cast<std::size_t>(d.keys); ++j) {
            const bool sees =
                oracle::sees(rules, static_cast<std::size_t>(b), static_cast<std::size_t>(h),
                             static_cast<std::size_t>(i), j);
            if (sees) expected.push_back(j);
            CHECK(visibility.visible(b, h, i, static_cast<std::int64_t>(j)) == sees);
          }
          CHECK(visibility.keys_of(b, h, i) == expected);
        }
      }
    }
  }
}

TEST_CASE("visibility: a window of any size hides what the rule says, and never overflows") {
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const std::vector<std::int64_t> sides{-1, 0, 1, 3, 7, 8, 1000, largest - 1, largest};
  // The rule itself, in integers that cannot overflow.
  const auto allows = [](const Window& window, std::int64_t position, std::int64_t key) {
    const __int128 distance = static_cast<__int128>(key) - position;
    return (window.left < 0 || -distance <= window.left) &&
           (window.right < 0 || distance <= window.right);
  };
  for (const std::int64_t left : sides) {
    for (const std::int64_t right : sides) {
      for (std::int64_t position = -9; position <= 9; ++position) {
        for (const KeyRange keys : {KeyRange{0, 0}, KeyRange{0, 6}, KeyRange{2, 7}}) {
          CAPTURE(left);
          CAPTURE(right);
          CAPTURE(position);
          const Window window{left, right};
          const KeyRange found = window_keys(keys, window, position);
          const KeyRange narrow = window_keys(keys, narrowed(window, 9, 16), position);
          for (std::int64_t key = keys.begin; key < keys.end; ++key) {
            CHECK(found.contains(key) == allows(window, position, key));
            CHECK(narrow.contains(key) == allows(window, position, key));
          }
          if (!found.empty()) CHECK((found.begin >= keys.begin && found.end <= keys.end));
        }
      }
    }
  }
}
