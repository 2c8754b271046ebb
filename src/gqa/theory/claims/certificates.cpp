#include "gqa/theory/claims/certificates.hpp"

#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/modular_matrix.hpp"
#include "gqa/theory/rational_rank.hpp"

namespace gqa::claim_certificates {
Certificate attainable_point(const Matrix& values, const Row& point, const Row& weights) {
  Certificate c = new_certificate("attainable_point");
  c["values"] = exact_json(values);
  c["point"] = exact_json(point);
  c["weights"] = exact_json(weights);
  return c;
}

Certificate separating_hyperplane(const Matrix& values, const Row& point, const Row& normal,
                                  const Rational& offset) {
  Certificate c = new_certificate("separating_hyperplane");
  const auto side = [&](const Row& at) { return Rational(dot(normal, at) + offset); };
  Row sides;
  for (const Row& value : values) sides.push_back(side(value));
  c["values"] = exact_json(values);
  c["point"] = exact_json(point);
  c["normal"] = exact_json(normal);
  c["offset"] = exact_json(offset);
  c["value_sides"] = exact_json(sides);
  c["point_side"] = exact_json(side(point));
  return c;
}

Certificate polynomial_identity(const std::string& left, const std::string& right) {
  Certificate c = new_certificate("polynomial_identity");
  c["left"] = left;
  c["right"] = right;
  return c;
}

Certificate counterexample(const char* identity) {
  Certificate c = new_certificate("counterexample");
  c["identity"] = identity;
  return c;
}

Certificate equational_proof(const std::vector<Axiom>& axioms,
                             const std::vector<std::string>& chain, const std::vector<int>& uses) {
  Certificate c = new_certificate("equational_proof");
  c["axioms"] = Certificate::array();
  for (const Axiom& axiom : axioms) {
    c["axioms"].push_back({{"name", axiom.name}, {"left", axiom.left}, {"right", axiom.right}});
  }
  c["chain"] = chain;
  c["uses"] = uses;
  return c;
}

Certificate equal_outputs(const Matrix& values, const Matrix& strengths, const Row& output) {
  Certificate c = new_certificate("equal_outputs");
  c["values"] = exact_json(values);
  c["strengths"] = exact_json(strengths);
  c["output"] = exact_json(output);
  return c;
}

Certificate rank_lower_bound(const Matrix& matrix) {
  const Tensor<Rational> tensor = claim_instances::to_tensor({matrix});
  // The prime divides no denominator of the claims' numbers; if it does, there is no minor.
  const auto reduced = reduce(tensor.matrix(0, 0));
  const ModularMinor minor = reduced ? largest_minor(*reduced) : ModularMinor{};
  Certificate c = new_certificate("rank_lower_bound");
  c["matrix"] = exact_json(matrix);
  c["modulus"] = std::to_string(rank_prime);
  c["rows"] = minor.rows;
  c["columns"] = minor.columns;
  c["determinant"] = std::to_string(minor.determinant);
  return c;
}

Certificate rank_upper_bound(const Matrix& matrix) {
  const Tensor<Rational> tensor = claim_instances::to_tensor({matrix});
  const RankFactors factors = rank_factors(tensor.matrix(0, 0));
  const auto view = [](const Tensor<Rational>& t) {
    return MatrixView<const Rational>(t.data().data(), static_cast<std::size_t>(t.extent(0)),
                                      static_cast<std::size_t>(t.extent(1)));
  };
  Certificate c = new_certificate("rank_upper_bound");
  c["matrix"] = exact_json(matrix);
  c["left"] = exact_json(claim_instances::to_matrix(view(factors.left)));
  c["right"] = exact_json(claim_instances::to_matrix(view(factors.right)));
  return c;
}

Certificate mean_key_score_sum(const Matrix& queries, const Matrix& keys, const Rational& left,
                               const Rational& right) {
  Certificate c = new_certificate("counterexample");
  c["identity"] = "mean_key_score_sum";
  c["queries"] = exact_json(queries);
  c["keys"] = exact_json(keys);
  c["left"] = exact_json(Row{left});
  c["right"] = exact_json(Row{right});
  return c;
}

Certificate output_as_values_times_matrix(const Matrix& values, const std::vector<Matrix>& patterns,
                                          const std::vector<Matrix>& projections,
                                          const Row& row_combination, const Row& left) {
  Certificate c = new_certificate("counterexample");
  c["identity"] = "output_as_values_times_matrix";
  c["values"] = exact_json(values);
  c["patterns"] = exact_json(patterns);
  c["projections"] = exact_json(projections);
  c["row_combination"] = exact_json(row_combination);
  c["left"] = exact_json(left);
  c["right"] = exact_json(Row(left.size()));
  return c;
}

Certificate mean_pooled_output(const std::vector<Matrix>& keys, const std::vector<Matrix>& values,
                               std::int64_t head, const Row& bases, const Row& left,
                               const Row& right) {
  Certificate c = new_certificate("counterexample");
  c["identity"] = "mean_pooled_output";
  c["keys"] = exact_json(keys);
  c["values"] = exact_json(values);
  c["head"] = head;
  c["bases"] = exact_json(bases);
  c["key_scale"] = "1";
  c["left"] = exact_json(left);
  c["right"] = exact_json(right);
  return c;
}

Certificate pooling_loss(const std::vector<Matrix>& keys, const std::vector<Matrix>& values,
                         std::int64_t head, const Row& key_sum, const Row& difference) {
  Certificate c = new_certificate("pooling_loss");
  c["keys"] = exact_json(keys);
  c["values"] = exact_json(values);
  c["head"] = head;
  c["key_sum"] = exact_json(key_sum);
  c["difference"] = exact_json(difference);
  return c;
}

CacheModel CacheSize::model() const {
  CacheModel model;
  model.q_num_heads = model.kv_num_heads = kv_heads;
  model.key_size = model.value_size = head_size;
  model.layers = {{.count = layers, .window = std::nullopt}};
  model.key_format.block_bytes = model.value_format.block_bytes = element_bytes;
  return model;
}

CacheUse CacheSize::use() const {
  return {.batch = batch, .positions = positions};
}

void require_bytes(Argument& argument, const CacheSize& cache, const mpz_class& bytes) {
  argument.require(cache.bytes() == bytes, "Hkv = {}, S = {}, B = {}: {} bytes in {} layers",
                   cache.kv_heads, cache.positions, cache.batch, cache.bytes().get_str(),
                   cache.layers);
  argument.attach(certificate_of(cache.model(), cache.use()));
}

}  // namespace gqa::claim_certificates
