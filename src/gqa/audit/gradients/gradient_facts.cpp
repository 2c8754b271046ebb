#include "gqa/audit/gradients/gradient_facts.hpp"

#include <algorithm>
#include <cmath>
#include <functional>

#include "gqa/attention/seen_keys.hpp"
#include "gqa/audit/filter/filter_bound.hpp"

namespace gqa {
namespace {

constexpr double largest_norm = 0x1p300;

// |x|_2 and |x|_4^2 of a row; 0 where it is not finite.
struct RowNorms {
  double two = 0;
  double four_squared = 0;
  bool finite = true;
};

// Rows one by one.
class Measure {
 public:
  Measure(Magnitudes& magnitudes, std::int64_t rows, std::int64_t width)
      : magnitudes_(magnitudes), width_(width) {
    magnitudes.column.assign(static_cast<std::size_t>(width), 0.0);
    magnitudes.share.assign(static_cast<std::size_t>(rows), 0.0);
  }

  RowNorms norms(const double* row) {
    double squares = 0;
    double fourths = 0;
    RowNorms found;
    for (std::int64_t c = 0; c < width_; ++c) {
      const double square = row[c] * row[c];
      squares += square;
      fourths += square * square;
      found.finite = found.finite && std::isfinite(row[c]);
    }
    if (!found.finite) return found;
    for (std::size_t c = 0; c < magnitudes_.column.size(); ++c) {
      magnitudes_.column[c] = std::max(magnitudes_.column[c], std::abs(row[c]));
    }
    found.two = upper_norm(squares, width_);
    // Never more than |x|_2^2, also where fourth powers overflow or underflow.
    found.four_squared = std::min(std::max(std::sqrt(fourths), 0x1p-500), found.two * found.two);
    return found;
  }

  // After all norms.
  void share(std::size_t r, const double* row) {
    double largest = 0;
    for (std::size_t c = 0; c < magnitudes_.column.size(); ++c) {
      if (!std::isfinite(row[c])) return;
      if (magnitudes_.column[c] > 0) {
        largest = std::max(largest, std::abs(row[c]) / magnitudes_.column[c]);
      }
    }
    magnitudes_.share[r] = largest * (1 + 0x1p-50);
  }

 private:
  Magnitudes& magnitudes_;
  std::int64_t width_;
};

using ReadRow = std::function<void(std::int64_t r, double* to)>;

void for_rows(std::int64_t begin, std::int64_t end, std::int64_t width, const ReadRow& read,
              const std::function<void(std::size_t, const double*)>& use) {
  std::vector<double> row(static_cast<std::size_t>(width));
  for (std::int64_t r = begin; r < end; ++r) {
    read(r, row.data());
    use(static_cast<std::size_t>(r), row.data());
  }
}

ReadRow reader(const StridedTensor& tensor, const GradientFacts& facts, std::int64_t queries) {
  const auto width = static_cast<std::size_t>(tensor.shape()[3]);
  return [&tensor, &facts, queries, width](std::int64_t r, double* to) {
    const std::int64_t head = facts.heads[static_cast<std::size_t>(r / queries)];
    tensor.read_rows(facts.batch, head, r % queries, r % queries + 1, to, width);
  };
}

ReadRow reader(const History& history, const GradientFacts& facts) {
  const auto width = static_cast<std::size_t>(history.width());
  return [&history, &facts, width](std::int64_t r, double* to) {
    history.read_rows(facts.batch, facts.kv_head, r, r + 1, to, width);
  };
}

double sum_of(const std::vector<double>& shares) {
  double sum = 0;
  for (const double share : shares) sum += share;
  return sum * (1 + static_cast<double>(shares.size()) * 0x1p-52);
}

// Magnitudes of some rows; `use` takes each row's norms.
void measure(Magnitudes& magnitudes, std::int64_t rows, KeyRange range, std::int64_t width,
             const ReadRow& read, const std::function<void(std::size_t, const RowNorms&)>& use) {
  Measure measure(magnitudes, rows, width);
  for_rows(range.begin, range.end, width, read,
           [&](std::size_t r, const double* row) { use(r, measure.norms(row)); });
  for_rows(range.begin, range.end, width, read,
           [&](std::size_t r, const double* row) { measure.share(r, row); });
}

// Copies among rows, by their bits.
std::vector<double> copies_of(std::int64_t rows, KeyRange range, std::int64_t width,
                              const ReadRow& read) {
  std::vector<double> copies(static_cast<std::size_t>(rows), 1.0);
  EqualRows equal(width);
  for_rows(range.begin, range.end, width, read,
           [&](std::size_t, const double* row) { equal.add(row); });
  if (equal.kinds() == range.end - range.begin) return copies;
  for_rows(range.begin, range.end, width, read, [&](std::size_t r, const double* row) {
    copies[r] = static_cast<double>(equal.count(row));
  });
  return copies;
}

}  // namespace

GradientCopies gradient_copies(const GradientProblem& gradient, const GradientFacts& facts) {
  const AttentionProblem& problem = gradient.problem;
  const Dimensions& d = problem.dimensions;
  return {copies_of(facts.rows(), {0, facts.rows()}, d.key_size,
                    reader(problem.query, facts, d.queries)),
          copies_of(d.keys, facts.seen, d.key_size, reader(problem.key, facts))};
}

GradientFacts gradient_facts(const GradientProblem& gradient, std::int64_t batch,
                             std::int64_t kv_head) {
  const AttentionProblem& problem = gradient.problem;
  const Dimensions& d = problem.dimensions;
  GradientFacts facts;
  facts.batch = batch;
  facts.kv_head = kv_head;
  facts.heads = gradient.group_of(kv_head);
  facts.seen = gradient.seen_keys(batch);
  const auto rows = static_cast<std::int64_t>(facts.heads.size()) * d.queries;
  facts.query_norm.assign(static_cast<std::size_t>(rows), 0.0);
  facts.grad_norm.assign(static_cast<std::size_t>(rows), 0.0);
  facts.grad_finite.assign(static_cast<std::size_t>(rows), 1);
  facts.query4 = facts.grad4 = facts.grad_lse = facts.query_norm;
  facts.value_norms.assign(static_cast<std::size_t>(d.keys), 0.0);
  facts.key4 = facts.value4 = facts.value_norms;
  const auto note = [&facts](double norm) {
    facts.moderate = facts.moderate && norm <= largest_norm;
    return norm;
  };
  const KeyRange all{0, rows};
  measure(facts.query, rows, all, d.key_size, reader(problem.query, facts, d.queries),
          [&](std::size_t r, const RowNorms& norms) {
            facts.query_norm[r] = note(norms.two);
            facts.query4[r] = norms.four_squared;
          });
  measure(facts.grad, rows, all, d.value_size, reader(gradient.grad_output, facts, d.queries),
          [&](std::size_t r, const RowNorms& norms) {
            facts.grad_norm[r] = note(norms.two);
            facts.grad4[r] = norms.four_squared;
            facts.grad_finite[r] = norms.finite ? 1 : 0;
          });
  for (std::int64_t r = 0; r < rows; ++r) {
    const auto at = static_cast<std::size_t>(r);
    const double found = gradient.grad_lse_of(
        batch, facts.heads[static_cast<std::size_t>(r / d.queries)], r % d.queries);
    if (!std::isfinite(found)) {
      facts.grad_finite[at] = 0;
      continue;
    }
    facts.grad_lse[at] = found;
    facts.largest_grad_lse = std::max(facts.largest_grad_lse, note(std::abs(found)));
  }
  measure(facts.key, d.keys, facts.seen, d.key_size, reader(problem.key, facts),
          [&](std::size_t j, const RowNorms& norms) {
            facts.key_norm = std::max(facts.key_norm, note(norms.two));
            facts.key4[j] = norms.four_squared;
          });
  Magnitudes value;
  measure(value, d.keys, facts.seen, d.value_size, reader(problem.value, facts),
          [&](std::size_t j, const RowNorms& norms) {
            facts.value_norm = std::max(facts.value_norm, note(norms.two));
            facts.value_norms[j] = norms.two;
            facts.value4[j] = norms.four_squared;
          });
  facts.key_share_sum = sum_of(facts.key.share);
  facts.query_share_sum = sum_of(facts.query.share);
  facts.grad_share_sum = sum_of(facts.grad.share);
  return facts;
}

}  // namespace gqa
