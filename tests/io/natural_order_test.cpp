// Names in the order in which people count.
#include "gqa/io/natural_order.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

using namespace gqa;

TEST_CASE("natural_order: numbers are ordered by their value, wherever they stand") {
  CHECK(natural_less("case2", "case10"));
  CHECK_FALSE(natural_less("case10", "case2"));
  CHECK(natural_less("case2-long", "case10"));
  CHECK(natural_less("2-1-9", "2-1-10"));
  CHECK(natural_less("layer9.npz", "layer10.npz"));
  CHECK(natural_less("99999999999999999999", "100000000000000000000"));
}

TEST_CASE("natural_order: everything else is ordered by its bytes") {
  CHECK(natural_less("alpha", "beta"));
  CHECK(natural_less("a", "ab"));
  CHECK(natural_less("", "a"));
  CHECK_FALSE(natural_less("a", "a"));
  CHECK(natural_less("1", "a"));
  CHECK(natural_less("a-1", "a1"));
}

TEST_CASE("natural_order: equal values in other digits are still ordered, one way") {
  CHECK(natural_less("case002", "case02"));
  CHECK_FALSE(natural_less("case02", "case002"));
  CHECK(natural_less("case0", "case1"));
  CHECK(natural_less("case002", "case3"));
}

TEST_CASE("natural_order: it is an order: sorting gives the same list from every start") {
  std::mt19937 random(5);
  std::vector<std::string> names{"",   "0",   "00",  "1",    "01",    "1a",  "a1", "a01",  "a001",
                                 "a2", "a10", "a1b", "a1b2", "a1b10", "a-1", "b",  "a02b", "a2b"};
  std::vector<std::string> sorted = names;
  std::sort(sorted.begin(), sorted.end(), natural_less);
  for (int i = 0; i < 50; ++i) {
    std::shuffle(names.begin(), names.end(), random);
    std::vector<std::string> again = names;
    std::sort(again.begin(), again.end(), natural_less);
    CHECK(again == sorted);
  }
}

TEST_CASE("natural_order: paths are ordered folder by folder") {
  CHECK(natural_path_less("a/case10.json", "a-b/case2.json"));
  CHECK(natural_path_less("a2/case9.json", "a10/case1.json"));
  CHECK(natural_path_less("a/case2.json", "a/case10.json"));
  CHECK_FALSE(natural_path_less("a", "a"));
}
