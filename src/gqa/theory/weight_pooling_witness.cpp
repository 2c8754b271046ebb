// Inputs on which pooled projections give other outputs, as certificates.
#include <stdexcept>

#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/pooling_condition.hpp"
#include "gqa/theory/weight_pooling.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

RationalVector unit(std::size_t size, std::size_t at) {
  RationalVector vector(size);
  vector[at] = 1;
  return vector;
}

[[noreturn]] void no_loss() {
  throw std::logic_error("weights that lose nothing have no witness of a loss");
}

// One position whose value some head projects otherwise than the mean does.
ordered_json witness_of_values(const RationalMatrices& values) {
  const RationalMatrix mean = mean_of(values);
  for (std::size_t h = 0; h < values.size(); ++h) {
    for (std::size_t c = 0; c < mean[0].size(); ++c) {
      const RationalVector input = unit(mean[0].size(), c);
      const RationalVector own = product(values[h], input), pooled = product(mean, input);
      if (own == pooled) continue;
      ordered_json json = new_certificate("weight_pooling_loss");
      json["loss"] = "values_differ";
      json["value_weights"] = exact_json(values);
      json["head"] = h;
      json["input"] = exact_json(input);
      json["output"] = exact_json(own);
      json["pooled_output"] = exact_json(pooled);
      return json;
    }
  }
  no_loss();
}

// A step from the input to the earlier position with change . step and value step not zero.
RationalVector step_seen_by(const RationalVector& change, const RationalMatrix& value) {
  std::size_t scored = 0, valued = 0;
  while (change[scored] == 0) ++scored;
  while (is_zero(product(value, unit(change.size(), valued)))) ++valued;
  RationalVector step = unit(change.size(), scored);
  // At most one factor takes the change to zero.
  for (int factor = 1; is_zero(product(value, step)) || dot(change, step) == 0; ++factor) {
    step = unit(change.size(), scored);
    step[valued] += factor;
  }
  return step;
}

// Two positions whose scores some head sets otherwise apart than the mean key does.
ordered_json witness_of_scores(const RationalMatrices& keys, const RationalMatrices& values,
                               const RationalMatrices& queries) {
  const RationalMatrix mean = mean_of(keys);
  const std::size_t width = mean[0].size();
  // Without query projections the query is any vector; an input is then free.
  const std::size_t choices = queries.empty() ? mean.size() : width;
  for (std::size_t h = 0; h < keys.size(); ++h) {
    for (std::size_t a = 0; a < choices; ++a) {
      const RationalVector input = queries.empty() ? RationalVector(width) : unit(width, a);
      const RationalVector query =
          queries.empty() ? unit(mean.size(), a) : product(queries[h], input);
      RationalVector change(width);
      for (std::size_t r = 0; r < mean.size(); ++r) {
        for (std::size_t c = 0; c < width; ++c)
          change[c] += query[r] * (keys[h][r][c] - mean[r][c]);
      }
      if (is_zero(change)) continue;
      const RationalVector step = step_seen_by(change, values[0]);
      RationalVector earlier = input;
      for (std::size_t c = 0; c < width; ++c) earlier[c] += step[c];
      ordered_json json = new_certificate("weight_pooling_loss");
      json["loss"] = "scores_differ";
      json["key_weights"] = exact_json(keys);
      json["value_weights"] = exact_json(values);
      json["head"] = h;
      json["query_weight"] = queries.empty() ? ordered_json() : exact_json(queries[h]);
      json["earlier_input"] = exact_json(earlier);
      json["input"] = exact_json(input);
      json["query"] = exact_json(query);
      json["score_difference"] = exact_json(dot(query, product(keys[h], step)));
      json["pooled_score_difference"] = exact_json(dot(query, product(mean, step)));
      return json;
    }
  }
  no_loss();
}

}  // namespace

ordered_json certificate_of(const std::optional<WeightPoolingLoss>& loss,
                            const RationalMatrices& key_weights,
                            const RationalMatrices& value_weights,
                            const RationalMatrices& query_weights) {
  if (loss == WeightPoolingLoss::values_differ) return witness_of_values(value_weights);
  if (loss) return witness_of_scores(key_weights, value_weights, query_weights);
  ordered_json json = new_certificate("weight_pooling_lossless");
  json["key_weights"] = exact_json(key_weights);
  json["value_weights"] = exact_json(value_weights);
  json["query_weights"] = query_weights.empty() ? ordered_json() : exact_json(query_weights);
  return json;
}

}  // namespace gqa
