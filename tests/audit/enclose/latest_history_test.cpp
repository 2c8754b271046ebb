#include "gqa/audit/enclose/latest_history.hpp"

#include <doctest/doctest.h>

#include <vector>

using namespace gqa;

namespace {

// How often something was made while these KV heads were asked for, one after the other.
int made_for(LatestHistory<std::int64_t>& latest, const std::vector<std::int64_t>& kv_heads) {
  int made = 0;
  for (const std::int64_t kv_head : kv_heads) {
    const auto reader = latest.of(0, kv_head, [&] {
      ++made;
      return std::make_shared<const std::int64_t>(kv_head);
    });
    CHECK(*reader == kv_head);
  }
  return made;
}

}  // namespace

TEST_CASE("latest_history: the last one is kept, and no other") {
  LatestHistory<std::int64_t> latest;
  CHECK(made_for(latest, {1, 1, 1}) == 1);
  CHECK(made_for(latest, {2, 1, 2}) == 3);
}

TEST_CASE("latest_history: threads that take turns at two histories make each once") {
  LatestHistory<std::int64_t> latest(2);
  CHECK(made_for(latest, {1, 2, 1, 2, 1}) == 2);
  // The one that was not asked for the longest goes.
  CHECK(made_for(latest, {3, 1}) == 1);
  CHECK(made_for(latest, {2}) == 1);
}

TEST_CASE("latest_history: the same KV head of another batch entry is another history") {
  LatestHistory<int> latest(4);
  const auto number = [&latest](std::int64_t batch, int made) {
    return *latest.of(batch, 0, [made] { return std::make_shared<const int>(made); });
  };
  CHECK(number(0, 5) == 5);
  CHECK(number(1, 6) == 6);
  CHECK(number(0, 7) == 5);
}
