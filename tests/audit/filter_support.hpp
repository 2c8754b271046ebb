// Random attention problems for the filter's tests, and what came out of it.
#pragma once

#include <bit>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <memory>
#include <mutex>
#include <random>
#include <string>
#include <vector>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/filter/filter.hpp"

namespace gqa_test {

using Random = std::mt19937_64;

inline std::int64_t integer(Random& random, std::int64_t low, std::int64_t high) {
  return std::uniform_int_distribution<std::int64_t>(low, high)(random);
}
inline bool chance(Random& random, double probability) {
  return std::bernoulli_distribution(probability)(random);
}
template <class T>
T one_of(Random& random, std::initializer_list<T> choices) {
  return choices.begin()[integer(random, 0, static_cast<std::int64_t>(choices.size()) - 1)];
}

/// A tensor of binary64, or binary32 or binary16 with the values rounded to it.
inline std::shared_ptr<gqa::TypedTensor> tensor_of(const gqa::Shape& shape,
                                                   const std::vector<double>& values,
                                                   gqa::ElementType type) {
  auto tensor = std::make_shared<gqa::TypedTensor>();
  tensor->type = type;
  tensor->shape = shape;
  const std::size_t width = gqa::element_size(type);
  tensor->bytes.resize(values.size() * width);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (type == gqa::ElementType::binary64) {
      std::memcpy(tensor->bytes.data() + i * width, &values[i], width);
    } else {
      const auto single = static_cast<float>(values[i]);
      const auto bits =
          type == gqa::ElementType::binary32
              ? std::uint64_t{std::bit_cast<std::uint32_t>(single)}
              : gqa::round_to_nearest_even(*gqa::float_format(type), gqa::Rational(values[i]));
      std::memcpy(tensor->bytes.data() + i * width, &bits, width);  // little-endian
    }
  }
  return tensor;
}

inline std::shared_ptr<gqa::TypedTensor> booleans_of(const gqa::Shape& shape,
                                                     const std::vector<char>& values) {
  auto tensor = std::make_shared<gqa::TypedTensor>();
  tensor->type = gqa::ElementType::boolean;
  tensor->shape = shape;
  tensor->bytes.resize(values.size());
  std::memcpy(tensor->bytes.data(), values.data(), values.size());
  return tensor;
}

/// How the numbers of one tensor are drawn.
enum class Draw { normal, uniform, tiny, huge, subnormal, equal, integers, mixed_magnitudes };

inline std::vector<double> draw(Random& random, Draw kind, std::size_t count) {
  std::normal_distribution<double> normal;
  std::uniform_real_distribution<double> uniform(0, 1);
  const double constant = normal(random);
  std::vector<double> values(count);
  for (double& value : values) {
    switch (kind) {
      case Draw::normal:
        value = normal(random);
        break;
      case Draw::uniform:
        value = uniform(random);
        break;
      case Draw::tiny:
        value = normal(random) * 1e-9;
        break;
      case Draw::huge:
        value = normal(random) * 30;
        break;
      case Draw::subnormal:
        value = normal(random) * 1e-310;
        break;
      case Draw::equal:
        value = constant;
        break;
      case Draw::integers:
        value = static_cast<double>(integer(random, -2, 2));
        break;
      case Draw::mixed_magnitudes:
        value = std::ldexp(normal(random), static_cast<int>(integer(random, -40, 6)));
        break;
    }
  }
  return values;
}

/// One row as the filter certified it.
struct Certified {
  gqa::FilterRow row;
  std::int64_t batch = 0;
  std::int64_t kv_head = 0;
  std::vector<double> output;
  std::vector<double> radius;
  std::vector<double> squares;
  double squares_relative = 0;
  double squares_absolute = 0;
};

inline std::vector<Certified> run_filter(const gqa::AttentionProblem& problem,
                                         const gqa::FilterOptions& options) {
  std::vector<Certified> result;
  std::mutex mutex;
  gqa::filter_reference(problem, options, [&](const gqa::FilterTile& tile) {
    const std::lock_guard lock(mutex);
    for (std::size_t r = 0; r < tile.rows.size(); ++r) {
      Certified& out = result.emplace_back();
      out.row = tile.rows[r];
      out.batch = tile.batch;
      out.kv_head = tile.kv_head;
      out.squares_relative = tile.squares_relative;
      out.squares_absolute = tile.squares_absolute;
      for (std::int64_t c = 0; c < tile.columns; ++c) {
        out.output.push_back(tile.output(r, c));
        out.radius.push_back(tile.radius(r, c));
        if (options.model_terms) out.squares.push_back(tile.squares(r, c));
      }
    }
  });
  return result;
}

}  // namespace gqa_test
