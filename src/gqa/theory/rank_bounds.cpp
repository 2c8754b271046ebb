#include "gqa/theory/rank_bounds.hpp"

#include <algorithm>
#include <numeric>
#include <utility>

namespace gqa {
namespace {

// One of the terms of a minimum.
struct Term {
  std::string text;
  std::int64_t value;
};

GenericRank bounded(std::string quantity, std::int64_t rows, std::int64_t columns,
                    const std::vector<Term>& terms) {
  GenericRank rank;
  rank.quantity = std::move(quantity);
  rank.rows = rows;
  rank.columns = columns;
  rank.upper = terms.front().value;
  for (const Term& term : terms) {
    rank.upper = std::min(rank.upper, term.value);
    rank.bound += (rank.bound.empty() ? "min(" : ", ") + term.text;
  }
  rank.bound += ")";
  return rank;
}

std::int64_t model_size(const RankConfiguration& c) {
  return c.model_size.value_or(c.value_size);
}

// Every block has the column of ones in its span, and shares it with the others.
Term constant_term(std::int64_t histories, std::int64_t size) {
  return {"1 + G (d_v - 1)", 1 + histories * (size - 1)};
}

// The first `each` columns of every head; of ones, if every block ends with them, the last
// head's alone.
std::vector<std::size_t> first_of_each(const RankConfiguration& c, std::int64_t each) {
  std::vector<std::size_t> columns;
  for (std::int64_t h = 0; h < c.group_size; ++h) {
    for (std::int64_t k = 0; k < each; ++k) {
      const bool of_ones = c.constant_column && k + 1 == c.value_size;
      if (of_ones && h + 1 < c.group_size) continue;
      columns.push_back(static_cast<std::size_t>(h * c.value_size + k));
    }
  }
  return columns;
}

std::vector<std::size_t> first(std::int64_t count) {
  std::vector<std::size_t> columns(static_cast<std::size_t>(count));
  std::iota(columns.begin(), columns.end(), std::size_t{0});
  return columns;
}

}  // namespace

GenericRank dictionary_bound(const RankConfiguration& c, std::int64_t histories, std::int64_t size,
                             bool constant) {
  std::vector<Term> terms{{"N", c.positions}, {histories > 1 ? "G d_v" : "d_v", histories * size}};
  if (constant && histories > 1) terms.push_back(constant_term(histories, size));
  return bounded("values", c.positions, histories * size, terms);
}

GenericRank key_axis_bound(const RankConfiguration& c, std::int64_t histories) {
  return bounded("scores along the keys", c.group_size * c.positions, c.positions,
                 {{"N", c.positions}, {histories > 1 ? "G d_k" : "d_k", histories * c.key_size}});
}

GenericRank stacked_bound(const RankConfiguration& c, bool shared) {
  const std::int64_t columns = c.group_size * model_size(c);
  const std::string head = c.model_size ? "min(d_v, d_model)" : "d_v";
  std::vector<Term> terms{{"N", c.positions}};
  if (c.tied && shared) {
    terms.push_back({"d_v", c.value_size});
    if (c.model_size) terms.push_back({"G d_model", columns});
  } else {
    terms.push_back({"G " + head, c.group_size * c.head_size()});
    if (c.constant_column) terms.push_back(constant_term(c.group_size, c.value_size));
  }
  return bounded(shared ? "stacked output, shared values" : "stacked output, one history per head",
                 c.positions, columns, terms);
}

GenericRank summed_bound(const RankConfiguration& c) {
  std::vector<Term> terms{{"N", c.positions}, {"d_model", model_size(c)}};
  if (c.tied) {
    terms.push_back({"d_v", c.value_size});
  } else {
    terms.push_back({"G d_v", c.group_size * c.value_size});
    if (c.constant_column) terms.push_back(constant_term(c.group_size, c.value_size));
  }
  return bounded("summed output, shared values", c.positions, model_size(c), terms);
}

GenericRank head_axis_bound(const RankConfiguration& c) {
  return bounded(
      "scores along the heads, shared keys", c.group_size, c.positions * c.positions,
      {{"G", c.group_size}, {"N min(N, d_k)", c.positions * std::min(c.positions, c.key_size)}});
}

std::vector<std::size_t> projected_columns(const RankConfiguration& c) {
  if (!c.tied) return first_of_each(c, c.head_size());
  // Tied heads show different coordinates of the same output.
  return first(std::min(c.value_size, c.group_size * model_size(c)));
}

std::vector<std::size_t> summed_columns(const RankConfiguration& c) {
  if (c.tied) return first(std::min(c.value_size, model_size(c)));
  std::vector<std::size_t> columns = first_of_each(c, c.value_size);
  columns.resize(std::min(columns.size(), static_cast<std::size_t>(model_size(c))));
  return columns;
}

std::vector<std::size_t> own_history_columns(const RankConfiguration& c) {
  return first_of_each(c, c.head_size());
}

}  // namespace gqa
