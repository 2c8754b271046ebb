#include "gqa/theory/rank_certificates.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <stdexcept>

#include "gqa/attention/attention.hpp"
#include "gqa/error.hpp"
#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/modular_matrix.hpp"
#include "gqa/theory/rank.hpp"
#include "gqa/theory/rank_bounds.hpp"
#include "gqa/theory/rank_witness.hpp"
#include "gqa/theory/rational_rank.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

RationalMatrix rows_of(MatrixView<const Rational> view) {
  RationalMatrix rows;
  for (std::size_t r = 0; r < view.rows(); ++r) {
    rows.emplace_back(view.row(r).begin(), view.row(r).end());
  }
  return rows;
}

Tensor<Rational> tensor_of(const RationalMatrix& rows) {
  std::vector<Rational> data;
  for (const RationalVector& row : rows) data.insert(data.end(), row.begin(), row.end());
  return {{1, 1, static_cast<std::int64_t>(rows.size()), static_cast<std::int64_t>(rows[0].size())},
          std::move(data)};
}

RationalMatrix times(const RationalMatrix& a, const RationalMatrix& b) {
  RationalMatrix result(a.size(), RationalVector(b[0].size()));
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t k = 0; k < b.size(); ++k) {
      if (a[r][k] == 0) continue;
      for (std::size_t c = 0; c < b[k].size(); ++c) result[r][c] += a[r][k] * b[k][c];
    }
  }
  return result;
}

RationalMatrix flipped(const RationalMatrix& a) {
  RationalMatrix result(a[0].size(), RationalVector(a.size()));
  for (std::size_t r = 0; r < a.size(); ++r) {
    for (std::size_t c = 0; c < a[r].size(); ++c) result[c][r] = a[r][c];
  }
  return result;
}

void append_beside(RationalMatrix& all, const RationalMatrix& block) {
  if (all.empty()) all.resize(block.size());
  for (std::size_t r = 0; r < all.size(); ++r) {
    all[r].insert(all[r].end(), block[r].begin(), block[r].end());
  }
}

RationalMatrix drawn(std::mt19937_64& engine, std::int64_t rows, std::int64_t columns) {
  RationalMatrix result(extent(rows), RationalVector(extent(columns)));
  for (RationalVector& row : result) {
    for (Rational& x : row) x = static_cast<long>(engine() % 19) - 9;
  }
  return result;
}

void set_last_column_to_one(RationalMatrix& values) {
  for (RationalVector& row : values) row.back() = 1;
}

RationalMatrices drawn_histories(const RankConfiguration& c, std::uint64_t seed,
                                 std::int64_t histories) {
  std::mt19937_64 engine(seed);
  RationalMatrices values;
  for (std::int64_t h = 0; h < histories; ++h) {
    values.push_back(drawn(engine, c.positions, c.value_size));
    if (c.constant_column) set_last_column_to_one(values.back());
  }
  return values;
}

// The witness's operands, with the histories that the quantity has.
struct WitnessOperands {
  RationalMatrices values;
  RationalMatrices patterns;  // one if tied
  ordered_json stated;        // patterns, keys, query_bases, visible
};

ordered_json bases_json(const Problem<GmpNumbers>& problem, std::int64_t heads) {
  ordered_json all = ordered_json::array();
  for (std::int64_t h = 0; h < heads; ++h) {
    RationalMatrix bases;
    const auto queries = problem.query.matrix(0, h);
    for (std::size_t i = 0; i < queries.rows(); ++i) {
      bases.emplace_back();
      for (const LogRational& x : queries.row(i)) bases.back().push_back(x.exp().value_or(0));
    }
    all.push_back(exact_json(bases));
  }
  return all;
}

WitnessOperands operands_of(const RankConfiguration& c, std::uint64_t seed, bool own) {
  const Problem<GmpNumbers> problem = RankWitness(c, seed).problem();
  const Tensor<Rational> weights = attention(problem, Wanted::output_and_weights).weights;
  WitnessOperands operands;
  if (own) {
    operands.values = drawn_histories(c, seed, c.group_size);
  } else {
    operands.values = {rows_of(problem.value.matrix(0, 0))};
  }
  const std::int64_t patterns = c.tied ? 1 : c.group_size;
  for (std::int64_t h = 0; h < patterns; ++h) {
    operands.patterns.push_back(rows_of(weights.matrix(0, h)));
  }
  ordered_json visible, keys, bases;
  if (c.softmax_reachable) {
    RationalMatrix seen = operands.patterns[0];
    for (RationalVector& row : seen) {
      for (Rational& x : row) x = x == 0 ? 0 : 1;
    }
    visible = exact_json(seen);
    keys = exact_json(rows_of(problem.key.matrix(0, 0)));
    bases = bases_json(problem, patterns);
  }
  operands.stated["patterns"] =
      c.softmax_reachable ? ordered_json() : exact_json(operands.patterns);
  operands.stated["keys"] = std::move(keys);
  operands.stated["query_bases"] = std::move(bases);
  operands.stated["visible"] = std::move(visible);
  return operands;
}

std::int64_t columns_of_model(const RankConfiguration& c) {
  return c.model_size.value_or(c.value_size);
}

// Head h's coordinate k is shown as coordinate `to` of the model.
RationalMatrices no_projections(const RankConfiguration& c) {
  return RationalMatrices(
      extent(c.group_size),
      RationalMatrix(extent(c.value_size), RationalVector(extent(columns_of_model(c)))));
}

// Unit projections; heads with one pattern and one history show different coordinates.
RationalMatrices stacked_projections(const RankConfiguration& c, bool own) {
  if (!c.model_size) return {};
  RationalMatrices projections = no_projections(c);
  const std::size_t width = extent(c.head_size());
  for (std::size_t h = 0; h < projections.size(); ++h) {
    for (std::size_t k = 0; k < width; ++k) {
      const std::size_t from = c.tied && !own ? (h * width + k) % extent(c.value_size) : k;
      projections[h][from][k] = 1;
    }
  }
  return projections;
}

RationalMatrices summed_projections(const RankConfiguration& c) {
  RationalMatrices projections = no_projections(c);
  const std::vector<std::size_t> columns = summed_columns(c);
  for (std::size_t n = 0; n < columns.size(); ++n) {
    projections[columns[n] / extent(c.value_size)][columns[n] % extent(c.value_size)][n] = 1;
  }
  return projections;
}

RationalMatrix output_matrix(const RationalMatrices& values, const RationalMatrices& patterns,
                             const RationalMatrices& projections, std::size_t heads, bool summed) {
  RationalMatrix all;
  for (std::size_t h = 0; h < heads; ++h) {
    RationalMatrix block =
        times(patterns[patterns.size() == 1 ? 0 : h], values[values.size() == 1 ? 0 : h]);
    if (!projections.empty()) block = times(block, projections[h]);
    if (!summed || all.empty()) {
      append_beside(all, block);
      continue;
    }
    for (std::size_t r = 0; r < all.size(); ++r) {
      for (std::size_t k = 0; k < all[r].size(); ++k) all[r][k] += block[r][k];
    }
  }
  return all;
}

GroupRankOperands outputs_of(const RankConfiguration& c, std::uint64_t seed, bool own,
                             bool summed) {
  const WitnessOperands operands = operands_of(c, seed, own);
  const RationalMatrices projections = summed ? summed_projections(c) : stacked_projections(c, own);
  GroupRankOperands result;
  result.fields["quantity"] = summed ? "summed_output" : "stacked_output";
  result.fields["heads"] = c.group_size;
  result.fields["values"] = exact_json(operands.values);
  for (const auto& [name, stated] : operands.stated.items()) result.fields[name] = stated;
  result.fields["projections"] = projections.empty() ? ordered_json() : exact_json(projections);
  result.matrix =
      output_matrix(operands.values, operands.patterns, projections, extent(c.group_size), summed);
  return result;
}

}  // namespace

ordered_json rank_certificate(const GroupRankOperands& operands) {
  const Tensor<Rational> tensor = tensor_of(operands.matrix);
  const auto reduced = reduce(tensor.matrix(0, 0));
  if (!reduced) throw std::logic_error("the prime divides a denominator of a witness");
  const ModularMinor minor = largest_minor(*reduced);
  ordered_json json = new_certificate("stacked_output_rank");
  for (const auto& [name, field] : operands.fields.items()) json[name] = field;
  json["modulus"] = std::to_string(rank_prime);
  json["rows"] = minor.rows;
  json["columns"] = minor.columns;
  json["determinant"] = std::to_string(minor.determinant);
  json["left"] = json["right"] = nullptr;
  const std::size_t least = std::min(operands.matrix.size(), operands.matrix[0].size());
  if (minor.rows.size() == least) return json;
  const RankFactors factors = rank_factors(tensor.matrix(0, 0));
  if (factors.rank() != minor.rows.size()) {
    throw std::logic_error("the prime hides the rank of a witness");
  }
  const auto rows = [](const Tensor<Rational>& t) {
    return rows_of(
        MatrixView<const Rational>(t.data().data(), extent(t.extent(0)), extent(t.extent(1))));
  };
  json["left"] = exact_json(rows(factors.left));
  json["right"] = exact_json(rows(factors.right));
  return json;
}

GroupRankOperands values_of_witness(const RankConfiguration& c, std::uint64_t seed, bool own) {
  const RationalMatrices values = drawn_histories(c, seed, own ? c.group_size : 1);
  GroupRankOperands result;
  result.fields = {{"quantity", "values"}, {"heads", c.group_size}, {"values", exact_json(values)}};
  for (std::int64_t h = 0; h < c.group_size; ++h) {
    append_beside(result.matrix, values[own ? extent(h) : 0]);
  }
  return result;
}

GroupRankOperands pattern_of_witness(const RankConfiguration& c, std::uint64_t seed) {
  RankConfiguration one = c;
  one.group_size = 1;
  const WitnessOperands operands = operands_of(one, seed, false);
  GroupRankOperands result;
  result.fields["quantity"] = "pattern";
  for (const auto& [name, stated] : operands.stated.items()) result.fields[name] = stated;
  result.matrix = operands.patterns[0];
  return result;
}

GroupRankOperands stacked_output_of_witness(const RankConfiguration& c, std::uint64_t seed,
                                            bool own) {
  return outputs_of(c, seed, own, false);
}

GroupRankOperands summed_output_of_witness(const RankConfiguration& c, std::uint64_t seed) {
  return outputs_of(c, seed, false, true);
}

GroupRankOperands scores_of_witness(const RankConfiguration& c, std::uint64_t seed,
                                    bool along_heads, bool own) {
  std::mt19937_64 engine(seed);
  RationalMatrices keys, queries;
  for (std::int64_t h = 0; h < (own ? c.group_size : 1); ++h) {
    keys.push_back(drawn(engine, c.positions, c.key_size));
  }
  for (std::int64_t h = 0; h < c.group_size; ++h) {
    queries.push_back(drawn(engine, c.positions, c.key_size));
  }
  return score_operands(queries, keys, along_heads);
}

GroupRankOperands output_operands(const RationalMatrices& values, const RationalMatrices& patterns,
                                  const RationalMatrices& projections, std::size_t heads,
                                  bool summed) {
  GroupRankOperands result;
  result.fields = {{"quantity", summed ? "summed_output" : "stacked_output"},
                   {"heads", heads},
                   {"values", exact_json(values)},
                   {"patterns", exact_json(patterns)},
                   {"keys", nullptr},
                   {"query_bases", nullptr},
                   {"visible", nullptr},
                   {"projections", projections.empty() ? ordered_json() : exact_json(projections)}};
  result.matrix = output_matrix(values, patterns, projections, heads, summed);
  return result;
}

GroupRankOperands score_operands(const RationalMatrices& queries, const RationalMatrices& keys,
                                 bool along_heads) {
  GroupRankOperands result;
  result.fields = {{"quantity", along_heads ? "scores_along_heads" : "scores_along_keys"},
                   {"queries", exact_json(queries)},
                   {"keys", exact_json(keys)}};
  for (std::size_t h = 0; h < queries.size(); ++h) {
    const RationalMatrix scores = times(queries[h], flipped(keys[keys.size() == 1 ? 0 : h]));
    if (!along_heads) {
      result.matrix.insert(result.matrix.end(), scores.begin(), scores.end());
      continue;
    }
    result.matrix.emplace_back();
    for (const RationalVector& row : scores) {
      result.matrix.back().insert(result.matrix.back().end(), row.begin(), row.end());
    }
  }
  return result;
}

std::vector<NamedCertificate> rank_certificates(const RankConfiguration& c, std::uint64_t seed) {
  validate(c);
  const std::int64_t weights = c.group_size * c.positions * c.positions;
  const std::int64_t outputs = c.group_size * c.positions * c.value_size;
  if (weights > largest_certified_weights || outputs > largest_certified_weights) {
    throw InputError("rank.certificate_too_large", "positions",
                     fmt::format("certificates hold every weight: group size x positions x "
                                 "positions (or value size) is beyond {}",
                                 largest_certified_weights));
  }
  std::vector<NamedCertificate> all;
  using Operands = std::function<GroupRankOperands(std::uint64_t)>;
  const auto add = [&](const char* name, std::int64_t wanted, const Operands& operands) {
    constexpr std::uint64_t attempts = 4;
    ordered_json best;
    for (std::uint64_t attempt = 0; attempt < attempts; ++attempt) {
      ordered_json found = rank_certificate(operands(seed + attempt));
      if (best.is_null() || found["rows"].size() > best["rows"].size()) best = std::move(found);
      if (best["rows"].size() == extent(wanted)) break;
    }
    all.push_back({name, std::move(best)});
  };
  for (const bool own : {false, true}) {
    if (own && c.group_size == 1) break;
    const std::int64_t histories = own ? c.group_size : 1;
    add(own ? "values-own" : "values-shared",
        dictionary_bound(c, histories, c.value_size, c.constant_column).upper,
        [&](std::uint64_t s) { return values_of_witness(c, s, own); });
    add(own ? "stacked-output-own" : "stacked-output-shared", stacked_bound(c, !own).upper,
        [&](std::uint64_t s) { return stacked_output_of_witness(c, s, own); });
    add(own ? "scores-along-keys-own" : "scores-along-keys-shared",
        key_axis_bound(c, histories).upper,
        [&](std::uint64_t s) { return scores_of_witness(c, s, false, own); });
  }
  add("scores-along-heads", head_axis_bound(c).upper,
      [&](std::uint64_t s) { return scores_of_witness(c, s, true, false); });
  if (c.model_size) {
    add("summed-output", summed_bound(c).upper,
        [&](std::uint64_t s) { return summed_output_of_witness(c, s); });
  }
  return all;
}

}  // namespace gqa
