// Certificates as `gqaverify check` reads them ("gqaverify.certificate/1"), from numbers.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/claim.hpp"
#include "gqa/theory/claims/instances.hpp"
#include "gqa/theory/ledger.hpp"

namespace gqa::claim_certificates {

using claim_instances::Matrix;
using claim_instances::Row;
using Certificate = nlohmann::ordered_json;

/// weights reach the point from the values.
Certificate attainable_point(const Matrix& values, const Row& point, const Row& weights);
/// normal . x + offset has no negative sign at a value and no positive one at the point.
Certificate separating_hyperplane(const Matrix& values, const Row& point, const Row& normal,
                                  const Rational& offset);
/// Different strengths with one output.
Certificate equal_outputs(const Matrix& values, const Matrix& strengths, const Row& output);
/// A largest minor that is not zero modulo a prime, which divides no denominator.
Certificate rank_lower_bound(const Matrix& matrix);
/// The matrix as a product of as many columns and rows as its rank.
Certificate rank_upper_bound(const Matrix& matrix);
/// sum q_i . k_i against (sum q_i) . mean k.
Certificate mean_key_score_sum(const Matrix& queries, const Matrix& keys, const Rational& left,
                               const Rational& right);
/// A head's own output against that with the group's mean keys and values.
Certificate mean_pooled_output(const std::vector<Matrix>& keys, const std::vector<Matrix>& values,
                               std::int64_t head, const Row& bases, const Row& left,
                               const Row& right);
/// A combination of rows that takes the values to zero, so V M for every M, and the output to
/// `left`, which is not zero.
Certificate output_as_values_times_matrix(const Matrix& values, const std::vector<Matrix>& patterns,
                                          const std::vector<Matrix>& projections,
                                          const Row& row_combination, const Row& left);
/// The sum of value differences over the pairs of one key sum, which is not zero.
Certificate pooling_loss(const std::vector<Matrix>& keys, const std::vector<Matrix>& values,
                         std::int64_t head, const Row& key_sum, const Row& difference);

/// {"kind": "counterexample", "identity": identity}, to which the caller adds the other fields.
Certificate counterexample(const char* identity);
/// The chain's first term equals its last by the axioms, each {name, left, right}; uses[i] names
/// the axiom of step i by its index.
struct Axiom {
  const char *name, *left, *right;
};
Certificate equational_proof(const std::vector<Axiom>& axioms,
                             const std::vector<std::string>& chain, const std::vector<int>& uses);

/// Two polynomials that are one: products and sums of variables and integers.
Certificate polynomial_identity(const std::string& left, const std::string& right);

/// A KV cache of layers that keep every position, in plain elements.
struct CacheSize {
  long layers, batch, positions, kv_heads, head_size, element_bytes;
  mpz_class bytes_per_position() const { return gqa::bytes_per_position(model()); }
  mpz_class bytes() const { return cache_bytes(model(), use()); }
  CacheModel model() const;
  CacheUse use() const;
};
/// The step that the cache takes so many bytes, with its certificate.
void require_bytes(Argument& argument, const CacheSize& cache, const mpz_class& bytes);

}  // namespace gqa::claim_certificates
