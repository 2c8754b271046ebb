#include "gqa/attention/dimensions.hpp"

#include <doctest/doctest.h>

#include <limits>

#include "support/errors.hpp"

using namespace gqa;
using gqa::test::refusal_of;

namespace {

// B=2, Hq=8, Hkv=2, T=3, S=5, dk=4, dv=6.
ProblemShapes good_shapes() {
  ProblemShapes shapes;
  shapes.query = {2, 8, 3, 4};
  shapes.key = {2, 2, 5, 4};
  shapes.value = {2, 2, 5, 6};
  return shapes;
}

template <class Change>
std::string shape_refusal(Change change) {
  ProblemShapes shapes = good_shapes();
  change(shapes);
  return refusal_of([&] { resolve_dimensions(shapes); });
}

std::string map_refusal(const HeadMap& map, std::int64_t q_heads, std::int64_t kv_heads) {
  return refusal_of([&] { resolve_head_map(map, q_heads, kv_heads); });
}

}  // namespace

TEST_CASE("dimensions: sizes come from query, key and value; dk and dv may differ") {
  CHECK(resolve_dimensions(good_shapes()) == Dimensions{2, 8, 2, 3, 0, 5, 4, 6});
}

TEST_CASE("dimensions: past rows add to the keys") {
  ProblemShapes shapes = good_shapes();
  shapes.past_key = {2, 2, 7, 4};
  shapes.past_value = {2, 2, 7, 6};
  const Dimensions d = resolve_dimensions(shapes);
  CHECK(d.past == 7);
  CHECK(d.keys == 12);
}

TEST_CASE("dimensions: a wrong number of axes is refused at the tensor") {
  CHECK(shape_refusal([](auto& s) { s.query = {8, 3, 4}; }) == "contract.shape_rank at query");
  CHECK(shape_refusal([](auto& s) { s.key = {2, 2, 5, 4, 1}; }) == "contract.shape_rank at key");
  CHECK(shape_refusal([](auto& s) { s.value = {}; }) == "contract.shape_rank at value");
  CHECK(shape_refusal([](auto& s) {
          s.past_key = {2, 5};
          s.past_value = {2, 2, 7, 6};
        }) == "contract.shape_rank at past_key");
  CHECK(shape_refusal([](auto& s) { s.sink = {8, 1}; }) == "contract.shape_rank at sink");
  CHECK(shape_refusal([](auto& s) {
          s.alibi_slopes = {2, 8, 1};
        }) == "contract.shape_rank at alibi_slopes");
  CHECK(shape_refusal([](auto& s) { s.output = {2, 3, 48}; }) == "contract.shape_rank at output");
}

TEST_CASE("dimensions: an extent that does not fit is refused at the tensor") {
  CHECK(shape_refusal([](auto& s) { s.key[0] = 1; }) == "contract.shape_mismatch at key");
  CHECK(shape_refusal([](auto& s) { s.key[3] = 5; }) == "contract.shape_mismatch at key");
  CHECK(shape_refusal([](auto& s) { s.value[0] = 1; }) == "contract.shape_mismatch at value");
  CHECK(shape_refusal([](auto& s) { s.value[1] = 1; }) == "contract.shape_mismatch at value");
  CHECK(shape_refusal([](auto& s) { s.value[2] = 4; }) == "contract.shape_mismatch at value");
  CHECK(shape_refusal([](auto& s) {
          s.past_key = {2, 2, 7, 5};
          s.past_value = {2, 2, 7, 6};
        }) == "contract.shape_mismatch at past_key");
  CHECK(shape_refusal([](auto& s) {
          s.past_key = {2, 2, 7, 4};
          s.past_value = {2, 2, 8, 6};
        }) == "contract.shape_mismatch at past_value");
  CHECK(shape_refusal([](auto& s) { s.sink = {2}; }) == "contract.shape_mismatch at sink");
  CHECK(shape_refusal([](auto& s) { s.alibi_slopes = {2}; }) ==
        "contract.shape_mismatch at alibi_slopes");
  CHECK(shape_refusal([](auto& s) {
          s.alibi_slopes = {8, 2};
        }) == "contract.shape_mismatch at alibi_slopes");
  CHECK(shape_refusal([](auto& s) { s.alibi_slopes = {2, 8}; }) == "none");
  for (std::size_t axis = 0; axis < 4; ++axis) {
    CAPTURE(axis);
    CHECK(shape_refusal([axis](auto& s) {
            s.output = {2, 8, 3, 6};
            ++(*s.output)[axis];
          }) == "contract.shape_mismatch at output");
  }
}

TEST_CASE("dimensions: no heads and no width are refused, no batch or no rows are not") {
  CHECK(shape_refusal([](auto& s) { s.query[1] = 0; }) == "contract.no_heads at query");
  CHECK(shape_refusal([](auto& s) { s.key[1] = 0; }) == "contract.no_heads at key");
  CHECK(shape_refusal([](auto& s) { s.query[3] = s.key[3] = 0; }) ==
        "contract.zero_head_size at key");
  CHECK(shape_refusal([](auto& s) { s.value[3] = 0; }) == "contract.zero_head_size at value");
  CHECK(shape_refusal([](auto& s) { s.query[2] = 0; }) == "none");
  CHECK(shape_refusal([](auto& s) { s.key[2] = s.value[2] = 0; }) == "none");
}

TEST_CASE("dimensions: past keys without past values are refused, and the other way round") {
  CHECK(shape_refusal([](auto& s) {
          s.past_key = {2, 2, 7, 4};
        }) == "contract.past_incomplete at past_value");
  CHECK(shape_refusal([](auto& s) {
          s.past_value = {2, 2, 7, 6};
        }) == "contract.past_incomplete at past_key");
}

TEST_CASE("dimensions: a mask is broadcast numpy's way, its last axis may be short") {
  for (const Shape& mask :
       {Shape{2, 8, 3, 5}, Shape{1, 1, 3, 5}, Shape{8, 3, 5}, Shape{3, 5}, Shape{5}, Shape{1},
        Shape{3, 1}, Shape{2, 1, 1, 1}, Shape{3, 4}, Shape{3, 2}, Shape{3, 0}}) {
    CAPTURE(to_text(mask));
    CHECK(shape_refusal([&](auto& s) { s.attn_mask = mask; }) == "none");
  }
  for (const Shape& mask :
       {Shape{}, Shape{6}, Shape{2, 5}, Shape{4, 5}, Shape{2, 3, 5}, Shape{3, 8, 3, 5},
        Shape{1, 2, 8, 3, 5}, Shape{0, 5}, Shape{2, 3, 5, 3}}) {
    CAPTURE(to_text(mask));
    CHECK(shape_refusal([&](auto& s) { s.attn_mask = mask; }) ==
          "contract.mask_not_broadcastable at attn_mask");
  }
}

TEST_CASE("dimensions: the contiguous map gives KV head 1 the query heads 4 to 7 of 8") {
  CHECK(resolve_head_map({}, 8, 2) == std::vector<std::int64_t>{0, 0, 0, 0, 1, 1, 1, 1});
  CHECK(resolve_head_map({}, 6, 3) == std::vector<std::int64_t>{0, 0, 1, 1, 2, 2});
  CHECK(resolve_head_map({}, 3, 3) == std::vector<std::int64_t>{0, 1, 2});
  CHECK(resolve_head_map({}, 3, 1) == std::vector<std::int64_t>{0, 0, 0});
}

TEST_CASE("dimensions: the interleaved map is h mod Hkv, a list is taken as it is") {
  CHECK(resolve_head_map({HeadMapKind::interleaved, {}}, 8, 2) ==
        std::vector<std::int64_t>{0, 1, 0, 1, 0, 1, 0, 1});
  CHECK(resolve_head_map({HeadMapKind::interleaved, {}}, 6, 3) ==
        std::vector<std::int64_t>{0, 1, 2, 0, 1, 2});
  CHECK(resolve_head_map({HeadMapKind::explicit_list, {1, 1, 0}}, 3, 2) ==
        std::vector<std::int64_t>{1, 1, 0});
}

TEST_CASE("dimensions: heads that do not divide, and lists that do not fit, are refused") {
  const char* not_divisible = "contract.heads_not_divisible at head_map";
  CHECK(map_refusal({}, 3, 2) == not_divisible);
  CHECK(map_refusal({HeadMapKind::interleaved, {}}, 3, 2) == not_divisible);
  CHECK(map_refusal({}, 2, 4) == not_divisible);
  CHECK(map_refusal({}, 4, 0) == not_divisible);
  const auto list = [](std::vector<std::int64_t> entries) {
    return HeadMap{HeadMapKind::explicit_list, std::move(entries)};
  };
  CHECK(map_refusal(list({}), 3, 2) == "contract.head_map_length at head_map");
  CHECK(map_refusal(list({0, 1}), 3, 2) == "contract.head_map_length at head_map");
  CHECK(map_refusal(list({0, 1, 1, 0}), 3, 2) == "contract.head_map_length at head_map");
  CHECK(map_refusal(list({0, 1, 2}), 3, 2) == "contract.head_map_entry at head_map");
  CHECK(map_refusal(list({0, -1, 1}), 3, 2) == "contract.head_map_entry at head_map");
}

TEST_CASE("dimensions: what no element stands for cannot be large") {
  constexpr std::int64_t huge = std::int64_t{1} << 40;
  constexpr std::int64_t largest = std::numeric_limits<std::int64_t>::max();
  const auto refusal = [](const Shape& query, const Shape& key, const Shape& value) {
    return refusal_of([&] {
      ProblemShapes shapes;
      shapes.query = query;
      shapes.key = key;
      shapes.value = value;
      resolve_dimensions(shapes);
    });
  };
  const std::string at_query = "contract.size_without_elements at query";
  const std::string at_key = "contract.size_without_elements at key";
  const std::string at_value = "contract.size_without_elements at value";
  CHECK(refusal({huge, 1, 0, 4}, {huge, 1, 0, 4}, {huge, 1, 0, 4}) == at_query);
  CHECK(refusal({1 << 26, 1, 0, 4}, {1 << 26, 1, 0, 4}, {1 << 26, 1, 0, 4}) == at_query);
  CHECK(refusal({1, huge, 0, 4}, {1, 1, 3, 4}, {1, 1, 3, 4}) == at_query);
  CHECK(refusal({huge, huge, 0, 4}, {huge, 1, 0, 4}, {huge, 1, 0, 4}) == at_query);
  CHECK(refusal({0, largest, 1, 1}, {0, largest, 1, 1}, {0, largest, 1, 1}) == at_query);
  CHECK(refusal({1, 1, 3, 4}, {1, huge, 0, 4}, {1, huge, 0, 4}) == at_key);
  CHECK(refusal({1, 1, 3, 4}, {1, 1, 0, 4}, {1, 1, 0, huge}) == at_value);
  CHECK(refusal({0, 1, 1, 1}, {0, 1, largest, 1}, {0, 1, largest, 1}) == at_key);
  CHECK(refusal({0, 1, largest, 1}, {0, 1, 1, 1}, {0, 1, 1, 1}) == at_query);
  // Rows without keys, and files without rows, of ordinary sizes.
  CHECK(refusal({2, 8, 3, 4}, {2, 2, 0, 4}, {2, 2, 0, 6}) == "none");
  CHECK(refusal({2, 8, 0, 4}, {2, 2, 5, 4}, {2, 2, 5, 6}) == "none");
}
