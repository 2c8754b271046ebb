// Inputs on which pooled projections give other outputs, as certificates.
#include <random>
#include <stdexcept>

#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/head_scores.hpp"
#include "gqa/theory/pooling_condition.hpp"

namespace gqa {
namespace {

using nlohmann::ordered_json;

[[noreturn]] void no_loss() {
  throw std::logic_error("weights that lose nothing have no witness of a loss");
}

ordered_json json_or_null(const RationalMatrix& biases) {
  return biases.empty() ? ordered_json() : exact_json(biases);
}
ordered_json json_or_null(const std::optional<RationalVector>& norm) {
  return norm ? exact_json(*norm) : ordered_json();
}

// What the certificate says of the layer; null if nothing stands between projection and scores.
ordered_json layer_json(const ProjectionGroup& group) {
  const LayerDeclaration& layer = group.layer;
  if (!layer.rotary && !layer.query_norm && !layer.key_norm && group.query_biases.empty() &&
      group.key_biases.empty() && group.value_biases.empty()) {
    return nullptr;
  }
  ordered_json planes, rotations;
  if (layer.rotary) {
    for (const auto& [a, b] : layer.rotary->planes) {
      planes.push_back(a);
      planes.push_back(b);
    }
    if (layer.rotary->rotations) rotations = exact_json(*layer.rotary->rotations);
  }
  return {{"planes", planes},
          {"rotations", rotations},
          {"query_biases", json_or_null(group.query_biases)},
          {"key_biases", json_or_null(group.key_biases)},
          {"value_biases", json_or_null(group.value_biases)},
          {"query_norm", json_or_null(layer.query_norm)},
          {"key_norm", json_or_null(layer.key_norm)},
          {"norm_epsilon", layer.norm_epsilon ? exact_json(*layer.norm_epsilon) : ordered_json()}};
}

RationalVector value_of(const ProjectionGroup& group, std::size_t head,
                        const RationalVector& input) {
  RationalVector value = product(group.value_weights[head], input);
  for (std::size_t c = 0; c < value.size() && !group.value_biases.empty(); ++c) {
    value[c] += group.value_biases[head][c];
  }
  return value;
}

// One position whose value some head projects otherwise than the mean does.
ordered_json witness_of_values(const ProjectionGroup& group) {
  for (std::size_t h = 0; h < group.heads(); ++h) {
    for (std::size_t c = 0; c <= group.width(); ++c) {
      const RationalVector input =
          c < group.width() ? unit_vector(group.width(), c) : RationalVector(group.width());
      const RationalVector own = value_of(group, h, input);
      RationalVector pooled(own.size());
      for (std::size_t other = 0; other < group.heads(); ++other) {
        const RationalVector value = value_of(group, other, input);
        for (std::size_t r = 0; r < pooled.size(); ++r) pooled[r] += value[r];
      }
      for (Rational& x : pooled) x /= static_cast<unsigned long>(group.heads());
      if (own == pooled) continue;
      ordered_json json = new_certificate("weight_pooling_loss");
      json["loss"] = "values_differ";
      json["layer"] = layer_json(group);
      json["value_weights"] = exact_json(group.value_weights);
      json["head"] = h;
      json["input"] = exact_json(input);
      json["output"] = exact_json(own);
      json["pooled_output"] = exact_json(pooled);
      return json;
    }
  }
  no_loss();
}

// Vectors to be tried: zero, the first unit vectors, small random integers. A polynomial of low
// degree that is zero at all of them is zero, or that is very unlikely.
RationalMatrix candidates(std::size_t size, std::uint64_t round) {
  constexpr std::size_t units = 6, drawn = 16;
  std::mt19937_64 engine(round);
  RationalMatrix all;
  if (round == 0) {
    all.emplace_back(size);
    for (std::size_t c = 0; c < std::min(size, units); ++c) all.push_back(unit_vector(size, c));
  }
  for (std::size_t k = 0; k < drawn; ++k) {
    RationalVector vector(size);
    for (Rational& x : vector) x = static_cast<long>(engine() % 7) - 3;
    all.push_back(std::move(vector));
  }
  return all;
}

// A query with the input at which it stands.
struct Asked {
  RationalVector input;
  RationalVector query;
};

// The search for inputs at which the scores of one head change.
class ScoreWitness {
 public:
  ScoreWitness(const ProjectionGroup& group, std::size_t head)
      : group_(group), head_(head), scores_(group, head) {}

  ordered_json find() {
    constexpr std::uint64_t rounds = 50;
    for (std::uint64_t round = 0; round < rounds; ++round) {
      inputs_ = candidates(group_.width(), round);
      set_asked(round);
      ordered_json found =
          group_.layer.has_distinct_angles() ? in_some_plane() : at_some_distance();
      if (!found.is_null()) return found;
    }
    no_loss();
  }

 private:
  void set_asked(std::uint64_t round) {
    asked_.clear();
    if (!group_.query_weights.empty()) {
      for (const RationalVector& input : inputs_) asked_.push_back({input, scores_.query(input)});
      return;
    }
    // Queries from elsewhere: any vector, at any input.
    for (const RationalVector& query : candidates(group_.key_size(), round)) {
      for (std::size_t k = 0; k < std::min<std::size_t>(inputs_.size(), 6); ++k) {
        asked_.push_back({inputs_[k], query});
      }
    }
  }

  ordered_json certificate(const char* loss, const Asked& asked) const {
    ordered_json json = new_certificate("weight_pooling_loss");
    json["loss"] = loss;
    json["layer"] = layer_json(group_);
    json["key_weights"] = exact_json(group_.key_weights);
    json["value_weights"] = exact_json(group_.value_weights);
    json["head"] = head_;
    json["query_weight"] =
        group_.query_weights.empty() ? ordered_json() : exact_json(group_.query_weights[head_]);
    json["input"] = exact_json(asked.input);
    json["query"] = exact_json(asked.query);
    return json;
  }

  bool values_differ(const RationalVector& a, const RationalVector& b) const {
    return value_of(group_, head_, a) != value_of(group_, head_, b);
  }

  // The inputs between the earlier one and the query's do not change their scores.
  bool between_is_kept(const Asked& asked, long distance) const {
    for (long t = distance > 1 ? 0 : 1; t < distance; ++t) {
      const RationalVector probe = group_.layer.turned(asked.query, t);
      if (group_.layer.key_norm) {
        if (!scores_.normalised_keys_agree(probe, asked.input)) return false;
        continue;
      }
      const RationalVector change = scores_.key_change(asked.input);
      if (dot(probe, change) != dot(asked.query, change)) return false;
    }
    return true;
  }

  // The least distance comes first; at it what is between keeps its scores for all inputs.
  ordered_json at_some_distance() const {
    const auto longest = static_cast<long>(group_.layer.rotary ? group_.key_size() + 1 : 1);
    for (long distance = 1; distance <= longest; ++distance) {
      for (const Asked& asked : asked_) {
        const RationalVector probe = group_.layer.turned(asked.query, distance);
        if (is_zero(probe) || !between_is_kept(asked, distance)) continue;
        for (const RationalVector& earlier : inputs_) {
          ordered_json found = group_.layer.key_norm
                                   ? of_normalised(asked, probe, earlier, distance)
                                   : of_plain(asked, probe, earlier, distance);
          if (!found.is_null()) return found;
        }
      }
    }
    return nullptr;
  }

  ordered_json of_plain(const Asked& asked, const RationalVector& probe,
                        const RationalVector& earlier, long distance) const {
    const Rational own(dot(probe, scores_.key(earlier)) -
                       dot(asked.query, scores_.key(asked.input)));
    const Rational pooled(dot(probe, scores_.pooled_key(earlier)) -
                          dot(asked.query, scores_.pooled_key(asked.input)));
    if (own == pooled || !values_differ(earlier, asked.input)) return nullptr;
    ordered_json json = certificate("scores_differ", asked);
    json["earlier_input"] = exact_json(earlier);
    json["distance"] = distance;
    json["score_difference"] = exact_json(own);
    json["pooled_score_difference"] = exact_json(pooled);
    return json;
  }

  ordered_json of_normalised(const Asked& asked, const RationalVector& probe,
                             const RationalVector& earlier, long distance) const {
    if (scores_.normalised_keys_agree(probe, earlier) || !values_differ(earlier, asked.input) ||
        !values_differ(RationalVector(group_.width()), asked.input)) {
      return nullptr;
    }
    ordered_json json = certificate("normalised_scores_differ", asked);
    json["earlier_input"] = exact_json(earlier);
    json["distance"] = distance;
    return json;
  }

  bool changes_in(const std::vector<std::size_t>& part, bool turning, const RationalVector& seen,
                  const RationalVector& key_input) const {
    if (group_.layer.key_norm) {
      if (!turning) return !scores_.normalised_keys_agree(seen, key_input);
      for (const std::size_t c : part) {
        if (!scores_.normalised_keys_agree(unit_vector(seen.size(), c), key_input)) return true;
      }
      return false;
    }
    const RationalVector change = scores_.key_change(key_input);
    if (turning) return !is_zero(restricted(change, part));
    return dot(seen, change) != dot(seen, scores_.key_change(RationalVector(group_.width())));
  }

  ordered_json in_some_plane() const {
    const auto parts = group_.layer.parts(group_.key_size());
    for (std::size_t p = 0; p < parts.size(); ++p) {
      const bool turning = p + 1 < parts.size();
      for (const Asked& asked : asked_) {
        const RationalVector seen = restricted(asked.query, parts[p]);
        if (is_zero(seen)) continue;
        for (const RationalVector& key_input : inputs_) {
          if (!changes_in(parts[p], turning, seen, key_input)) continue;
          ordered_json json = certificate("some_distance", asked);
          json["key_input"] = exact_json(key_input);
          json["plane"] = turning ? ordered_json(p) : ordered_json();
          return json;
        }
      }
    }
    return nullptr;
  }

  const ProjectionGroup& group_;
  std::size_t head_;
  HeadScores scores_;
  RationalMatrix inputs_;
  std::vector<Asked> asked_;
};

}  // namespace

ordered_json certificate_of(const std::optional<WeightPoolingLoss>& loss,
                            const ProjectionGroup& group) {
  if (loss == WeightPoolingLoss::values_differ) return witness_of_values(group);
  if (loss) {
    for (std::size_t h = 0; h < group.heads(); ++h) {
      if (HeadScores(group, h).change()) return ScoreWitness(group, h).find();
    }
    no_loss();
  }
  ordered_json json = new_certificate("weight_pooling_lossless");
  json["layer"] = layer_json(group);
  json["key_weights"] = exact_json(group.key_weights);
  json["value_weights"] = exact_json(group.value_weights);
  json["query_weights"] =
      group.query_weights.empty() ? ordered_json() : exact_json(group.query_weights);
  return json;
}

ordered_json certificate_of(const std::optional<WeightPoolingLoss>& loss,
                            const RationalMatrices& key_weights,
                            const RationalMatrices& value_weights,
                            const RationalMatrices& query_weights) {
  return certificate_of(loss, {key_weights, value_weights, query_weights, {}, {}, {}, {}});
}

}  // namespace gqa
