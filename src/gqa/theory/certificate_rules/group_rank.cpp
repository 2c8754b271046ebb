// Ranks of what a group of heads makes of its history: the matrix is built here from the operands.
#include <algorithm>

#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rank_bounds.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

// What is said of the operands besides the rank, found in them.
struct Built {
  RationalMatrix matrix;
  std::string name;
  std::string hypotheses;
};

RationalMatrix beside(RationalMatrix left, const RationalMatrix& right) {
  require(left.size() == right.size(), "two histories have different lengths");
  for (std::size_t r = 0; r < left.size(); ++r) {
    left[r].insert(left[r].end(), right[r].begin(), right[r].end());
  }
  return left;
}

bool has_constant_column(const RationalMatrix& values) {
  for (std::size_t c = 0; c < values[0].size(); ++c) {
    if (std::all_of(values.begin(), values.end(),
                    [&](const RationalVector& row) { return row[c] == values[0][c]; })) {
      return true;
    }
  }
  return false;
}

std::string histories_words(const RationalMatrices& histories, std::size_t heads,
                            const char* what) {
  if (heads == 1)
    return fmt::format("{} {} x {}", what, histories[0].size(), histories[0][0].size());
  return fmt::format("{} {} x {} {}", what, histories[0].size(), histories[0][0].size(),
                     histories.size() == 1 ? "shared by all heads" : "of each head's own");
}

// The heads' histories, one for each or one for all.
RationalMatrices read_histories(CertificateFields& fields, const char* name, std::size_t heads) {
  RationalMatrices histories = fields.matrices(name);
  require(histories.size() == 1 || histories.size() == heads,
          "there is neither one history nor one for each head");
  return histories;
}

std::size_t read_heads(CertificateFields& fields) {
  const std::int64_t heads = fields.integer("heads");
  require(heads >= 1 && heads <= 65536, "the number of heads is not in 1..65536");
  return static_cast<std::size_t>(heads);
}

Built values_side_by_side(CertificateFields& fields) {
  const std::size_t heads = read_heads(fields);
  const RationalMatrices histories = read_histories(fields, "values", heads);
  RationalMatrix all = histories[0];
  // A shared history stands beside itself for every head.
  for (std::size_t h = 1; h < heads; ++h) {
    all = beside(std::move(all), histories[histories.size() == 1 ? 0 : h]);
  }
  return {all, fmt::format("the values that {} heads read", heads),
          histories_words(histories, heads, "values")};
}

struct Patterns {
  RationalMatrices weights;  // [G, T, N]
  std::string words;
};

// exp(q . k) with exp(q_c) = bases_c, where visible; so these weights are those of a query.
RationalMatrices reachable_weights(const RationalMatrix& keys, const RationalMatrices& bases,
                                   const RationalMatrix& visible) {
  PowerRoom room;
  RationalMatrices all;
  for (const RationalMatrix& queries : bases) {
    require(visible.size() == queries.size() && visible[0].size() == keys.size(),
            "what is visible does not fit queries and keys");
    RationalMatrix weights;
    for (std::size_t i = 0; i < queries.size(); ++i) {
      require(all_positive(queries[i]), "a base is not positive");
      RationalVector row;
      for (std::size_t j = 0; j < keys.size(); ++j) {
        require(visible[i][j] == 0 || visible[i][j] == 1, "what is visible is neither 0 nor 1");
        row.push_back(visible[i][j] == 0 ? Rational(0)
                                         : product_of_powers(queries[i], keys[j], room));
      }
      const Rational sum = total(row);
      require(sum != 0, "a query sees no key");
      for (Rational& x : row) x /= sum;
      weights.push_back(std::move(row));
    }
    all.push_back(std::move(weights));
  }
  return all;
}

bool is_lower_triangular(const RationalMatrices& all) {
  for (const RationalMatrix& weights : all) {
    for (std::size_t i = 0; i < weights.size(); ++i) {
      for (std::size_t j = i + 1; j < weights[i].size(); ++j) {
        if (weights[i][j] != 0) return false;
      }
    }
  }
  return true;
}

Patterns read_patterns(CertificateFields& fields, std::size_t heads) {
  Patterns patterns;
  const bool reachable = fields.is_null("patterns");
  if (reachable) {
    patterns.weights = reachable_weights(fields.matrix("keys"), fields.matrices("query_bases"),
                                         fields.matrix("visible"));
  } else {
    patterns.weights = fields.matrices("patterns");
    for (const char* absent : {"keys", "query_bases", "visible"}) {
      require(fields.is_null(absent), "patterns are stated twice");
    }
  }
  RationalMatrices& all = patterns.weights;
  for (const RationalMatrix& weights : all) {
    for (const RationalVector& row : weights) {
      require(std::all_of(row.begin(), row.end(), [](const Rational& w) { return w >= 0; }),
              "a weight is negative");
      require(total(row) == 1, "the weights of a row do not sum to 1");
    }
  }
  require(all.size() == 1 || all.size() == heads, "there are not as many patterns as heads");
  all.resize(heads, all[0]);
  bool tied = true, untied = true;
  for (std::size_t h = 0; h < heads; ++h) {
    for (std::size_t other = 0; other < h; ++other) {
      (all[h] == all[other] ? untied : tied) = false;
    }
  }
  patterns.words =
      fmt::format("{} {}{} patterns{}", heads, is_lower_triangular(all) ? "causal " : "",
                  reachable ? "row-stochastic, softmax-reachable" : "row-stochastic",
                  heads == 1 ? ""
                  : tied     ? ", all equal"
                  : untied   ? ", no two equal"
                             : ", some equal");
  return patterns;
}

Built patterns_alone(CertificateFields& fields) {
  const Patterns patterns = read_patterns(fields, 1);
  return {patterns.weights[0], "a pattern", patterns.words};
}

Built outputs(CertificateFields& fields, bool summed) {
  const std::size_t heads = read_heads(fields);
  const RationalMatrices histories = read_histories(fields, "values", heads);
  const Patterns patterns = read_patterns(fields, heads);
  RationalMatrices projections;
  if (!fields.is_null("projections")) projections = fields.matrices("projections");
  require(projections.empty() ? !summed : projections.size() == heads,
          "there are not as many projections as heads");
  RationalMatrix result;
  for (std::size_t h = 0; h < heads; ++h) {
    RationalMatrix output = product(patterns.weights[h], histories[histories.size() == 1 ? 0 : h]);
    if (!projections.empty()) output = product(output, projections[h]);
    if (result.empty()) {
      result = std::move(output);
    } else if (summed) {
      for (std::size_t r = 0; r < result.size(); ++r) {
        for (std::size_t c = 0; c < result[r].size(); ++c) result[r][c] += output[r][c];
      }
    } else {
      result = beside(std::move(result), output);
    }
  }
  std::string words = patterns.words + "; " + histories_words(histories, heads, "values");
  if (histories.size() == 1 && has_constant_column(histories[0])) {
    words += " with a constant column";
  }
  words += projections.empty() ? "; not projected"
                               : fmt::format("; projections {} x {}", projections[0].size(),
                                             projections[0][0].size());
  return {result, summed ? "the sum of the heads' outputs" : "the heads' stacked outputs", words};
}

// q_hi . k_j: a row for each head, or for each head and query.
Built scores(CertificateFields& fields, bool along_heads) {
  const RationalMatrices queries = fields.matrices("queries");
  const RationalMatrices histories = read_histories(fields, "keys", queries.size());
  RationalMatrix matrix;
  for (std::size_t h = 0; h < queries.size(); ++h) {
    const RationalMatrix of_head =
        product(queries[h], transposed(histories[histories.size() == 1 ? 0 : h]));
    if (!along_heads) {
      matrix.insert(matrix.end(), of_head.begin(), of_head.end());
      continue;
    }
    matrix.emplace_back();
    for (const RationalVector& row : of_head) {
      matrix.back().insert(matrix.back().end(), row.begin(), row.end());
    }
  }
  return {matrix,
          along_heads ? "the scores along the heads" : "the scores of all heads along the keys",
          fmt::format("{} heads; {}", queries.size(),
                      histories_words(histories, queries.size(), "keys"))};
}

Built build(const std::string& quantity, CertificateFields& fields) {
  if (quantity == "values") return values_side_by_side(fields);
  if (quantity == "pattern") return patterns_alone(fields);
  if (quantity == "stacked_output") return outputs(fields, false);
  if (quantity == "summed_output") return outputs(fields, true);
  if (quantity == "scores_along_heads") return scores(fields, true);
  if (quantity == "scores_along_keys") return scores(fields, false);
  throw CertificateRejected("the quantity is not known");
}

}  // namespace

std::string stacked_output_rank(CertificateFields& fields) {
  const Built built = build(fields.text("quantity"), fields);
  const std::size_t least = rank_at_least(fields, built.matrix);
  std::string relation = "at least";
  if (fields.is_null("left")) {
    require(fields.is_null("right"), "there is a right factor alone");
    // As many rows or columns as the minor has bound the rank, too.
    if (least == std::min(built.matrix.size(), built.matrix[0].size())) relation = "exactly";
  } else {
    require(rank_at_most(fields, built.matrix) == least, "the bounds are not equal");
    relation = "exactly";
  }
  return fmt::format("{} ({} x {}) {} rank {} {}: {}", built.name, built.matrix.size(),
                     built.matrix[0].size(), built.name.ends_with('s') ? "have" : "has", relation,
                     least, built.hypotheses);
}

}  // namespace gqa::certificate_rules
