// The set of rows that hold a violation.
#include "gqa/audit/decide/violating_rows.hpp"

#include <doctest/doctest.h>

#include <set>

#include "support/random.hpp"

using namespace gqa;

TEST_CASE("violating rows: any order and any split gives the set itself") {
  for (const std::uint64_t seed : test::seeds(20)) {
    CAPTURE(seed);
    test::Random random(seed);
    std::set<std::int64_t> expected;
    std::vector<ViolatingRows> parts(4);
    for (int n = 0; n < 300; ++n) {
      const std::int64_t place = random.integer(0, random.one_in(2) ? 130 : 100'000);
      expected.insert(place);
      // Several elements of one row.
      ViolatingRows& part = parts[static_cast<std::size_t>(random.integer(0, 3))];
      part.add(place);
      part.add(place);
    }
    ViolatingRows all, backwards;
    for (const ViolatingRows& part : parts) all.merge(part);
    for (auto part = parts.rbegin(); part != parts.rend(); ++part) backwards.merge(*part);
    CHECK(all.places() == std::vector<std::int64_t>(expected.begin(), expected.end()));
    CHECK(all.words() == backwards.words());
    CHECK(all.size() == static_cast<std::int64_t>(expected.size()));
    for (std::int64_t place = 0; place <= 130; ++place) {
      CAPTURE(place);
      CHECK(all.contains(place) == expected.contains(place));
    }
  }
}

TEST_CASE("violating rows: nothing added, nothing kept") {
  ViolatingRows rows;
  CHECK(rows.empty());
  rows.merge(ViolatingRows());
  CHECK(rows.empty());
  CHECK(rows.places().empty());
  rows.add(63);
  rows.add(64);
  CHECK(rows.places() == std::vector<std::int64_t>{63, 64});
  CHECK(rows.words().size() == 2);
}
