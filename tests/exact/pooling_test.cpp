#include "gqa/exact/pooling.hpp"

#include <doctest/doctest.h>

#include "gqa/attention/attention.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

TEST_CASE("pooling: (2,0),(2,0) and (0,6),(0,6) pool to (1,3) for both keys") {
  const Tensor<Rational> heads({1, 2, 2, 2}, {2, 0, 2, 0, 0, 6, 0, 6});
  CHECK(mean_pool_heads(heads, 1) == Tensor<Rational>({1, 1, 2, 2}, {1, 3, 1, 3}));
}

TEST_CASE("pooling: groups are consecutive heads of their own batch entry") {
  const Tensor<Rational> heads({2, 4, 1, 1}, {0, 2, 10, 20, 1, 1, 3, 5});
  CHECK(mean_pool_heads(heads, 2) == Tensor<Rational>({2, 2, 1, 1}, {1, 15, 1, 4}));
}

TEST_CASE("pooling: to as many heads changes nothing, and undoes an expansion, exactly") {
  for (const std::uint64_t seed : test::seeds(50)) {
    test::Random random(seed);
    const std::int64_t kv_heads = random.integer(1, 3);
    const std::int64_t group = random.integer(1, 4);
    Tensor<Rational> shared({1, kv_heads, 2, 2});
    for (Rational& x : shared.data()) x = random.rational();
    std::vector<std::int64_t> map;
    for (std::int64_t h = 0; h < kv_heads * group; ++h) map.push_back(h / group);
    CAPTURE(seed);
    CHECK(mean_pool_heads(shared, kv_heads) == shared);
    CHECK(mean_pool_heads(expand_heads(shared, map), kv_heads) == shared);
  }
}

TEST_CASE("pooling: heads that cannot be pooled evenly are refused at kv_num_heads") {
  const Tensor<Rational> heads({1, 4, 1, 1});
  for (const std::int64_t kv_heads : {3, 0, -2, 5, 8}) {
    CAPTURE(kv_heads);
    CHECK(test::refusal_of([&] { mean_pool_heads(heads, kv_heads); }) ==
          "pooling.heads_not_divisible at kv_num_heads");
  }
}
