#include "gqa/theory/claims/certificates.hpp"

#include "gqa/theory/modular_matrix.hpp"
#include "gqa/theory/rational_rank.hpp"

namespace gqa::claim_certificates {
namespace {

Certificate of_kind(const char* kind) {
  return {{"schema", "gqaverify.certificate/1"}, {"kind", kind}};
}

Certificate list(const Row& row) {
  Certificate result = Certificate::array();
  for (const Rational& x : row) result.push_back(gqa::to_text(x));
  return result;
}

template <class T>
Certificate list(const std::vector<T>& rows) {
  Certificate result = Certificate::array();
  for (const T& row : rows) result.push_back(list(row));
  return result;
}

}  // namespace

Certificate attainable_point(const Matrix& values, const Row& point, const Row& weights) {
  Certificate c = of_kind("attainable_point");
  c["values"] = list(values);
  c["point"] = list(point);
  c["weights"] = list(weights);
  return c;
}

Certificate separating_hyperplane(const Matrix& values, const Row& point, const Row& normal,
                                  const Rational& offset) {
  Certificate c = of_kind("separating_hyperplane");
  const auto side = [&](const Row& at) {
    return Rational(claim_instances::dot(normal, at) + offset);
  };
  Row sides;
  for (const Row& value : values) sides.push_back(side(value));
  c["values"] = list(values);
  c["point"] = list(point);
  c["normal"] = list(normal);
  c["offset"] = gqa::to_text(offset);
  c["value_sides"] = list(sides);
  c["point_side"] = gqa::to_text(side(point));
  return c;
}

Certificate equal_outputs(const Matrix& values, const Matrix& strengths, const Row& output) {
  Certificate c = of_kind("equal_outputs");
  c["values"] = list(values);
  c["strengths"] = list(strengths);
  c["output"] = list(output);
  return c;
}

Certificate rank_lower_bound(const Matrix& matrix) {
  const Tensor<Rational> tensor = claim_instances::to_tensor({matrix});
  // The prime divides no denominator of the claims' numbers; if it does, there is no minor.
  const auto reduced = reduce(tensor.matrix(0, 0));
  const ModularMinor minor = reduced ? largest_minor(*reduced) : ModularMinor{};
  Certificate c = of_kind("rank_lower_bound");
  c["matrix"] = list(matrix);
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
  Certificate c = of_kind("rank_upper_bound");
  c["matrix"] = list(matrix);
  c["left"] = list(claim_instances::to_matrix(view(factors.left)));
  c["right"] = list(claim_instances::to_matrix(view(factors.right)));
  return c;
}

Certificate mean_key_score_sum(const Matrix& queries, const Matrix& keys, const Rational& left,
                               const Rational& right) {
  Certificate c = of_kind("counterexample");
  c["identity"] = "mean_key_score_sum";
  c["queries"] = list(queries);
  c["keys"] = list(keys);
  c["left"] = list(Row{left});
  c["right"] = list(Row{right});
  return c;
}

Certificate mean_pooled_output(const std::vector<Matrix>& keys, const std::vector<Matrix>& values,
                               std::int64_t head, const Row& bases, const Row& left,
                               const Row& right) {
  Certificate c = of_kind("counterexample");
  c["identity"] = "mean_pooled_output";
  c["keys"] = list(keys);
  c["values"] = list(values);
  c["head"] = head;
  c["bases"] = list(bases);
  c["key_scale"] = "1";
  c["left"] = list(left);
  c["right"] = list(right);
  return c;
}

Certificate pooling_loss(const std::vector<Matrix>& keys, const std::vector<Matrix>& values,
                         std::int64_t head, const Row& key_sum, const Row& difference) {
  Certificate c = of_kind("pooling_loss");
  c["keys"] = list(keys);
  c["values"] = list(values);
  c["head"] = head;
  c["key_sum"] = list(key_sum);
  c["difference"] = list(difference);
  return c;
}

Certificate byte_ledger(const CacheSize& cache) {
  Certificate c = of_kind("byte_ledger");
  c["layers"] = Certificate::array({{{"count", cache.layers}, {"window", nullptr}}});
  c["batch"] = cache.batch;
  c["positions"] = cache.positions;
  c["page_size"] = 1;
  c["kv_num_heads"] = cache.kv_heads;
  c["key_size"] = cache.head_size;
  c["value_size"] = cache.head_size;
  c["key_block"] = {cache.element_bytes, 1};
  c["value_block"] = {cache.element_bytes, 1};
  c["bytes_per_position"] = cache.bytes_per_position().get_str();
  c["bytes"] = cache.bytes().get_str();
  return c;
}

}  // namespace gqa::claim_certificates
