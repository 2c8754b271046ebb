#include "gqa/theory/certificate_rules/polynomial.hpp"

namespace gqa::certificate_rules {
namespace {

constexpr std::size_t longest_text = 2000;
constexpr std::size_t most_monomials = 10'000;
constexpr int deepest = 50;

void add(Polynomial& sum, const Monomial& monomial, const Rational& coefficient) {
  const auto at = sum.try_emplace(monomial, 0).first;
  at->second += coefficient;
  if (at->second == 0) sum.erase(at);
  require(sum.size() <= most_monomials, "a polynomial has too many monomials");
}

Polynomial sum_of(Polynomial a, const Polynomial& b, int sign) {
  for (const auto& [monomial, coefficient] : b) add(a, monomial, Rational(coefficient * sign));
  return a;
}

Polynomial product_of(const Polynomial& a, const Polynomial& b) {
  Polynomial product;
  for (const auto& [left, x] : a) {
    for (const auto& [right, y] : b) {
      Monomial monomial = left;
      for (const auto& [variable, exponent] : right) monomial[variable] += exponent;
      CheckWork::spend(4 + 4 * monomial.size());
      add(product, monomial, Rational(x * y));
    }
  }
  return product;
}

bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

class Reader {
 public:
  explicit Reader(std::string_view text) : text_(text) {
    require(text.size() <= longest_text, "an expression is too long");
  }

  Polynomial whole() {
    Polynomial all = sum(0);
    skip_spaces();
    require(at_ == text_.size(), "an expression goes on where it should end");
    return all;
  }

 private:
  void skip_spaces() {
    while (at_ < text_.size() && text_[at_] == ' ') ++at_;
  }
  bool take(char c) {
    skip_spaces();
    if (at_ >= text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }

  Polynomial sum(int depth) {
    require(depth <= deepest, "parentheses are nested too deep");
    const bool is_negative = take('-');
    Polynomial all = sum_of({}, product(depth), is_negative ? -1 : 1);
    while (true) {
      if (take('+')) {
        all = sum_of(std::move(all), product(depth), 1);
      } else if (take('-')) {
        all = sum_of(std::move(all), product(depth), -1);
      } else {
        return all;
      }
    }
  }

  Polynomial product(int depth) {
    Polynomial all = factor(depth);
    while (take('*')) all = product_of(all, factor(depth));
    return all;
  }

  Polynomial factor(int depth) {
    if (take('(')) {
      Polynomial inner = sum(depth + 1);
      require(take(')'), "a parenthesis is not closed");
      return inner;
    }
    const std::size_t begin = at_;
    require(at_ < text_.size() && (is_letter(text_[at_]) || is_digit(text_[at_])),
            "a variable, an integer or a parenthesis is missing in an expression");
    if (is_digit(text_[at_])) {
      while (at_ < text_.size() && is_digit(text_[at_])) ++at_;
      Polynomial constant;
      add(constant, {}, parse_rational(text_.substr(begin, at_ - begin), "expression"));
      return constant;
    }
    const auto goes_on = [](char c) { return is_letter(c) || is_digit(c) || c == '_'; };
    while (at_ < text_.size() && goes_on(text_[at_])) ++at_;
    return {{{{std::string(text_.substr(begin, at_ - begin)), 1}}, 1}};
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

}  // namespace

Polynomial parse_polynomial(std::string_view text) {
  return Reader(text).whole();
}

}  // namespace gqa::certificate_rules
