#include "gqa/num/log_rational.hpp"

#include <fmt/format.h>

#include "gqa/error.hpp"

namespace gqa {
namespace {

// Adds sign * multiplicity of every prime factor of `number` to `factors`.
void factorise(mpz_class number, long sign, std::map<std::uint64_t, long>& factors,
               std::string_view where) {
  const auto divide_out = [&](std::uint64_t prime) {
    while (mpz_divisible_ui_p(number.get_mpz_t(), prime) != 0) {
      number /= static_cast<unsigned long>(prime);
      factors[prime] += sign;
    }
  };
  divide_out(2);
  for (std::uint64_t candidate = 3; candidate <= largest_log_prime && number > 1; candidate += 2) {
    if (number < candidate * candidate) break;  // what is left is a prime
    divide_out(candidate);
  }
  if (number == 1) return;
  if (number > largest_log_prime) {
    throw InputError("log_rational.prime_too_large", std::string(where),
                     fmt::format("has a prime factor beyond {}", largest_log_prime));
  }
  factors[number.get_ui()] += sign;
}

// Small enough for a machine word, or an error: exp of it would fill the memory.
long checked_exponent(const mpz_class& exponent) {
  if (abs(exponent) > max_text_exponent) {
    throw InputError("log_rational.exponent_out_of_range", "logarithm",
                     fmt::format("a coefficient is beyond {}", max_text_exponent));
  }
  return exponent.get_si();
}

Rational prime_power(std::uint64_t prime, long exponent) {
  mpz_class power;
  const auto magnitude = static_cast<unsigned long>(exponent < 0 ? -exponent : exponent);
  mpz_ui_pow_ui(power.get_mpz_t(), prime, magnitude);
  return exponent < 0 ? make_rational(1, power) : Rational(power);
}

}  // namespace

template <class R>
BasicLogRational<R> BasicLogRational<R>::log_of(const Rational& value, std::string_view where) {
  if (value <= 0) {
    throw InputError("log_rational.not_positive", std::string(where),
                     fmt::format("the logarithm of {} does not exist", to_text(value)));
  }
  std::map<std::uint64_t, long> factors;
  factorise(value.get_num(), 1, factors, where);
  factorise(value.get_den(), -1, factors, where);
  BasicLogRational result;
  for (const auto& [prime, multiplicity] : factors) {
    if (multiplicity != 0) result.coefficients_[prime] = R(multiplicity);
  }
  return result;
}

template <>
std::optional<Rational> BasicLogRational<Rational>::exp() const {
  Rational result(1);
  for (const auto& [prime, coefficient] : coefficients_) {
    if (coefficient.get_den() != 1) return std::nullopt;
    result *= prime_power(prime, checked_exponent(coefficient.get_num()));
  }
  return result;
}

template <>
std::optional<BoostRational> BasicLogRational<BoostRational>::exp() const {
  using boost::multiprecision::cpp_int;
  cpp_int numerator_product = 1;
  cpp_int denominator_product = 1;
  for (const auto& [prime, coefficient] : coefficients_) {
    if (denominator(coefficient) != 1) return std::nullopt;
    const cpp_int exponent = numerator(coefficient);
    const cpp_int magnitude = exponent < 0 ? cpp_int(-exponent) : exponent;
    if (magnitude > max_text_exponent) checked_exponent(mpz_class(magnitude.str()));
    cpp_int& side = exponent < 0 ? denominator_product : numerator_product;
    side *= pow(cpp_int(prime), magnitude.convert_to<unsigned>());
  }
  return BoostRational(numerator_product, denominator_product);
}

template class BasicLogRational<Rational>;
template class BasicLogRational<BoostRational>;

namespace {

[[noreturn]] void bad_syntax(std::string_view text, std::string_view where) {
  throw InputError("log_rational.syntax", std::string(where),
                   fmt::format("\"{}\" is not an exact logarithm: write 0 or a sum of terms like "
                               "ln(3), -ln(2), 1/2*ln(9)",
                               text));
}

std::string_view trimmed(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

// One term without its sign: "ln(a)" or "c*ln(a)".
LogRational parse_term(std::string_view term, std::string_view whole, std::string_view where) {
  Rational factor(1);
  if (const std::size_t star = term.find('*'); star != std::string_view::npos) {
    const std::string_view factor_text = trimmed(term.substr(0, star));
    if (factor_text.empty() || factor_text[0] == '+' || factor_text[0] == '-') {
      bad_syntax(whole, where);
    }
    factor = parse_rational(factor_text, where);
    term = trimmed(term.substr(star + 1));
  }
  if (!term.starts_with("ln(") || !term.ends_with(")")) bad_syntax(whole, where);
  const std::string_view argument = term.substr(3, term.size() - 4);
  return LogRational::log_of(parse_rational(argument, where), where) * factor;
}

// The end of the term that starts at `start`: the next + or - outside brackets.
std::size_t end_of_term(std::string_view text, std::size_t start) {
  std::size_t depth = 0;
  for (std::size_t i = start; i < text.size(); ++i) {
    if (text[i] == '(') ++depth;
    if (text[i] == ')' && depth > 0) --depth;
    if (depth == 0 && (text[i] == '+' || text[i] == '-')) return i;
  }
  return text.size();
}

}  // namespace

LogRational parse_log_rational(std::string_view text, std::string_view where) {
  if (text == "0") return {};
  LogRational result;
  std::size_t position = 0;
  bool first = true;
  while (position < text.size() || first) {
    bool negative = false;
    if (position < text.size() && (text[position] == '+' || text[position] == '-')) {
      negative = text[position] == '-';
      ++position;
    }
    const std::size_t end = end_of_term(text, position);
    const std::string_view term = trimmed(text.substr(position, end - position));
    if (term.empty()) bad_syntax(text, where);
    const LogRational value = parse_term(term, text, where);
    result += negative ? -value : value;
    position = end;
    first = false;
  }
  return result;
}

std::string to_text(const LogRational& value) {
  if (value.is_zero()) return "0";
  std::string text;
  for (const auto& [prime, coefficient] : value.coefficients()) {
    const bool negative = coefficient < 0;
    const Rational magnitude = abs(coefficient);
    if (!text.empty()) {
      text += negative ? " - " : " + ";
    } else if (negative) {
      text += "-";
    }
    if (magnitude != 1) text += to_text(magnitude) + "*";
    text += fmt::format("ln({})", prime);
  }
  return text;
}

Ball enclose(const LogRational& value) {
  Ball sum;
  for (const auto& [prime, coefficient] : value.coefficients()) {
    sum += Ball(coefficient) * log(Ball(Rational(mpz_class(static_cast<unsigned long>(prime)))));
  }
  return sum;
}

}  // namespace gqa
