// Proofs by single rewrites with stated equations.
#include <algorithm>
#include <map>
#include <string_view>

#include "gqa/theory/certificate_rules/arithmetic.hpp"
#include "gqa/theory/certificate_rules/rules.hpp"

namespace gqa::certificate_rules {
namespace {

constexpr std::size_t longest_term = 4000;
constexpr int deepest_term = 50;

// A name applied to terms; of no arguments: a constant, or in an equation a variable.
struct Term {
  std::string name;
  std::vector<Term> arguments;

  bool operator==(const Term&) const = default;
};

class TermReader {
 public:
  explicit TermReader(std::string_view text) : text_(text) {
    require(text.size() <= longest_term, "a term is too long");
  }

  Term whole() {
    Term term = read(0);
    require(at_ == text_.size(), "a term goes on where it should end");
    return term;
  }

 private:
  static bool is_in_name(char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
  }
  bool is_next(char c) const { return at_ < text_.size() && text_[at_] == c; }

  Term read(int depth) {
    require(depth <= deepest_term, "terms are nested too deep");
    const std::size_t begin = at_;
    while (at_ < text_.size() && is_in_name(text_[at_])) ++at_;
    require(at_ > begin, "a name is missing in a term");
    Term term{std::string(text_.substr(begin, at_ - begin)), {}};
    if (!is_next('(')) return term;
    while (is_next('(') || is_next(',')) {
      ++at_;
      while (is_next(' ')) ++at_;
      term.arguments.push_back(read(depth + 1));
    }
    require(is_next(')'), "a parenthesis is not closed");
    ++at_;
    return term;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

bool is_variable(const Term& term) {
  return term.arguments.empty() && term.name.size() == 1 && term.name[0] >= 'a' &&
         term.name[0] <= 'z';
}

using Bindings = std::map<std::string, Term>;

bool matches(const Term& pattern, const Term& term, Bindings& bound) {
  if (is_variable(pattern)) return bound.try_emplace(pattern.name, term).first->second == term;
  if (pattern.name != term.name || pattern.arguments.size() != term.arguments.size()) return false;
  for (std::size_t i = 0; i < term.arguments.size(); ++i) {
    if (!matches(pattern.arguments[i], term.arguments[i], bound)) return false;
  }
  return true;
}

Term filled(const Term& pattern, const Bindings& bound) {
  if (is_variable(pattern)) {
    const auto found = bound.find(pattern.name);
    require(found != bound.end(), "an equation's other side has a variable of its own");
    CheckWork::spend(longest_term);
    return found->second;
  }
  Term term{pattern.name, {}};
  for (const Term& argument : pattern.arguments) term.arguments.push_back(filled(argument, bound));
  return term;
}

// Is `after` what one use of left = right, from left to right and at one place, makes of `before`?
bool is_rewrite(const Term& left, const Term& right, const Term& before, const Term& after) {
  Bindings bound;
  if (matches(left, before, bound) && filled(right, bound) == after) return true;
  if (before.name != after.name || before.arguments.size() != after.arguments.size()) return false;
  std::size_t changed = before.arguments.size(), changes = 0;
  for (std::size_t i = 0; i < before.arguments.size(); ++i) {
    if (before.arguments[i] == after.arguments[i]) continue;
    changed = i;
    ++changes;
  }
  return changes == 1 &&
         is_rewrite(left, right, before.arguments[changed], after.arguments[changed]);
}

struct Equation {
  Term left, right;
};

}  // namespace

std::string equational_proof(CertificateFields& fields) {
  std::vector<Equation> equations;
  std::string stated;
  for (CertificateFields& one : fields.objects("axioms")) {
    const std::string name = one.text("name"), left = one.text("left"), right = one.text("right");
    equations.push_back({TermReader(left).whole(), TermReader(right).whole()});
    one.require_all_read();
    require(!is_variable(equations.back().left) && !is_variable(equations.back().right),
            "an equation has a variable as a side");
    stated += fmt::format("{}{} = {}", stated.empty() ? "" : ", ", left, right);
  }
  const std::vector<std::string> texts = fields.texts("chain");
  std::vector<Term> chain;
  for (const std::string& text : texts) chain.push_back(TermReader(text).whole());
  const std::vector<std::int64_t> uses = fields.integers("uses");
  require(uses.size() + 1 == chain.size(), "there are not as many uses as steps");
  for (std::size_t step = 0; step < uses.size(); ++step) {
    require(uses[step] >= 0 && uses[step] < static_cast<std::int64_t>(equations.size()),
            "there is no such equation");
    const Equation& used = equations[static_cast<std::size_t>(uses[step])];
    require(is_rewrite(used.left, used.right, chain[step], chain[step + 1]) ||
                is_rewrite(used.right, used.left, chain[step], chain[step + 1]),
            "a step is not one use of its equation");
  }
  return fmt::format("{} = {}, wherever {}", texts.front(), texts.back(), stated);
}

}  // namespace gqa::certificate_rules
