// Pooled projections of layers with rotary embedding, biases and normalisation.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>

#include "gqa/theory/certificate.hpp"
#include "gqa/theory/weight_pooling.hpp"
#include "support/errors.hpp"
#include "support/random.hpp"

using namespace gqa;

namespace {

using Reals = std::vector<long double>;

RationalMatrix random_matrix(test::Random& random, std::size_t rows, std::size_t columns) {
  RationalMatrix matrix(rows, RationalVector(columns));
  for (RationalVector& row : matrix) {
    for (Rational& x : row) x = static_cast<long>(random.integer(-1, 1));
  }
  return matrix;
}

RationalMatrices random_heads(test::Random& random, std::size_t heads, std::size_t rows,
                              std::size_t columns) {
  RationalMatrices all;
  for (std::size_t h = 0; h < heads; ++h) all.push_back(random_matrix(random, rows, columns));
  return all;
}

void declare_rotary(test::Random& random, LayerDeclaration& layer, std::size_t key_size) {
  const auto kind = random.integer(0, 4);
  if (kind == 0) return;
  RotaryDeclaration rotary;
  // Some coordinates of wider keys are left at rest.
  const std::size_t planes = key_size / 2 - (key_size > 4 ? 1 : 0);
  for (std::size_t p = 0; p < planes; ++p) {
    if (random.integer(0, 1) == 0) {
      rotary.planes.emplace_back(p, p + planes);
    } else {
      rotary.planes.clear();
      for (std::size_t q = 0; q < planes; ++q) rotary.planes.emplace_back(2 * q, 2 * q + 1);
      break;
    }
  }
  for (std::size_t p = rotary.planes.size(); p < planes; ++p)
    rotary.planes.emplace_back(p, p + planes);
  if (kind < 4) {
    // Two of them alike, a quarter turn and no turn among them.
    const RationalMatrix choices{{make_rational(3, 5), make_rational(4, 5)},
                                 {make_rational(5, 13), make_rational(12, 13)},
                                 {0, 1},
                                 {1, 0},
                                 {make_rational(3, 5), make_rational(-4, 5)}};
    rotary.rotations.emplace();
    for (std::size_t p = 0; p < planes; ++p) {
      rotary.rotations->push_back(choices[static_cast<std::size_t>(random.integer(0, 4))]);
    }
  }
  layer.rotary = rotary;
}

// Coordinates in which keys differ, and those that queries have, are chosen so that lossless layers
// are not rare.
ProjectionGroup random_group(test::Random& random) {
  const auto heads = static_cast<std::size_t>(random.integer(2, 3));
  const auto key_size = static_cast<std::size_t>(2 * random.integer(1, 3));
  const auto width = static_cast<std::size_t>(random.integer(1, 3));
  ProjectionGroup group;
  group.value_weights = random_heads(random, heads, 1, width);
  if (random.integer(0, 5) > 0) {
    for (RationalMatrix& value : group.value_weights) value = group.value_weights[0];
  }
  declare_rotary(random, group.layer, key_size);
  group.key_weights = RationalMatrices(heads, random_matrix(random, key_size, width));
  const RationalMatrices others = random_heads(random, heads, key_size, width);
  const bool with_queries = random.integer(0, 4) > 0;
  if (with_queries) group.query_weights = random_heads(random, heads, key_size, width);
  const bool key_bias = random.integer(0, 2) == 0;
  if (key_bias) group.key_biases = RationalMatrix(heads, random_matrix(random, 1, key_size)[0]);
  for (std::size_t c = 0; c < key_size; ++c) {
    const auto fate = random.integer(0, 4);
    for (std::size_t h = 0; h < heads; ++h) {
      if (fate < 2) group.key_weights[h][c] = others[h][c];
      if (key_bias && fate % 2 == 0) group.key_biases[h][c] = static_cast<long>(h);
      if (with_queries && fate < 3) group.query_weights[h][c].assign(width, 0);
    }
  }
  if (with_queries && random.integer(0, 2) == 0) {
    group.query_biases = RationalMatrix(heads, random_matrix(random, 1, key_size)[0]);
  }
  if (random.integer(0, 3) == 0) group.value_biases = RationalMatrix(heads, RationalVector{3});
  if (random.integer(0, 3) == 0) {
    group.layer.norm_epsilon = make_rational(1, 8);
    if (with_queries) group.layer.query_norm = random_matrix(random, 1, key_size)[0];
    if (!key_bias) group.layer.key_norm = random_matrix(random, 1, key_size)[0];
    if (!group.layer.query_norm && !group.layer.key_norm) group.layer.norm_epsilon.reset();
  }
  return group;
}

long double real(const Rational& x) {
  return static_cast<long double>(x.get_d());
}

// The layer as it is run, in long double: no code of the decision is in it.
class RunLayer {
 public:
  explicit RunLayer(const ProjectionGroup& group) : group_(group) {}

  Reals projected(const RationalMatrix& weight, const RationalVector* bias, const Reals& x) const {
    Reals y;
    for (std::size_t r = 0; r < weight.size(); ++r) {
      long double sum = bias == nullptr ? 0.0L : real((*bias)[r]);
      for (std::size_t c = 0; c < x.size(); ++c) sum += real(weight[r][c]) * x[c];
      y.push_back(sum);
    }
    return y;
  }

  // The mean over the heads of a projection of each.
  Reals mean(const RationalMatrices& weights, const RationalMatrix& biases, const Reals& x) const {
    Reals sum(weights[0].size());
    for (std::size_t h = 0; h < weights.size(); ++h) {
      const Reals one = projected(weights[h], biases.empty() ? nullptr : &biases[h], x);
      for (std::size_t c = 0; c < sum.size(); ++c) {
        sum[c] += one[c] / static_cast<long double>(weights.size());
      }
    }
    return sum;
  }

  Reals normalised(Reals x, const std::optional<RationalVector>& factors) const {
    if (!factors) return x;
    long double squares = 0;
    for (const long double c : x) squares += c * c;
    const long double root =
        std::sqrt(squares / static_cast<long double>(x.size()) + real(*group_.layer.norm_epsilon));
    for (std::size_t c = 0; c < x.size(); ++c) x[c] *= real((*factors)[c]) / root;
    return x;
  }

  Reals turned(Reals x, std::size_t position) const {
    if (!group_.layer.rotary) return x;
    const RotaryDeclaration& rotary = *group_.layer.rotary;
    for (std::size_t p = 0; p < rotary.planes.size(); ++p) {
      long double angle = std::pow(
          100.0L, -static_cast<long double>(p) / static_cast<long double>(rotary.planes.size()));
      if (rotary.rotations) {
        angle = std::atan2(real((*rotary.rotations)[p][1]), real((*rotary.rotations)[p][0]));
      }
      angle *= static_cast<long double>(position);
      const auto [a, b] = rotary.planes[p];
      const long double first = std::cos(angle) * x[a] - std::sin(angle) * x[b];
      x[b] = std::sin(angle) * x[a] + std::cos(angle) * x[b];
      x[a] = first;
    }
    return x;
  }

  // The output of the last position, with the head's own keys and values or the mean ones.
  long double output(std::size_t h, bool pooled, const std::vector<Reals>& text,
                     const Reals& other_query) const {
    const auto bias = [h](const RationalMatrix& all) { return all.empty() ? nullptr : &all[h]; };
    const std::size_t last = text.size() - 1;
    Reals query = other_query;
    if (!group_.query_weights.empty()) {
      query = normalised(projected(group_.query_weights[h], bias(group_.query_biases), text[last]),
                         group_.layer.query_norm);
    }
    query = turned(query, last);
    long double sum = 0, weighted = 0;
    for (std::size_t j = 0; j <= last; ++j) {
      Reals key = pooled ? mean(group_.key_weights, group_.key_biases, text[j])
                         : projected(group_.key_weights[h], bias(group_.key_biases), text[j]);
      key = turned(normalised(key, group_.layer.key_norm), j);
      const Reals value =
          pooled ? mean(group_.value_weights, group_.value_biases, text[j])
                 : projected(group_.value_weights[h], bias(group_.value_biases), text[j]);
      long double score = 0;
      for (std::size_t c = 0; c < key.size(); ++c) score += query[c] * key[c];
      const long double strength = std::exp(score / 2);
      sum += strength;
      weighted += strength * value[0];
    }
    return weighted / sum;
  }

 private:
  const ProjectionGroup& group_;
};

// The largest change of an output over random texts of every length up to the longest needed.
long double largest_change(const ProjectionGroup& group, test::Random& random) {
  const RunLayer layer(group);
  const auto draw = [&random](std::size_t size) {
    Reals x;
    for (std::size_t c = 0; c < size; ++c) {
      x.push_back(static_cast<long double>(random.integer(-1000, 1000)) / 700.0L);
    }
    return x;
  };
  long double largest = 0;
  for (std::size_t positions = 1; positions <= group.key_size() + 2; ++positions) {
    for (int k = 0; k < 3; ++k) {
      std::vector<Reals> text;
      for (std::size_t j = 0; j < positions; ++j) text.push_back(draw(group.width()));
      const Reals query = draw(group.key_size());
      for (std::size_t h = 0; h < group.heads(); ++h) {
        const long double change =
            layer.output(h, true, text, query) - layer.output(h, false, text, query);
        largest = std::max(largest, std::abs(change));
      }
    }
  }
  return largest;
}

}  // namespace

TEST_CASE("weight pooling: decisions on random layers are those of running them") {
  int lossless_rotary = 0, losing_rotary = 0, normalised = 0, distinct = 0;
  for (const std::uint64_t seed : test::seeds(1000)) {
    CAPTURE(seed);
    test::Random random(seed);
    const ProjectionGroup group = random_group(random);
    const auto loss = weight_pooling_loss(group);
    const long double change = largest_change(group, random);
    CAPTURE(static_cast<double>(change));
    CHECK((change > 1e-9L) == loss.has_value());
    const auto certificate = certificate_of(loss, group);
    const CertificateVerdict verdict = check_certificate(certificate.dump(), "c.json");
    INFO(certificate.dump());
    INFO(verdict.reason);
    CHECK(verdict.verified);
    if (loss) {
      // The opposite statement is not accepted of the same layer.
      const auto opposite = certificate_of(std::optional<WeightPoolingLoss>(), group);
      CHECK_FALSE(check_certificate(opposite.dump(), "c.json").verified);
    }
    if (group.layer.rotary) (loss ? losing_rotary : lossless_rotary) += 1;
    if (group.layer.has_distinct_angles() && !loss) ++distinct;
    if (group.layer.key_norm && !loss) ++normalised;
  }
  MESSAGE(lossless_rotary << " lossless and " << losing_rotary
                          << " losing rotary layers, of the former " << distinct
                          << " with distinct angles; " << normalised
                          << " lossless layers with normalised keys");
  CHECK(std::min({lossless_rotary, losing_rotary}) > test::of_all_seeds(100));
  CHECK(std::min(normalised, distinct) > 10);
}

TEST_CASE("weight pooling: what is lossless without rotary embedding may lose with it") {
  // Keys differ in the second coordinate, queries have the first: the rotation brings them
  // together.
  const RationalMatrix query{{1, 1}, {0, 0}}, value{{1, 0}};
  ProjectionGroup group{
      {{{1, 2}, {0, 1}}, {{1, 2}, {5, 1}}}, {value, value}, {query, query}, {}, {}, {}, {}};
  CHECK_FALSE(weight_pooling_loss(group).has_value());
  CHECK(check_certificate(certificate_of(std::nullopt, group).dump(), "c.json").statement ==
        "pooling these 2 projections changes no output of any input, for layers without rotary "
        "embedding, biases or normalisation between projection and scores");
  group.layer.rotary = {{{0, 1}}, RationalMatrix{{make_rational(3, 5), make_rational(4, 5)}}};
  CHECK(weight_pooling_loss(group) == WeightPoolingLoss::scores_differ);
  group.layer.rotary->rotations.reset();
  CHECK(weight_pooling_loss(group) == WeightPoolingLoss::scores_differ);
  // In another plane than any that queries have, nothing is lost at any angle.
  for (RationalMatrices* all : {&group.key_weights, &group.query_weights}) {
    for (RationalMatrix& one : *all) one.insert(one.end(), {{0, 0}, {0, 0}});
  }
  std::swap(group.key_weights[0][1], group.key_weights[0][3]);
  std::swap(group.key_weights[1][1], group.key_weights[1][3]);
  group.layer.rotary->planes = {{0, 1}, {2, 3}};
  CHECK_FALSE(weight_pooling_loss(group).has_value());
  CHECK(check_certificate(certificate_of(std::nullopt, group).dump(), "c.json").statement ==
        "pooling these 2 projections changes no output of any input, for layers with rotary "
        "embedding of 2 planes by distinct angles, without biases or normalisation between "
        "projection and scores");
}

TEST_CASE("weight pooling: what is not decided is refused") {
  const RationalMatrix one{{1, 0}, {0, 1}};
  ProjectionGroup group{{one, one}, {one, one}, {}, {{0, 1}, {2, 3}}, {}, {}, {}};
  group.layer.key_norm = RationalVector{1, 1};
  group.layer.norm_epsilon = 1;
  CHECK(test::refusal_of([&] { weight_pooling_loss(group); }) ==
        "pooling.normalised_bias at key_biases");
  group.key_biases.clear();
  group.layer.query_norm = RationalVector{1, 1};
  CHECK(test::refusal_of([&] { weight_pooling_loss(group); }) == "pooling.no_query at query_norm");
}
