// The smallest product of sets that covers wrong rows.
#include "gqa/diagnose/explain/region.hpp"

#include <doctest/doctest.h>

using namespace gqa;

namespace {

constexpr std::int64_t batch = 2, heads = 4, rows = 128, columns = 8;

// An output in which exactly those rows are wrong, in all columns.
template <class Predicate>
WrongRows wrong_where(const Predicate& is_wrong, std::int64_t first_column = 0) {
  AuditTally tally(batch, heads, rows, columns);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      for (std::int64_t i = 0; i < rows; ++i) {
        for (std::int64_t c = first_column; c < columns && is_wrong(b, h, i); ++c) {
          tally.add_violation(b * heads + h, i, c);
        }
      }
    }
  }
  Dimensions d;
  d.batch = batch;
  d.q_heads = heads;
  d.queries = rows;
  d.value_size = columns;
  return WrongRows(tally, d);
}

IndexSet range(std::int64_t first, std::int64_t last) {
  return IndexSet{{{first, last}}};
}

}  // namespace

TEST_CASE("region: an axis without a restriction is left out") {
  const Region all = region_of(wrong_where([](auto, auto, auto) { return true; }));
  CHECK(all.is_everywhere());
  const Region one = region_of(wrong_where([](auto b, auto h, auto) { return b == 1 && h == 2; }));
  CHECK(one.batch == range(1, 1));
  CHECK(one.heads == range(2, 2));
  CHECK_FALSE(one.rows);
  CHECK_FALSE(one.columns);
  CHECK(describe_place(one) == "batch 1, head 2");
}

TEST_CASE("region: rows of every second tile are a pattern, at each size") {
  for (const std::int64_t tile : {16, 32, 64}) {
    for (const std::int64_t first : {0, 1}) {
      CAPTURE(tile);
      CAPTURE(first);
      const Region region =
          region_of(wrong_where([&](auto, auto, auto i) { return i / tile % 2 == first; }));
      // Two tiles of 64 are one range.
      if (tile == 64) {
        CHECK(region.rows == range(first * 64, first * 64 + 63));
        continue;
      }
      REQUIRE(region.rows);
      CHECK(region.rows->pattern == TilePattern{tile, 2, first});
      CHECK(region.has_row({0, 0, first * tile}));
      CHECK_FALSE(region.has_row({0, 0, (1 - first) * tile}));
    }
  }
}

TEST_CASE("region: rows and columns are told in words") {
  const Region region =
      region_of(wrong_where([](auto, auto h, auto i) { return h == 3 && i >= 120; }, 6));
  CHECK(region.columns == range(6, 7));
  CHECK(describe_place(region) == "columns 6 and 7 of rows 120 to 127 of head 3");
}

TEST_CASE("region: single elements far apart fill little of the product that covers them") {
  const WrongRows scattered =
      wrong_where([](auto b, auto h, auto i) { return (b * 61 + h * 37 + i * 13) % 97 == 0; }, 7);
  CHECK(filled_share(scattered, region_of(scattered)) < 1.0 / 8);
  const WrongRows full = wrong_where([](auto, auto, auto i) { return i > 40; });
  CHECK(filled_share(full, region_of(full)) == 1);
}

TEST_CASE("wrong rows: a spread meets every head, batch entry and tile that is wrong, early") {
  const WrongRows wrong = wrong_where([](auto, auto, auto i) { return i >= 64; });
  const std::vector<RowPlace> chosen = wrong.spread(16);
  REQUIRE(chosen.size() == 16);
  for (std::int64_t b = 0; b < batch; ++b) {
    for (std::int64_t h = 0; h < heads; ++h) {
      CHECK(std::ranges::any_of(
          chosen, [&](const RowPlace& place) { return place.batch == b && place.head == h; }));
    }
  }
  for (const RowPlace& place : wrong.right_ones(32)) {
    CHECK_FALSE(wrong.contains(place));
    CHECK(place.row < 64);
  }
}
