#include "gqa/audit/models/ball_norms.hpp"

namespace gqa {

Ball norm2(std::span<const Ball> x) {
  return sqrt(dot(x.data(), x.data(), x.size()));
}

Ball norm4_squared(std::span<const Ball> x) {
  Ball sum;
  for (const Ball& t : x) sum += t * t * t * t;
  return sqrt(sum);
}

}  // namespace gqa
