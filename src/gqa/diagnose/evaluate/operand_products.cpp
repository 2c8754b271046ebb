#include "gqa/diagnose/evaluate/operand_products.hpp"

#include <bit>
#include <cmath>

namespace gqa {
namespace {

// 64 MiB of numbers.
constexpr std::int64_t most_kept = std::int64_t{1} << 23;

std::int64_t number_of(const FlatValues& values) {
  return std::bit_cast<std::int64_t>(values.get());
}

// Four sums side by side: one would wait for itself.
double dot(const double* query, const OperandRow& key, std::size_t width) {
  std::array<double, 4> sums{};
  std::size_t d = 0;
  if (const double* direct = key.direct()) {
    for (; d + 4 <= width; d += 4) {
      for (std::size_t lane = 0; lane < 4; ++lane) {
        sums[lane] += query[d + lane] * direct[d + lane];
      }
    }
  }
  for (; d < width; ++d) sums[0] += query[d] * key[static_cast<std::int64_t>(d)];
  return sums[0] + sums[1] + (sums[2] + sums[3]);
}

}  // namespace

template <class Compute>
OperandProducts::Numbers OperandProducts::known_or(const Key& key,
                                                   std::array<FlatValues, 2> operands,
                                                   const Compute& compute) {
  {
    const std::lock_guard lock(mutex_);
    if (const auto found = known_.find(key); found != known_.end()) return found->second.numbers;
  }
  auto numbers = std::make_shared<const std::vector<double>>(compute());
  const std::lock_guard lock(mutex_);
  if (kept_ + std::ssize(*numbers) <= most_kept &&
      known_.emplace(key, Entry{numbers, std::move(operands)}).second) {
    kept_ += std::ssize(*numbers);
  }
  return numbers;
}

OperandProducts::Numbers OperandProducts::dot_products(const RowOfView& query,
                                                       const HeadOfView& keys) {
  const HeadRows& q = query.view.heads[static_cast<std::size_t>(query.head)];
  const HeadRows& k = keys.view.heads[static_cast<std::size_t>(keys.head)];
  const Key key{number_of(q.data), q.index(query.batch, query.row / query.view.row_divisor, 0),
                q.column_stride,   query.view.width,
                number_of(k.data), k.index(keys.batch, 0, 0),
                k.row_stride,      k.column_stride,
                keys.view.rows,    keys.view.row_divisor,
                keys.view.width,   0};
  return known_or(key, {q.data, k.data}, [&] {
    const auto width = static_cast<std::size_t>(query.view.width);
    const OperandRow row(query.view, query.batch, query.head, query.row);
    std::vector<double> factors(width);
    for (std::size_t d = 0; d < width; ++d) factors[d] = row[static_cast<std::int64_t>(d)];
    std::vector<double> products;
    products.reserve(static_cast<std::size_t>(keys.view.row_count()));
    for (std::int64_t j = 0; j < keys.view.row_count(); ++j) {
      products.push_back(
          dot(factors.data(), OperandRow(keys.view, keys.batch, keys.head, j), width));
    }
    return products;
  });
}

OperandProducts::Numbers OperandProducts::fourth_norms(const HeadOfView& keys, std::int64_t width) {
  const HeadRows& k = keys.view.heads[static_cast<std::size_t>(keys.head)];
  const Key key{number_of(k.data),
                k.index(keys.batch, 0, 0),
                k.row_stride,
                k.column_stride,
                keys.view.rows,
                keys.view.row_divisor,
                width,
                0,
                0,
                0,
                0,
                1};
  return known_or(key, {k.data, nullptr}, [&] {
    std::vector<double> norms;
    for (std::int64_t j = 0; j < keys.view.row_count(); ++j) {
      const OperandRow row(keys.view, keys.batch, keys.head, j);
      double sum = 0;
      for (std::int64_t d = 0; d < width; ++d) {
        const double x2 = row[d] * row[d];
        sum += x2 * x2;
      }
      norms.push_back(std::isfinite(sum) ? std::sqrt(sum) : 0);
    }
    return norms;
  });
}

}  // namespace gqa
