#include "gqa/theory/rank_witness.hpp"

#include <flint/ulong_extras.h>
#include <tbb/parallel_for.h>

#include <algorithm>
#include <utility>

#include "gqa/num/arithmetic.hpp"

namespace gqa {
namespace {

// Uniform enough for a witness, and the same on every platform.
std::int64_t draw(std::mt19937_64& engine, std::int64_t low, std::int64_t high) {
  return low + static_cast<std::int64_t>(engine() % static_cast<std::uint64_t>(high - low + 1));
}

// The smallest base in which all positions have at most `size` digits.
std::int64_t digit_base(std::int64_t positions, std::int64_t size) {
  for (std::int64_t base = 2;; ++base) {
    std::int64_t reach = 1;
    for (std::int64_t c = 0; c < size && reach < positions; ++c) reach *= base;
    if (reach >= positions) return base;
  }
}

Dimensions dimensions(const RankConfiguration& configuration) {
  Dimensions d;
  d.batch = 1;
  d.q_heads = configuration.group_size;
  d.kv_heads = 1;
  d.queries = d.keys = configuration.positions;
  d.key_size = configuration.key_size;
  d.value_size = configuration.value_size;
  return d;
}

void add_to(std::span<std::uint64_t> sum, std::span<const std::uint64_t> row, std::uint64_t factor,
            std::uint64_t prime) {
  for (std::size_t c = 0; c < sum.size(); ++c) {
    sum[c] = (sum[c] + factor * row[c]) % prime;  // both below 2^26
  }
}

// Divides a row by its sum of strengths; false if the prime divides that.
bool normalise(std::span<std::uint64_t> row, std::uint64_t sum, std::uint64_t prime) {
  const auto inverse = inverse_modulo(sum, prime);
  if (!inverse) return false;
  for (std::uint64_t& x : row) x = x * *inverse % prime;
  return true;
}

}  // namespace

ModularMatrix random_dictionary(std::size_t rows, std::int64_t count, std::int64_t size,
                                bool constant_column, std::mt19937_64& engine) {
  ModularMatrix result(rows, extent(count * size));
  for (std::size_t r = 0; r < rows; ++r) {
    for (std::size_t c = 0; c < result.columns(); ++c) {
      const bool constant = constant_column && (c + 1) % extent(size) == 0;
      result.row(r)[c] = constant ? 1 : residue(draw(engine, -9, 9), result.prime());
    }
  }
  return result;
}

RankWitness::RankWitness(const RankConfiguration& configuration, std::uint64_t seed)
    : configuration_(configuration),
      positions_(extent(configuration.positions)),
      digit_base_(digit_base(configuration.positions, configuration.key_size)),
      visibility_(visibility_contract(configuration), dimensions(configuration)),
      values_(0, 0) {
  std::mt19937_64 engine(seed);
  values_ = random_dictionary(positions_, 1, configuration.value_size,
                              configuration.constant_column, engine);
  draw_rows(engine);
}

void RankWitness::draw_rows(std::mt19937_64& engine) {
  const std::int64_t heads = configuration_.tied ? 1 : configuration_.group_size;
  for (std::int64_t h = 0; h < heads; ++h) {
    for (std::int64_t i = 0; i < configuration_.positions; ++i) {
      Row& row = rows_.emplace_back();
      if (configuration_.softmax_reachable) {
        for (std::int64_t c = 0; c < configuration_.key_size; ++c) {
          row.bases.push_back(draw(engine, 2, 997));
        }
      } else {
        const KeyRange keys = visibility_.range(0, i);
        // The first head raises its own position: no two of its rows are alike, however many
        // columns it has.
        row.raised_key = extent(h == 0 ? i : draw(engine, keys.begin, keys.end - 1));
        row.raised_strength = draw(engine, 2, 9);
      }
    }
  }
}

const RankWitness::Row& RankWitness::row_of(std::size_t head, std::size_t row) const {
  return rows_[(configuration_.tied ? 0 : head * positions_) + row];
}

std::vector<std::int64_t> RankWitness::digits(std::size_t key) const {
  std::vector<std::int64_t> result(extent(configuration_.key_size));
  for (std::int64_t& digit : result) {
    digit = static_cast<std::int64_t>(key) % digit_base_;
    key /= extent(digit_base_);
  }
  return result;
}

std::optional<ModularMatrix> RankWitness::stacked_outputs(
    const std::vector<std::size_t>& rows) const {
  const std::size_t heads = extent(configuration_.group_size);
  std::vector<std::optional<ModularMatrix>> outputs(heads);
  tbb::parallel_for(
      std::size_t{0}, configuration_.tied ? std::size_t{1} : heads, [&](std::size_t head) {
        outputs[head] = configuration_.softmax_reachable ? reachable_outputs(head, rows)
                                                         : raised_outputs(head, rows);
      });
  ModularMatrix stacked(rows.size(), heads * values_.columns());
  for (std::size_t head = 0; head < heads; ++head) {
    const auto& output = outputs[configuration_.tied ? 0 : head];
    if (!output) return std::nullopt;
    for (std::size_t r = 0; r < rows.size(); ++r) {
      std::ranges::copy(output->row(r), stacked.row(r).subspan(head * values_.columns()).begin());
    }
  }
  return stacked;
}

std::optional<ModularMatrix> RankWitness::raised_outputs(
    std::size_t head, const std::vector<std::size_t>& rows) const {
  const std::uint64_t prime = values_.prime();
  ModularMatrix sums(positions_ + 1, values_.columns());  // of the first keys
  for (std::size_t j = 0; j < positions_; ++j) {
    std::ranges::copy(std::as_const(sums).row(j), sums.row(j + 1).begin());
    add_to(sums.row(j + 1), values_.row(j), 1, prime);
  }
  ModularMatrix output(rows.size(), values_.columns());
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const Row& row = row_of(head, rows[r]);
    const KeyRange keys = visibility_.range(0, static_cast<std::int64_t>(rows[r]));
    const auto result = output.row(r);
    add_to(result, std::as_const(sums).row(extent(keys.end)), 1, prime);
    add_to(result, std::as_const(sums).row(extent(keys.begin)), prime - 1, prime);
    const std::uint64_t raise = residue(row.raised_strength - 1, prime);
    add_to(result, values_.row(row.raised_key), raise, prime);
    if (!normalise(result, residue(keys.end - keys.begin, prime) + raise, prime)) {
      return std::nullopt;
    }
  }
  return output;
}

// exp(q . k) of every key: keys are digits, so the powers of one base after the other spread
// over the keys that are known.
std::vector<std::uint64_t> RankWitness::reachable_strengths(const Row& row) const {
  const std::uint64_t prime = values_.prime();
  std::vector<std::uint64_t> strengths(positions_);
  strengths[0] = 1;
  std::size_t known = 1;
  for (const std::int64_t base : row.bases) {
    const std::size_t step = known;
    const std::size_t end = std::min(positions_, known * extent(digit_base_));
    for (; known < end; ++known) {
      strengths[known] = strengths[known - step] * extent(base) % prime;
    }
  }
  return strengths;
}

std::optional<ModularMatrix> RankWitness::reachable_outputs(
    std::size_t head, const std::vector<std::size_t>& rows) const {
  const std::uint64_t prime = values_.prime();
  ModularMatrix strengths(rows.size(), positions_);
  std::vector<std::uint64_t> sums;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    const std::vector<std::uint64_t> all = reachable_strengths(row_of(head, rows[r]));
    const KeyRange keys = visibility_.range(0, static_cast<std::int64_t>(rows[r]));
    std::uint64_t sum = 0;
    for (std::size_t j = extent(keys.begin); j < extent(keys.end); ++j) {
      strengths.row(r)[j] = all[j];
      sum = (sum + all[j]) % prime;
    }
    sums.push_back(sum);
  }
  ModularMatrix output = strengths * values_;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    if (!normalise(output.row(r), sums[r], prime)) return std::nullopt;
  }
  return output;
}

Problem<GmpNumbers> RankWitness::problem() const {
  const RankConfiguration& c = configuration_;
  const std::int64_t n = c.positions;
  Problem<GmpNumbers> problem;
  problem.contract = visibility_contract(c);
  problem.value = Tensor<Rational>({1, 1, n, c.value_size});
  for (std::size_t j = 0; j < positions_; ++j) {
    for (std::size_t k = 0; k < values_.columns(); ++k) {
      const auto value = static_cast<std::int64_t>(values_(j, k));
      const auto prime = static_cast<std::int64_t>(values_.prime());
      problem.value.matrix(0, 0)(j, k) = static_cast<long>(value > 9 ? value - prime : value);
    }
  }
  if (!c.softmax_reachable) problem.strengths.emplace(Shape{1, c.group_size, n, n}, Rational(1));
  if (c.softmax_reachable) {
    problem.query = Tensor<LogRational>({1, c.group_size, n, c.key_size});
    problem.key = Tensor<Rational>({1, 1, n, c.key_size});
    for (std::size_t j = 0; j < positions_; ++j) {
      std::ranges::transform(digits(j), problem.key.matrix(0, 0).row(j).begin(),
                             [](std::int64_t digit) { return Rational(static_cast<long>(digit)); });
    }
  }
  for (std::int64_t h = 0; h < c.group_size; ++h) {
    for (std::size_t i = 0; i < positions_; ++i) {
      const Row& row = row_of(extent(h), i);
      if (!c.softmax_reachable) {
        problem.strengths->matrix(0, h)(i, row.raised_key) = static_cast<long>(row.raised_strength);
        continue;
      }
      std::ranges::transform(
          row.bases, problem.query.matrix(0, h).row(i).begin(),
          [](std::int64_t base) { return LogRational::log_of(Rational(static_cast<long>(base))); });
    }
  }
  return problem;
}

}  // namespace gqa
