// A query at which pooling changes an output, in exact numbers.
#include <algorithm>
#include <cstdlib>

#include "gqa/theory/certificate_writer.hpp"
#include "gqa/theory/pooling_condition.hpp"

namespace gqa {
namespace {

constexpr long largest_strength_exponent = 4096;

// Denominators of all keys, cleared.
mpz_class common_denominator(const RationalMatrices& all) {
  mpz_class denominator = 1;
  for (const RationalMatrix& one : all) {
    for (const RationalVector& row : one) {
      for (const Rational& x : row) denominator = lcm(denominator, x.get_den());
    }
  }
  return denominator;
}

bool exponents_are_moderate(const RationalMatrices& keys, const Rational& key_scale) {
  for (const RationalMatrix& one : keys) {
    for (const RationalVector& row : one) {
      for (const Rational& x : row) {
        if (abs(Rational(x * key_scale)) > largest_strength_exponent) return false;
      }
    }
  }
  return true;
}

// ln 2, ln 3, ln 5, ... are linearly independent over the rationals, so distinct keys get distinct
// strengths.
RationalVector first_primes(std::size_t count) {
  RationalVector primes;
  mpz_class prime = 1;
  while (primes.size() < count) {
    mpz_nextprime(prime.get_mpz_t(), prime.get_mpz_t());
    primes.emplace_back(prime);
  }
  return primes;
}

Rational power(const Rational& base, long exponent) {
  mpz_class numerator, denominator;
  const auto size = static_cast<unsigned long>(std::abs(exponent));
  mpz_pow_ui(numerator.get_mpz_t(), base.get_num_mpz_t(), size);
  mpz_pow_ui(denominator.get_mpz_t(), base.get_den_mpz_t(), size);
  return exponent < 0 ? make_rational(denominator, numerator)
                      : make_rational(numerator, denominator);
}

RationalVector output_of(const RationalMatrix& keys, const RationalMatrix& values,
                         const RationalVector& bases, const Rational& key_scale) {
  RationalVector output(values[0].size());
  Rational total = 0;
  for (std::size_t j = 0; j < keys.size(); ++j) {
    Rational strength = 1;
    for (std::size_t c = 0; c < bases.size(); ++c) {
      strength *= power(bases[c], Rational(key_scale * keys[j][c]).get_num().get_si());
    }
    total += strength;
    for (std::size_t c = 0; c < output.size(); ++c) output[c] += strength * values[j][c];
  }
  for (Rational& x : output) x /= total;
  return output;
}

}  // namespace

std::optional<PoolingWitness> pooling_witness(const PooledGroup& group, std::size_t head) {
  const RationalMatrix mean_keys = mean_of(group.keys);
  const RationalMatrix mean_values = mean_of(group.values);
  RationalMatrices all_keys = group.keys;
  all_keys.push_back(mean_keys);
  PoolingWitness witness;
  witness.key_scale = Rational(common_denominator(all_keys));
  if (!exponents_are_moderate(all_keys, witness.key_scale)) return std::nullopt;
  const RationalVector primes = first_primes(mean_keys[0].size());
  const std::size_t sums = group.positions() * group.positions();
  constexpr std::size_t most_multiples = 64;  // far more than ever needed; each costs larger powers
  for (std::size_t multiple = 0; multiple < std::min(sums, most_multiples); ++multiple) {
    witness.bases.clear();
    for (const Rational& prime : primes) {
      witness.bases.push_back(power(prime, static_cast<long>(multiple)));
    }
    witness.own = output_of(group.keys[head], group.values[head], witness.bases, witness.key_scale);
    witness.pooled = output_of(mean_keys, mean_values, witness.bases, witness.key_scale);
    if (witness.own != witness.pooled) return witness;
  }
  return std::nullopt;
}

nlohmann::ordered_json certificate_of(const PoolingWitness& witness, const PooledGroup& group,
                                      std::size_t head) {
  nlohmann::ordered_json json = new_certificate("counterexample");
  json["identity"] = "mean_pooled_output";
  json["keys"] = exact_json(group.keys);
  json["values"] = exact_json(group.values);
  json["head"] = head;
  json["bases"] = exact_json(witness.bases);
  json["key_scale"] = exact_json(witness.key_scale);
  json["left"] = exact_json(witness.own);
  json["right"] = exact_json(witness.pooled);
  return json;
}

}  // namespace gqa
