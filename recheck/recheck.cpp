// gqaverify-recheck: decides the witnesses of `gqaverify audit --witness FILE` again.
//
// Shares nothing with the audit but documents: what a witness holds and what is checked stands in
// docs/witness.md, the formulas in docs/tolerance.md and docs/contract.md. GMP's integers and
// fractions are all that it computes with; recheck.py does the same without any library.
#include <gmpxx.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <functional>
#include <iostream>
#include <iterator>
#include <map>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

using Z = mpz_class;
using Q = mpq_class;
using Int = std::int64_t;
using Text = std::string;

struct Rejected : std::runtime_error {  // the witness says what is not so
  using std::runtime_error::runtime_error;
};
struct Open {};  // more bits are needed

void demand(bool holds, const Text& reason) {
  if (!holds) throw Rejected(reason);
}

// ---- JSON -----------------------------------------------------------------------------------

struct Json {
  enum Kind { null, boolean, number, text, list, object } kind = null;
  Text word;  // of a number, a text, true and false
  std::vector<Json> items;
  std::vector<std::pair<Text, Json>> fields;

  const Json* find(const Text& name) const {
    for (const auto& [key, value] : fields) {
      if (key == name) return &value;
    }
    return nullptr;
  }
  const Json& operator[](const Text& name) const {
    const Json* found = find(name);
    demand(found != nullptr, "malformed: " + name + " is missing");
    return *found;
  }
  Text str() const {
    demand(kind == text, "malformed: a text is expected");
    return word;
  }
  Int integer() const {
    demand(kind == number && word.find_first_not_of("-0123456789") == Text::npos,
           "malformed: an integer is expected");
    return std::stoll(word);
  }
  bool flag() const {
    demand(kind == boolean, "malformed: true or false is expected");
    return word == "true";
  }
};

class Reader {
 public:
  explicit Reader(const Text& source) : text_(source) {}
  Json all() {
    Json value = read();
    skip();
    if (at_ != text_.size()) fail();
    return value;
  }

 private:
  [[noreturn]] void fail() { throw std::runtime_error("no JSON at byte " + std::to_string(at_)); }
  void skip() {
    while (at_ < text_.size() && std::isspace(static_cast<unsigned char>(text_[at_]))) ++at_;
  }
  bool take(char c) {
    skip();
    if (at_ == text_.size() || text_[at_] != c) return false;
    ++at_;
    return true;
  }
  void need(char c) {
    if (!take(c)) fail();
  }
  Text quoted() {
    need('"');
    Text result;
    while (at_ < text_.size() && text_[at_] != '"') {
      if (text_[at_] == '\\') result += text_[at_++];  // kept as written: no name here needs them
      if (at_ < text_.size()) result += text_[at_++];
    }
    need('"');
    return result;
  }
  Json read() {
    Json value;
    if (take('{')) {
      value.kind = Json::object;
      for (bool more = !take('}'); more; more = !take('}')) {
        if (!value.fields.empty()) need(',');
        Text name = quoted();
        need(':');
        if (value.find(name) != nullptr) fail();
        value.fields.emplace_back(name, read());
      }
    } else if (take('[')) {
      value.kind = Json::list;
      for (bool more = !take(']'); more; more = !take(']')) {
        if (!value.items.empty()) need(',');
        value.items.push_back(read());
      }
    } else if (skip(), at_ < text_.size() && text_[at_] == '"') {
      value.kind = Json::text;
      value.word = quoted();
    } else {
      while (at_ < text_.size() && (std::isalnum(static_cast<unsigned char>(text_[at_])) ||
                                    std::strchr("+-.", text_[at_]))) {
        value.word += text_[at_++];
      }
      if (value.word.empty()) fail();
      value.kind = value.word == "true" || value.word == "false" ? Json::boolean
                   : value.word == "null"                        ? Json::null
                                                                 : Json::number;
    }
    return value;
  }

  const Text& text_;
  std::size_t at_ = 0;
};

// ---- Intervals ------------------------------------------------------------------------------

unsigned long P = 256;  // bits behind the point

Z floor_div(const Z& x, const Z& y) {
  Z q;
  mpz_fdiv_q(q.get_mpz_t(), x.get_mpz_t(), y.get_mpz_t());
  return q;
}
Z ceil_div(const Z& x, const Z& y) {
  return -floor_div(-x, y);
}
Z floor_shift(const Z& x, unsigned long bits) {
  return x >> bits;
}  // towards minus infinity
Z ceil_shift(const Z& x, unsigned long bits) {
  return -Z(Z(-x) >> bits);
}

// A real number between lo / 2^P and hi / 2^P. Every operation encloses.
struct I {
  Z lo, hi;
  I(int n = 0) : lo(Z(n) << P), hi(lo) {}
  I(const Q& q)
      : lo(floor_div(q.get_num() << P, q.get_den())), hi(ceil_div(q.get_num() << P, q.get_den())) {}
  I(Z low, Z high) : lo(std::move(low)), hi(std::move(high)) {}
};
I operator+(const I& x, const I& y) {
  return {x.lo + y.lo, x.hi + y.hi};
}
I operator-(const I& x) {
  return {-x.hi, -x.lo};
}
I operator-(const I& x, const I& y) {
  return {x.lo - y.hi, x.hi - y.lo};
}
I operator*(const I& x, const I& y) {
  const Z a = x.lo * y.lo, b = x.lo * y.hi, c = x.hi * y.lo, d = x.hi * y.hi;
  return {floor_shift(std::min({a, b, c, d}), P), ceil_shift(std::max({a, b, c, d}), P)};
}
I operator/(const I& x, const I& y) {
  if (y.lo <= 0) throw Open();
  const Z low = x.lo << P, high = x.hi << P;
  return {std::min(floor_div(low, y.lo), floor_div(low, y.hi)),
          std::max(ceil_div(high, y.lo), ceil_div(high, y.hi))};
}
I& operator+=(I& x, const I& y) {
  return x = x + y;
}
I abs(const I& x) {
  return {std::max({x.lo, Z(-x.hi), Z(0)}), std::max(Z(-x.lo), x.hi)};
}
I square(const I& x) {
  return abs(x) * abs(x);
}
I largest(const I& x, const I& y) {
  return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
}
I least(const I& x, const I& y) {
  return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
}
Q power_of_two(long e) {
  return e < 0 ? Q(1) / Q(Z(1) << static_cast<unsigned long>(-e))
               : Q(Z(1) << static_cast<unsigned long>(e));
}
Q high_end(const I& x) {
  return Q(x.hi) / power_of_two(static_cast<long>(P));
}
Q low_end(const I& x) {
  return Q(x.lo) / power_of_two(static_cast<long>(P));
}

// Of what is not negative, though its enclosure may reach below zero.
I sqrt(const I& x) {
  const Z low = std::max(x.lo, Z(0)) << P, high = std::max(x.hi, Z(0)) << P;
  const Z root = ::sqrt(high);
  return {::sqrt(low), Z(root * root) == high ? root : Z(root + 1)};
}

// Of n / 2^P: exp(a) = exp(a / 2^h)^(2^h) with a / 2^h < 2^-7, by Taylor, a = |n / 2^P|; what
// follows a term of at most one unit is less than that term. exp(-a) = 1 / exp(a).
I exp_at(const Z& n) {
  if (n < Z(-Z(P + 2)) << P) return {0, 1};
  if (n > Z(1) << (P + 16)) throw Open();
  const Z a = ::abs(n);
  const unsigned long bits = mpz_sizeinbase(a.get_mpz_t(), 2);
  const unsigned long h = (bits > P ? bits - P : 0) + 7, g = P + 2 * h + 16;
  const Z r = (a << (g - P)) >> h, one = Z(1) << g;
  Z low = one, high = one, low_term = one, high_term = one;
  for (unsigned long k = 1; high_term > 1; ++k) {
    low_term = floor_shift(low_term * r, g) / k;
    high_term = ceil_div(high_term * (r + 1), Z(k) << g);
    low += low_term;
    high += high_term;
  }
  ++high;
  for (unsigned long k = 0; k < h; ++k) {
    low = floor_shift(low * low, g);
    high = ceil_shift(high * high, g);
  }
  if (n < 0) {
    const Z below = floor_div(one * one, high), above = ceil_div(one * one, low);
    return {floor_shift(below, g - P), ceil_shift(above, g - P)};
  }
  return {floor_shift(low, g - P), ceil_shift(high, g - P)};
}
I exp(const I& x) {
  return {exp_at(x.lo).lo, exp_at(x.hi).hi};
}

I power(I x, Int n) {
  I result = 1;
  for (; n > 0; n >>= 1, x = x * x) {
    if (n & 1) result = result * x;
  }
  return result;
}

// ln x = y + ln(1 + z), z = x exp(-y) - 1, |z| < 2^-32: z - z^2/2 + ..., until the rest is below
// one unit.
I log(const I& x) {
  if (x.lo <= 0) throw Open();
  long exponent = 0;
  const double mantissa = mpz_get_d_2exp(&exponent, x.hi.get_mpz_t());
  I y = Q(std::log(mantissa) + static_cast<double>(exponent - static_cast<long>(P)) * std::log(2));
  const I z = x * exp(-y) - 1;
  if (abs(z).hi >> (P - 32) != 0) throw Open();
  I term = 1;
  for (int k = 1; k <= static_cast<int>(P) / 32 + 1; ++k) {
    term = term * z;
    y = k % 2 == 1 ? y + term / k : y - term / k;
  }
  return y + I(-1, 1);
}

I tanh(const I& x) {
  if (x.lo < 0 && x.hi > 0) throw Open();
  const I t = exp(I(-2) * abs(x));
  return x.lo >= 0 ? (I(1) - t) / (I(1) + t) : (t - I(1)) / (I(1) + t);
}

// A number and, where it is known to be rational, its exact value.
struct Real {
  I range;
  std::optional<Q> exact;
  Real(I x) : range(std::move(x)) {}
  Real(const Q& q) : range(q), exact(q) {}
};
// x <= y, if it is certain either way.
bool at_most(const Real& x, const Real& y) {
  if (x.exact && y.exact) return *x.exact <= *y.exact;
  if (x.range.hi > y.range.lo && x.range.lo <= y.range.hi) throw Open();
  return x.range.hi <= y.range.lo;
}
Real magnitude(const Real& x) {
  return x.exact ? Real(Q(::abs(*x.exact))) : Real(abs(x.range));
}

// ---- Formats and models ---------------------------------------------------------------------

struct Format {
  int bits, exponent_bits, digits, lowest, highest;  // least and largest exponent
  bool infinite;                                     // is there an infinity?
  Q roundoff() const { return power_of_two(-digits); }
  Q underflow() const { return power_of_two(lowest <= -126 ? lowest : lowest - digits); }
  Q maximum() const {
    return power_of_two(highest) * (Q(2) - power_of_two(infinite ? 1 - digits : 2 - digits));
  }
};
const std::map<Text, Format> formats{
    {"binary64", {64, 11, 53, -1022, 1023, true}}, {"binary32", {32, 8, 24, -126, 127, true}},
    {"binary16", {16, 5, 11, -14, 15, true}},      {"bfloat16", {16, 8, 8, -126, 127, true}},
    {"float8_e4m3fn", {8, 4, 4, -6, 8, false}},    {"float8_e5m2", {8, 5, 3, -14, 15, true}}};

const Format& format_of(const Text& name) {
  const auto found = formats.find(name);
  demand(found != formats.end(), "malformed: \"" + name + "\" is no float format");
  return found->second;
}

// What bits encode.
struct Value {
  Q number;
  bool finite = true, nan = false;
  int sign = 1;
};
Value value_of(const Format& f, const Text& word) {
  demand(word.find_first_not_of("0123456789abcdef") == Text::npos && !word.empty() &&
             word.size() * 4 <= static_cast<std::size_t>(f.bits),
         "malformed: \"" + word + "\" is no element of its format");
  const std::uint64_t n = std::stoull(word, nullptr, 16);
  const std::uint64_t fraction = n & ((std::uint64_t{1} << (f.digits - 1)) - 1);
  const auto ones = (1L << f.exponent_bits) - 1;
  const auto e = static_cast<long>(n >> (f.digits - 1)) & ones;
  Value v;
  v.sign = n >> (f.bits - 1) != 0 ? -1 : 1;
  if (e == ones && (f.infinite || fraction == (std::uint64_t{1} << (f.digits - 1)) - 1)) {
    v.finite = false;
    v.nan = fraction != 0;
    return v;
  }
  const Z whole = Z(fraction) + (e > 0 ? Z(1) << (static_cast<unsigned>(f.digits - 1)) : Z(0));
  v.number = v.sign * Q(whole) * power_of_two(f.lowest - f.digits + std::max(e, 1L));
  return v;
}
std::vector<Text> words_of(const Text& text) {
  std::istringstream stream(text);
  return {std::istream_iterator<Text>(stream), {}};
}
std::vector<Value> vector_of(const Format& f, const Text& text) {
  std::vector<Value> values;
  for (const Text& word : words_of(text)) values.push_back(value_of(f, word));
  return values;
}
Q dyadic(const Text& text) {  // "-0x3p-1" is -3/2
  const std::size_t p = text.find('p'), x = text.find('x');
  demand(p != Text::npos && x < p, "malformed: \"" + text + "\" is no dyadic number");
  const Q magnitude =
      Q(Z(text.substr(x + 1, p - x - 1), 16)) * power_of_two(std::stol(text.substr(p + 1)));
  return text[0] == '-' ? Q(-magnitude) : magnitude;
}
Q fraction_of(const Text& text) {
  demand(text.find_first_not_of("-0123456789/") == Text::npos && !text.empty() &&
             text.find("/0") == Text::npos,
         "malformed: \"" + text + "\" is no fraction");
  Q q(text);
  q.canonicalize();
  return q;
}

// The table of docs/tolerance.md: logarithms of u, u_p, u_o, u_q, u_x, u_v (0: no rounding), K,
// logarithms of t_p, t_o, t_i, and whether weights are scaled.
struct Units {
  int u, p, o, q, x, v;
  double at_once;
  int tp, to, ti;
  bool scaled;
};
const std::map<Text, Units> models{
    {"f64", {-53, -53, -53, 0, 0, 0, 0, -1022, -1022, -1022, false}},
    {"f32", {-24, -24, -24, 0, 0, 0, 0, -126, -126, -126, false}},
    {"bf16x3", {-24, -16, -24, 0, -16, -16, 16.0 / 3, -126, -126, -126, false}},
    {"tf32", {-24, -11, -24, 0, -11, -11, 8, -126, -126, -126, false}},
    {"f16-products", {-24, -11, -24, 0, -11, -11, 16, -25, -126, -126, false}},
    {"bf16-products", {-24, -8, -24, 0, -8, -8, 16, -126, -126, -126, false}},
    {"f16-f32", {-24, -11, -11, 0, 0, 0, 16, -25, -25, -126, false}},
    {"bf16-f32", {-24, -8, -8, 0, 0, 0, 16, -126, -126, -126, false}},
    {"f16-stored", {-24, -11, -11, -11, -11, 0, 16, -25, -25, -126, false}},
    {"bf16-stored", {-24, -8, -8, -8, -8, 0, 16, -126, -126, -126, false}},
    {"fp8-weights", {-24, -4, -8, 0, 0, 0, 32, -18, -126, -126, true}},
    {"f16", {-11, -11, -11, -11, 0, 0, 0, -25, -25, -25, false}},
    {"bf16", {-8, -8, -8, -8, 0, 0, 0, -126, -126, -126, false}}};

struct Model {
  Q u, p, q, x, v, at_once, tp, ti, twice;  // twice: of accumulators that round toward zero
  Q ro, to;                                 // how the output was rounded at last
  bool scaled = false;
};

// The named model's units, which the witness must state alike.
Model model_of(const Json& tolerance, const Format& f) {
  const auto found = models.find(tolerance["model"].str());
  demand(found != models.end(), "there is no model " + tolerance["model"].str());
  const Units& n = found->second;
  const auto unit = [](int e) { return e == 0 ? Q(0) : power_of_two(e); };
  Model m{unit(n.u),  unit(n.p),  unit(n.q), unit(n.x), unit(n.v),  Q(n.at_once),
          unit(n.tp), unit(n.ti), unit(n.u), unit(n.o), unit(n.to), n.scaled};
  const std::vector<std::pair<Text, Q>> own{{"score", m.u},
                                            {"stored_score", m.q},
                                            {"exponential", m.u},
                                            {"denominator", m.u},
                                            {"weight", m.p},
                                            {"accumulation", m.u},
                                            {"output", m.ro},
                                            {"operand", m.x},
                                            {"value", m.v},
                                            {"weight_underflow", m.tp},
                                            {"storage_underflow", m.to},
                                            {"inner_underflow", m.ti},
                                            {"products_at_once", m.at_once},
                                            {"lambda", 6}};
  const Json& units = tolerance["units"];
  bool same = units["weights_scaled"].flag() == m.scaled;
  for (const auto& [name, q] : own) same = same && dyadic(units[name].str()) == q;
  demand(same, "model " + found->first + " has other units");
  if (n.at_once > 0) m.twice *= 2;
  const bool wide = f.roundoff() < m.ro && !tolerance["narrow"].flag();
  m.ro = wide ? f.roundoff() : std::max(m.ro, f.roundoff());
  m.to = wide ? f.underflow() : std::max(m.to, f.underflow());
  return m;
}

// ---- One row --------------------------------------------------------------------------------

using Vector = std::vector<Q>;
using Balls = std::vector<I>;

using Places = std::vector<std::size_t>;

struct Row {
  // Exact: what the witness states and what follows from it.
  Int position = 0, key_size = 0;
  std::vector<Int> visible;
  std::optional<Q> sink, exact_scale;
  std::map<Int, Q> added, away;  // mask's bias and slope times distance, of visible keys
  std::map<Int, Vector> vectors;
  std::map<Int, Q> dots;  // of keys where all is finite
  Vector query;
  Q softcap;
  bool biased = false, twofold = false;  // twofold: mask and slopes both
  std::set<Int> not_finite;              // visible keys whose bias or vector is no number
  bool common_not_finite = false;        // sink or slope
  bool sink_infinite = false;
  // Enclosed at P bits: of the keys asked for.
  I scale;
  Q cap;  // of the stage
  bool plain = true;
  Balls raw, s, all, w;  // all: s and the sink; w: their weights
  Vector both;           // |bias| + |slope distance| where both are added
  std::vector<const Vector*> keys;
  I top, total, lse, q2;
  Balls k2, products;  // |k|_2; scale^2 |q|_4^2 |k|_4^2
  // For the bounds.
  Balls variance, weighted, weak;  // sigma^2, w^2 sigma^2, r w
  I sink_variance, deviation, weak_mean, equal, weak_equal, stalled, stored_equal, lost_weights, tp;
  I exponent, alpha, beta, tiny, at_least;
  bool bounded = true;
  std::vector<Places> alike, copies;  // equal scores; equal keys that are none of those
  Q more_weights = 0;                 // squares of how many are alike
};

Q dot(const Vector& x, const Vector& y) {
  Q sum = 0;
  for (std::size_t t = 0; t < x.size(); ++t) sum += x[t] * y[t];
  return sum;
}
I sum(const Balls& xs) {
  I result;
  for (const I& x : xs) result += x;
  return result;
}

// Scores of keys after a stage: 0 scaled, 1 softcapped, 2 biased; and what bounds of them need.
void enclose(Row& r, const std::vector<Int>& keys, int stage) {
  const bool capped = stage > 0 && r.softcap != 0, biased = stage > 1 && r.biased;
  r.scale = r.exact_scale ? I(*r.exact_scale) : I(1) / sqrt(I(Q(r.key_size)));
  r.cap = capped ? r.softcap : Q(0);
  r.plain = !capped && !biased;
  r.raw = r.s = r.k2 = r.products = {};
  r.both = {};
  r.keys = {};
  const auto fourth = [](const Vector& x) {
    Q sum = 0;
    for (const Q& t : x) sum += t * t * t * t;
    return sqrt(I(sum));
  };
  r.q2 = sqrt(I(dot(r.query, r.query)));
  const I query4 = square(r.scale) * fourth(r.query);
  for (const Int j : keys) {
    const Vector& key = r.vectors.at(j);
    const Q& product = r.dots.at(j);
    r.raw.push_back(r.exact_scale ? I(product * *r.exact_scale) : I(product) * r.scale);
    r.s.push_back(capped ? I(r.cap) * tanh(r.raw.back() / I(r.cap)) : r.raw.back());
    if (biased) r.s.back() += I(r.added.at(j) - r.away.at(j));
    r.both.push_back(biased && r.twofold ? Q(::abs(r.added.at(j)) + ::abs(r.away.at(j))) : Q(0));
    r.keys.push_back(&key);
    r.k2.push_back(sqrt(I(dot(key, key))));
    r.products.push_back(query4 * fourth(key));
  }
}

// Softmax. A sink is one more score, last.
void weigh(Row& r) {
  r.all = r.s;
  if (r.sink) r.all.push_back(I(*r.sink));
  r.top = r.all.front();
  for (const I& s : r.all) r.top = largest(r.top, s);
  const I peak(r.top.hi, r.top.hi);
  r.w = {};
  for (const I& s : r.all) r.w.push_back(exp(s - peak));
  r.total = sum(r.w);
  for (I& w : r.w) w = w / r.total;
  r.lse = peak + log(r.total);
}

// Equal for keys with equal scores.
std::pair<Q, Q> exact_score(const Row& r, Int key) {
  const Q& a = r.dots.at(key);
  const Q b = r.added.at(key) - r.away.at(key);
  if (r.exact_scale && r.softcap == 0) return {0, Q(a * *r.exact_scale + b)};
  return {a, b};
}

// The places of equal things, where they are two or more.
template <class Thing>
std::vector<Places> same(const std::vector<Thing>& things) {
  std::map<Thing, Places> places;
  for (std::size_t k = 0; k < things.size(); ++k) places[things[k]].push_back(k);
  std::vector<Places> result;
  for (const auto& [thing, equal] : places) {
    if (equal.size() > 1) result.push_back(equal);
  }
  return result;
}

void find_alike(Row& r) {
  std::vector<std::pair<Q, Q>> scores(r.s.size());
  std::vector<Vector> keys;
  for (std::size_t k = 0; k < r.visible.size(); ++k) {
    scores[k] = exact_score(r, r.visible[k]);
    keys.push_back(*r.keys[k]);
  }
  r.alike = same(scores);
  r.copies = same(keys);
  std::erase_if(r.copies, [&r](const Places& equal) {
    return std::ranges::find(r.alike, equal) != r.alike.end();
  });
  r.more_weights = 0;
  for (const Places& equal : r.alike) r.more_weights += Q(equal.size() * equal.size());
}

// The values of keys with equal scores, together; a sink is one more key, of value 0.
std::vector<Vector> groups_of(const Row& r, const Vector& values) {
  std::map<std::pair<Q, Q>, Vector> groups;
  for (std::size_t k = 0; k < r.visible.size(); ++k) {
    groups[exact_score(r, r.visible[k])].push_back(values[k]);
  }
  if (r.sink) groups[{0, *r.sink}].push_back(0);
  std::vector<Vector> result;
  for (const auto& [score, group] : groups) result.push_back(group);
  return result;
}

// The exact output, if it is seen to be rational: all groups have the same mean.
std::optional<Q> rational_output(const Row& r, const Vector& values) {
  std::set<Q> means;
  for (const Vector& group : groups_of(r, values)) {
    Q sum = 0;
    for (const Q& x : group) sum += x;
    means.insert(sum / Q(static_cast<long>(group.size())));
  }
  return means.size() == 1 ? std::optional(*means.begin()) : std::nullopt;
}

// ---- What a model allows --------------------------------------------------------------------

struct Bounds {
  I likely;
  std::optional<I> worst;  // none: nothing bounds it
};

I stored(const Model& m, const I& x) {
  return largest(I(m.ro) * x, I(m.to));
}
I lost(const I& term, const I& unit, int gone) {
  return largest(0, least(least(term, unit), I(gone) * unit - term));
}
I coherence(const I& spacing, const I& deviation) {
  const I larger = largest(spacing, deviation);
  return larger.lo > 0 ? spacing / larger : I(0, Z(1) << P);
}
I grown(const Q& u, Int n) {
  return power(I(Q(1 + u)), n);
}

I score_variance(const Model& m, const Row& r, std::size_t k) {
  const Q dk = r.key_size;
  const I raw2 = square(r.raw[k]);
  I result = I(m.u * m.u) * (I(dk / 6 + Q(2, 3)) * r.products[k] + I(dk / 9) * raw2) +
             I(Q(2, 3)) * (I(m.x * m.x) * r.products[k] + I(m.q * m.q) * raw2);
  if (!r.plain) {
    result += I(m.u * m.u / 3) * (I(4) * square(r.s[k]) + raw2 + I(2 * r.both[k] * r.both[k]));
  }
  return result;
}
I later(const Model& m) {
  return grown(m.u, 6) * grown(m.q, 2);
}
I score_underflow(const Model& m, const Row& r, std::size_t k) {
  const I root = sqrt(I(Q(r.key_size)));
  const I tiny = I(m.ti) * largest(1, r.scale) * (root * (root + r.q2 + r.k2[k]) + 2);
  return r.plain ? tiny : later(m) * tiny + I(6 * m.ti) * largest(1, I(r.cap));
}
I score_error(const Model& m, const Row& r, std::size_t k) {
  const I factor = grown(m.twice, r.key_size + 6) * grown(m.q, 2) * grown(m.x, 2);
  const I error = (factor - 1) * r.scale * r.q2 * r.k2[k] + factor * score_underflow(m, r, k);
  if (r.plain) return error;
  return later(m) * error + (later(m) - 1) * (abs(r.s[k]) + abs(r.raw[k]) + I(r.both[k]));
}
Bounds score_bounds(const Model& m, const Row& r, std::size_t k) {
  const I raw = abs(r.raw[k]), s = abs(r.s[k]), moved = score_error(m, r, k);
  I likely = I(6) * sqrt(score_variance(m, r, k)) + I(2 * m.u) * raw + score_underflow(m, r, k) +
             stored(m, s);
  if (m.at_once > 0) likely += I(m.u * r.key_size / m.at_once) * (raw + sqrt(r.products[k]));
  return {likely, moved + stored(m, s + moved)};
}

// The mean and the standard deviation of xs under weights.
std::pair<I, I> spread(const Balls& weights, const Balls& xs) {
  I whole, mean, variance;
  for (std::size_t k = 0; k < xs.size(); ++k) whole += weights[k];
  for (std::size_t k = 0; k < xs.size(); ++k) mean += weights[k] * xs[k];
  mean = mean / whole;
  for (std::size_t k = 0; k < xs.size(); ++k) variance += weights[k] * square(xs[k] - mean);
  return {mean, sqrt(variance / whole)};
}

void derive_worst(const Model& m, Row& r) {
  I moved, far, high;
  for (std::size_t k = 0; k < r.s.size(); ++k) moved = largest(moved, score_error(m, r, k));
  for (const I& s : r.all) {
    far = largest(far, abs(s - r.top));
    high = largest(high, abs(s));
  }
  const I terms = log(I(Q(static_cast<long>(r.s.size() + 1))));
  const auto n = static_cast<Int>(r.all.size());
  r.exponent = moved + I(4 * m.u) * (far + I(3) * moved + high + terms + 1);
  r.bounded = r.exponent.lo < Z(3000) << P;  // t_i >= 2^-1022, times exp(2 E), is more than 1
  if (!r.bounded) return;
  const I above = exp(r.exponent) * grown(4 * m.u, n + 2) * grown(m.p, 1);
  r.alpha = above * grown(m.twice, 2 * n + 4) * grown(m.v, 1) - 1;
  r.beta = above * grown(m.u, 2 * n + 4) - 1;
  r.tiny = I(Q(n)) * above * (I(1) + largest(r.alpha, r.beta));
  r.at_least = exp(-r.exponent) * grown(-4 * m.u, n + 2) * grown(-m.p, 1) * grown(-m.u, 2 * n + 4) -
               r.tiny * I(4 * m.ti + m.tp);
  r.bounded = !at_most(r.at_least, Q(0));
}

// What the bounds of a row's elements have in common.
void derive(const Model& m, Row& r) {
  const std::size_t n = r.s.size();
  find_alike(r);
  const Balls w(r.w.begin(), r.w.begin() + static_cast<std::ptrdiff_t>(n));
  const I third = Q(m.u * m.u / 3);
  I top_weak, squares;
  r.lost_weights = 0;
  for (std::size_t k = 0; k < n; ++k) {
    r.variance.push_back(score_variance(m, r, k) +
                         third * (square(r.raw[k]) + square(r.s[k] - r.top) + 4));
    r.weighted.push_back(square(w[k]) * r.variance[k]);
    const I share = largest(0, least(1, I(2) - w[k] * I(Q(static_cast<long>(n)) / 8)));
    r.weak.push_back(share * w[k]);
    top_weak = largest(top_weak, share * abs(r.s[k]));
    squares += square(w[k]);
    r.lost_weights += lost(w[k], m.u, 5);
  }
  r.sink_variance = 0;
  if (r.sink) {
    r.sink_variance = square(r.w[n]) * third * (square(r.all[n]) + square(r.all[n] - r.top) + 4);
  }
  r.deviation = spread(r.w, r.all).second;
  const auto [weak_mean, weak_deviation] = spread(r.weak, r.s);
  r.weak_mean = weak_mean;
  const I count = Q(static_cast<long>(n));
  r.equal = coherence(m.p, spread(w, r.s).second);
  r.weak_equal = coherence(m.p, weak_deviation);
  r.stalled = coherence(I(2 * m.u), sqrt(squares / count - square(sum(w) / count)));
  r.stored_equal = m.q > 0 ? coherence(I(2 * m.q) * top_weak, weak_deviation) : I(0);
  r.tp = m.scaled ? I(m.tp) / r.total : I(m.tp);
  derive_worst(m, r);
}

I sum_of(const Balls& xs, const Places& some) {
  I result;
  for (const std::size_t k : some) result += xs[k];
  return result;
}

// The variance of errors that keys have in common, where each moves the result by x_k of its own.
I together(const Row& r, const Balls& x) {
  I result;
  for (const auto* classes : {&r.alike, &r.copies}) {
    for (const Places& equal : *classes) {
      I variance;
      for (const std::size_t k : equal) variance = largest(variance, r.variance[k]);
      result += variance * square(sum_of(x, equal));
    }
  }
  return result;
}

// scale^2 sum_t q_t^2 Cov_w(k_t, v)^2
I query_covariance(const Row& r, const Balls& wv) {
  I result;
  for (std::size_t t = 0; t < r.query.size(); ++t) {
    I mean, covariance;
    for (std::size_t k = 0; k < wv.size(); ++k) mean += r.w[k] * I((*r.keys[k])[t]);
    for (std::size_t k = 0; k < wv.size(); ++k) covariance += wv[k] * (I((*r.keys[k])[t]) - mean);
    result += square(I(r.query[t]) * covariance);
  }
  return square(r.scale) * result;
}

// likely and worst of docs/tolerance.md; v: values of the keys, o: the exact output.
Bounds column_bounds(const Model& m, const Row& r, const Vector& v, const I& o) {
  const std::size_t n = v.size();
  const I a = abs(o), count = Q(static_cast<long>(n));
  Balls wv, values, away;
  I spread_sum, squares, weak, scored, gone_format, mean;
  Q plain, plain_squares, peak;
  for (std::size_t k = 0; k < n; ++k) {
    values.push_back(v[k]);
    wv.push_back(r.w[k] * values[k]);
    away.push_back(r.w[k] * (values[k] - o));
    spread_sum += r.weighted[k] * square(values[k] - o);
    squares += square(wv[k]);
    weak += r.weak[k] * values[k];
    if (m.q > 0) scored += r.weak[k] * values[k] * (r.s[k] - r.weak_mean);
    if (m.tp >= power_of_two(-100)) gone_format += lost(r.w[k], r.tp, 9) * abs(values[k]);
    mean += abs(wv[k]);
    plain += v[k];
    plain_squares += v[k] * v[k];
    peak = std::max(peak, Q(::abs(v[k])));
  }
  if (r.sink) values.push_back(0);
  const I value_deviation = spread(r.w, values).second, accumulated = a + sqrt(squares);
  const Q u2 = m.u * m.u, ti2 = m.ti * m.ti;
  I common_weights, common_values;
  for (const Places& equal : r.alike) common_weights += square(sum_of(wv, equal));
  for (const Places& equal : same(v)) common_values += square(sum_of(wv, equal));
  I variance =
      spread_sum + together(r, away) + I(m.p * m.p / 3) * common_weights +
      I(m.v * m.v / 3) * common_values + r.sink_variance * square(o) +
      (I((m.p * m.p + m.v * m.v) / 3) + I(u2 / 6) * count + I(u2 * r.more_weights / 24)) * squares +
      (I(2 * u2 / 9) * count + I(2 * u2 * r.more_weights / 45)) * square(o) +
      (square(r.tp) + I(ti2)) * I(plain_squares / 3) + I(2 * ti2 / 3) * count * (I(1) + square(o));
  if (m.x > 0) variance += I(m.x * m.x / 3) * query_covariance(r, wv);
  const I drift = coherence(I(2 * m.u) * a, sqrt(squares / count - square(sum(wv) / count)));
  I likely = I(6) * sqrt(variance) + stored(m, a) + I(2 * m.u) * r.deviation * value_deviation +
             largest(r.equal * (I(m.p) * a + r.tp * I(Q(::abs(plain)))),
                     r.weak_equal * I(m.p) * abs(weak)) +
             I(m.v) * a * coherence(I(2 * m.v) * a, value_deviation) +
             r.stored_equal * abs(scored) + count * I(m.u / 2) * a * (r.stalled + drift) +
             a * r.lost_weights + gone_format;
  for (const I& x : wv) likely += lost(abs(x), I(m.u) * accumulated, 5);
  if (m.at_once > 0) {
    likely += I(m.u / m.at_once) *
              (count * accumulated + I(Q(r.key_size)) * r.deviation * value_deviation);
  }
  if (!r.bounded) return {likely, std::nullopt};
  const I gone = r.tiny * (I((2 * m.ti + m.tp) * peak + 2 * m.ti) + I(4 * m.ti + m.tp) * a);
  const I moved = (r.alpha * mean + r.beta * a + gone) / r.at_least;
  return {likely, moved + stored(m, a + moved)};
}

// Of a weight, or of lse: the errors of all numerators meet in the denominator.
Bounds weight_bounds(const Model& m, const Row& r, std::size_t k, const I& o, bool of_lse) {
  const auto n = static_cast<Int>(r.all.size());
  const I log_total = log(r.total), more = Q(static_cast<long>(r.s.size() + 1));
  I mean, products;
  for (std::size_t j = 0; j < r.all.size(); ++j) mean += r.w[j] * r.all[j];
  for (std::size_t j = 0; j < r.s.size(); ++j) products += r.w[j] * r.products[j];
  I variance = sum(r.weighted) + together(r, r.w) + r.sink_variance + I(m.x * m.x / 3) * products +
               I(m.u * m.u / 9) * more + I(m.u * m.u * r.more_weights / 45);
  const I shared = I(Q(static_cast<long>(r.s.size())) * m.u / 2) * r.stalled + r.lost_weights +
                   I(2 * m.q) * r.stored_equal * abs(mean);
  const I exponent = r.exponent + I(m.u) * (abs(r.top) + I(2) * log_total);
  const I above = exp(exponent) * grown(m.u, 4 + 4 * n);
  const I below = exp(-exponent) * grown(-m.u, 4 + 4 * n) * grown(-m.u, 2 * n + 2);
  if (of_lse) {
    const I rounding = I(m.u) * (I(2) * abs(r.top) + I(6) * abs(log_total) + abs(o));
    const I gone = (more + 1) * I(m.ti), moved = abs(log(below)) + rounding;
    return {I(6) * sqrt(variance) + I(3 * m.u) * abs(mean) + shared + rounding + stored(m, abs(o)) +
                gone,
            moved + stored(m, abs(o) + moved) + gone};
  }
  const I w = r.w[k], gone = I(2 * (m.tp + m.ti));
  variance += square(I(1) - w) * r.variance[k] + I((m.p * m.p + m.u * m.u) / 3);
  const I relative = above * grown(m.p, 1) * grown(m.u, 2) / below - 1;
  return {
      w * (I(6) * sqrt(variance) + I(3 * m.u) * abs(r.s[k] - mean) + shared) + stored(m, w) + gone,
      w * relative + stored(m, w * (I(1) + relative)) + gone};
}

// ---- The declared rules ---------------------------------------------------------------------

const Format& type_of(const Json& types, const Text& name) {
  return format_of(types[name].str());
}

Int kv_head_of(const Json& contract, const Json& sizes, Int head) {
  const Json& map = contract["head_map"];
  const Int heads = sizes["q_heads"].integer(), kv_heads = sizes["kv_heads"].integer();
  if (map.kind == Json::list) {
    demand(static_cast<Int>(map.items.size()) == heads, "the head map has not one entry per head");
    return map.items[static_cast<std::size_t>(head)].integer();
  }
  demand(kv_heads > 0 && heads % kv_heads == 0, "the heads do not divide");
  if (map.str() == "interleaved") return head % kv_heads;
  demand(map.str() == "contiguous", "malformed: head_map");
  return head / (heads / kv_heads);
}

// Keys [begin, end) that causal, window and lengths allow, and the row's position.
struct Range {
  Int begin, end, position;
};
Range range_of(const Json& c, const Json& sizes, const Json& row) {
  const Int keys = sizes["keys"].integer(), past = sizes["past"].integer();
  const Json* given = row.find("length");
  const Int length = given != nullptr ? given->integer() : keys;
  demand(length >= 0 && length <= keys, "the length is outside the history");
  const Int under = length - sizes["queries"].integer();
  const Text alignment = c["causal_alignment"].str();
  Int offset = 0;
  if (alignment == "bottom_right") {
    offset = under;
  } else if (alignment == "onnx") {
    offset = past > 0 ? past : given != nullptr ? under : 0;
  } else {
    demand(alignment == "top_left", "malformed: causal_alignment");
  }
  Range range{0, length, row["row"].integer() + offset};
  const auto& window = c["window"].items;
  demand(window.size() == 2, "malformed: window");
  // Wider than all rows and keys hides nothing.
  const Int wide = sizes["queries"].integer() + keys;
  const Int left = std::min(window[0].integer(), wide), right = std::min(window[1].integer(), wide);
  if (c["causal"].flag()) range.end = std::min(range.end, range.position + 1);
  if (left >= 0) range.begin = std::max(Int{0}, range.position - left);
  if (right >= 0) range.end = std::min(range.end, range.position + right + 1);
  return range;
}

// What the mask says of each key of the range: hidden keys are left out.
std::map<Int, Value> mask_of(const Json& types, const Json& row, const Range& range) {
  std::map<Int, Value> seen;
  const Json* type = types.find("attn_mask");
  const std::vector<Text> entries =
      row.find("mask") != nullptr ? words_of(row["mask"].str()) : std::vector<Text>();
  const Int count = std::max(Int{0}, range.end - range.begin);
  demand(static_cast<Int>(entries.size()) == (type != nullptr ? count : 0),
         "the mask has not one entry for each key that the other rules allow");
  for (Int j = range.begin; j < range.end; ++j) {
    Value bias;
    if (type != nullptr) {
      const Text& entry = entries[static_cast<std::size_t>(j - range.begin)];
      if (entry == "-") continue;  // beyond a short last axis
      if (type->str() == "bool") {
        if (entry.find_first_not_of('0') == Text::npos) continue;
      } else {
        bias = value_of(format_of(type->str()), entry);
        if (!bias.finite && !bias.nan && bias.sign < 0) continue;
      }
    }
    seen[j] = bias;
  }
  return seen;
}

bool read_vector(const Format& f, const Text& text, Int size, Vector& to) {
  bool finite = true;
  for (const Value& value : vector_of(f, text)) {
    finite = finite && value.finite;
    to.push_back(value.number);
  }
  demand(static_cast<Int>(to.size()) == size, "a vector has not the declared size");
  return finite;
}

void read_bias(Row& r, const Json& types, const Json& row, const std::map<Int, Value>& mask) {
  Value slope;
  const bool slopes = types.find("alibi_slopes") != nullptr;
  if (slopes) slope = value_of(type_of(types, "alibi_slopes"), row["slope"].str());
  const bool floats = types.find("attn_mask") != nullptr && types["attn_mask"].str() != "bool";
  r.biased = slopes || floats;
  r.twofold = slopes && floats;
  r.common_not_finite = !slope.finite;
  for (const auto& [j, bias] : mask) {
    if (!bias.finite) r.not_finite.insert(j);
    r.added[j] = bias.number;
    r.away[j] = slope.number * Q(static_cast<long>(std::abs(r.position - j)));
  }
  if (types.find("sink") == nullptr) return;
  const Value sink = value_of(type_of(types, "sink"), row["sink"].str());
  if (sink.finite) r.sink = sink.number;
  if (!sink.finite && (sink.nan || sink.sign > 0)) r.common_not_finite = true;
  r.sink_infinite = r.common_not_finite && !sink.finite && !sink.nan && sink.sign > 0;
}

// The exact operands of a row, and which keys it sees by the declared rules.
Row look(const Json& the_case, const Json& row) {
  const Json &c = the_case["contract"], &sizes = the_case["sizes"], &types = the_case["types"];
  const auto inside = [&](const Text& index, const Text& size) {
    return row[index].integer() >= 0 && row[index].integer() < sizes[size].integer();
  };
  demand(inside("batch", "batch") && inside("head", "q_heads") && inside("row", "queries"),
         "the row is outside the declared sizes");
  const Int kv_head = kv_head_of(c, sizes, row["head"].integer());
  demand(kv_head == row["kv_head"].integer(),
         "query head " + std::to_string(row["head"].integer()) + " reads KV head " +
             std::to_string(kv_head) + " by the declared map");
  demand((row.find("length") != nullptr) == (types.find("nonpad_kv_seqlen") != nullptr),
         "nonpad_kv_seqlen is there, or is not");
  const Range range = range_of(c, sizes, row);
  Row r;
  r.position = range.position;
  const auto mask = mask_of(types, row, range);
  for (const auto& [j, bias] : mask) r.visible.push_back(j);
  std::vector<Int> said;
  for (const Json& j : row["visible"].items) said.push_back(j.integer());
  demand(said == r.visible,
         "these keys are not those that causal, window, lengths and mask leave visible");
  read_bias(r, types, row, mask);
  r.key_size = sizes["key_size"].integer();
  bool query_finite = read_vector(type_of(types, "query"), row["query"].str(), r.key_size, r.query);
  for (const auto& [name, text] : row["keys"].fields) {
    const Int j = std::stoll(name);
    const bool past = j < sizes["past"].integer();
    const bool finite = read_vector(type_of(types, past ? "past_key" : "key"), text.str(),
                                    r.key_size, r.vectors[j]);
    if (finite && query_finite) r.dots[j] = dot(r.query, r.vectors[j]);
  }
  const Text scale = c["scale"].str();
  const Z root = ::sqrt(Z(r.key_size));
  if (scale != "default") r.exact_scale = fraction_of(scale);
  if (scale == "default" && root * root == r.key_size) r.exact_scale = Q(1) / Q(root);
  r.softcap = fraction_of(c["softcap"].str());
  return r;
}

// ---- Deciding -------------------------------------------------------------------------------

using Verdict = std::pair<Text, Text>;  // the decision and how it is known
const Verdict within{"within", "none"}, proved{"violation", "proved"};

Q ulp(const Format& f, const Real& x) {
  const auto binade = [&f](const Q& y) {
    if (y == 0) return static_cast<long>(f.lowest);
    const auto bits = [](const Z& z) {
      return static_cast<long>(mpz_sizeinbase(z.get_mpz_t(), 2));
    };
    const long e = bits(y.get_num()) - bits(y.get_den());
    return std::max(static_cast<long>(f.lowest), y >= power_of_two(e) ? e : e - 1);
  };
  const Real a = magnitude(x);
  const long low = binade(a.exact ? *a.exact : std::max(Q(0), low_end(a.range)));
  const long high = binade(a.exact ? *a.exact : high_end(a.range));
  if (low != high) throw Open();
  return power_of_two(low - f.digits + 1);
}

struct Number {  // an element that is a number
  Real exact;
  Q size;  // of the terms that it is made of
  std::optional<Bounds> bounds;
};

std::optional<I> allowance_of(const Bounds& bounds, bool accept) {
  if (accept) return bounds.worst;
  return bounds.worst ? least(bounds.likely, *bounds.worst) : bounds.likely;
}

// The answer of a model: within what is likely and possible.
Verdict by_bounds(const Bounds& bounds, bool accept, std::optional<bool> otherwise,
                  const std::function<bool(const I&)>& test) {
  const std::optional<bool> possible = bounds.worst ? test(*bounds.worst) : otherwise;
  if (possible && !*possible) return proved;
  if (accept) return possible || test(bounds.likely) ? within : Verdict{"undecided", "none"};
  return test(bounds.likely) ? within : Verdict{"violation", "statistical"};
}

Verdict judge(const Format& f, const Value& got, const Number& n, const Json& tolerance,
              const Real& allowed) {
  const Real& o = n.exact;
  const bool accept = n.bounds && tolerance["accept"].str() == "worst-case";
  if (got.nan && f.infinite) return proved;
  // May what was computed have rounded to `got`, which is beyond the largest number?
  const auto reaches = [&](const I& moved) {
    if (!got.nan) {
      const Real along = o.exact ? Real(Q(*o.exact * got.sign)) : Real(o.range * I(got.sign));
      if (at_most(along, Q(0))) return false;
    }
    const Q edge = f.maximum() + power_of_two(f.highest - f.digits);
    return at_most(edge, I(magnitude(o).range + moved));
  };
  if (!got.finite || ::abs(got.number) >= f.maximum()) {
    Verdict answer = within;
    if (n.bounds) {
      const auto otherwise =
          n.bounds->worst ? std::nullopt : std::optional(reaches(n.bounds->likely));
      answer = by_bounds(*n.bounds, accept, otherwise, reaches);
    } else if (!got.finite) {
      answer = reaches(0) ? within : proved;
    }
    if (!got.finite || (n.bounds && answer == within)) return answer;
  }
  const Real error =
      o.exact ? Real(Q(::abs(got.number - *o.exact))) : Real(abs(I(got.number) - o.range));
  if (!n.bounds) return at_most(error, allowed) ? within : proved;
  return by_bounds(*n.bounds, accept, std::nullopt,
                   [&error](const I& bound) { return at_most(error, bound); });
}

Real stated_allowance(const Json& tolerance, const Format& f, const Real& o) {
  if (tolerance["kind"].str() == "ulp") {
    return Q(fraction_of(tolerance["max_ulp"].str()) * ulp(f, o));
  }
  demand(tolerance["kind"].str() == "absolute_relative", "malformed: tolerance");
  const Q a = fraction_of(tolerance["atol"].str()), b = fraction_of(tolerance["rtol"].str());
  if (o.exact) return Q(a + b * ::abs(*o.exact));
  return I(a) + I(b) * abs(o.range);
}

// ---- One element ----------------------------------------------------------------------------

Text decimal(const Q& q) {
  std::ostringstream stream;
  stream.precision(6);
  stream << q.get_d();
  return stream.str();
}

// What the witness says of a number must enclose it, as tightly as `width`.
void agree(const Text& what, const std::optional<I>& own, const Json& said, const Q& width) {
  const bool bounded =
      said.kind == Json::list && said.items.size() == 2 && said.items[1].str() != "inf";
  demand(bounded == own.has_value(), what + ": bounded or not?");
  if (!bounded) return;
  const Q low = dyadic(said.items[0].str()), high = dyadic(said.items[1].str());
  if (high_end(*own) - low_end(*own) > width) throw Open();
  demand(low <= high && high - low <= width && low - width <= high_end(*own) &&
             low_end(*own) <= high + width,
         what + " is " + decimal(high_end(*own)) + ", the witness says " + decimal(low) + " to " +
             decimal(high));
}

Number score_number(Row& r, const Model* m, Int j, int stage) {
  enclose(r, {j}, stage);
  const bool capped = r.cap != 0, biased = stage > 1 && r.biased;
  const Q bias = biased ? Q(r.added.at(j) - r.away.at(j)) : Q(0);
  Number n{r.s[0], 1, std::nullopt};
  const Q& product = r.dots.at(j);
  if (product == 0 || (r.exact_scale && !capped)) {
    n.exact = Q(product * r.exact_scale.value_or(0) + bias);
  }
  for (std::size_t t = 0; t < r.query.size(); ++t) {
    n.size += ::abs(r.query[t] * r.vectors.at(j)[t]);
  }
  if (biased) n.size += ::abs(r.added.at(j)) + ::abs(r.away.at(j));
  if (m != nullptr) n.bounds = score_bounds(*m, r, 0);
  return n;
}

// A row that sees no key and must hold the mean: a softmax of equal scores over all keys.
void make_equal(Row& r, Int keys) {
  const auto n = static_cast<std::size_t>(keys);
  r.raw = r.s = r.k2 = r.products = Balls(n, I(0));
  r.both = Vector(n, 0);
  r.query = {};
  static const Vector none;
  r.keys.assign(n, &none);
  r.key_size = 0;
  r.scale = r.q2 = 0;
  r.cap = 0;
  r.plain = true;
  r.sink.reset();
}

Q size_of(const Vector& values) {
  Q size = 0;
  for (const Q& v : values) size = std::max(size, Q(::abs(v)));
  return size;
}

Number output_number(Row& r, const Model* m, const Vector& values) {
  Number n{Q(0), size_of(values), std::nullopt};
  std::optional<Q> exact;
  if (r.visible.empty()) {
    Q sum = 0;
    for (const Q& v : values) sum += v;
    exact = sum / Q(static_cast<long>(values.size()));
  } else {
    exact = rational_output(r, values);
  }
  I mean;
  for (std::size_t k = 0; k < values.size(); ++k) mean += r.w[k] * I(values[k]);
  n.exact = exact ? Real(*exact) : Real(mean);
  if (m != nullptr) n.bounds = column_bounds(*m, r, values, n.exact.range);
  return n;
}

Number weight_number(Row& r, const Model* m, Int column) {
  const auto at = std::ranges::find(r.visible, column);
  const auto k = static_cast<std::size_t>(at == r.visible.end() ? 0 : at - r.visible.begin());
  Number n{r.w[k], 1, std::nullopt};
  const bool equal = r.visible.empty() || groups_of(r, Vector(r.visible.size(), 0)).size() == 1;
  if (equal) n.exact = Q(Q(1) / Q(static_cast<long>(r.all.size())));
  if (m != nullptr) n.bounds = weight_bounds(*m, r, k, n.exact.range, false);
  return n;
}

Number lse_number(Row& r, const Model* m) {
  Number n{r.lse, 1 + high_end(abs(r.top)), std::nullopt};
  if (m != nullptr) n.bounds = weight_bounds(*m, r, 0, r.lse, true);
  if (r.all.size() == 1) n.exact = score_number(r, nullptr, r.visible[0], 2).exact;
  return n;
}

Number number_of(const Json& sizes, const Json& out, Row r, const Model* m, Int column,
                 const Vector& values) {
  const Text name = out["name"].str();
  const Int mode = name == "qk_matmul_output" ? out["mode"].integer() : 3;
  if (mode < 3) return score_number(r, m, column, static_cast<int>(mode));
  const auto nothing = m != nullptr ? std::optional(Bounds{0, I(0)}) : std::nullopt;
  if (r.visible.empty() && name == "lse") {
    const Q a = ::abs(*r.sink);
    Number n{*r.sink, a + 1, nothing};  // as the maximum it may pass through base 2, and is rounded
    if (m != nullptr) n.bounds = {I((3 * m->u + m->ro) * a), I(2 * (3 * m->u + m->ro) * a)};
    return n;
  }
  const bool seen = std::ranges::find(r.visible, column) != r.visible.end();
  if (name == "qk_matmul_output" && !r.visible.empty() && !seen) return {Q(0), 1, nothing};
  if (r.visible.empty()) {
    make_equal(r, sizes["keys"].integer());
  } else {
    enclose(r, r.visible, 2);
  }
  weigh(r);
  if (m != nullptr) derive(*m, r);
  if (name == "output") return output_number(r, m, values);
  return name == "lse" ? lse_number(r, m) : weight_number(r, m, column);
}

// What must be there where no number is asked for: 0, nan, -inf or anything; else empty.
Text demanded_of(const Json& the_case, const Json& out, const Row& r, Int column) {
  const Text name = out["name"].str();
  const Int mode = name == "qk_matmul_output" ? out["mode"].integer() : 3;
  const bool seen = r.added.count(column) > 0;
  if (mode < 3) {
    if (mode == 2 && !seen) return "-inf";
    return seen || r.dots.count(column) > 0 ? "" : "anything";
  }
  if (!r.visible.empty()) return "";
  if (name == "lse") return r.sink ? "" : r.sink_infinite ? "inf" : "-inf";
  const Text policy = r.sink || r.sink_infinite ? "zero" : the_case["contract"]["empty_row"].str();
  if (policy == "zero") return "0";
  if (policy == "any") return "anything";
  return policy == "mean" ? "" : policy;
}

bool reads_finite(const Json& out, const Row& r, Int column, bool values_finite) {
  const bool scores = out["name"].str() == "qk_matmul_output" && out["mode"].integer() < 3;
  const bool biased = !scores || out["mode"].integer() == 2;
  for (const Int j : scores ? std::vector<Int>{column} : r.visible) {
    if (r.dots.count(j) == 0 || (biased && r.not_finite.count(j) > 0)) return false;
  }
  return values_finite && !(biased && r.common_not_finite);
}

// The values that the element states; false if one is not finite.
bool read_values(const Json& the_case, const Row& r, const Json& e, Vector& values) {
  const Json* text = e.find("values");
  if (text == nullptr) return true;
  const std::vector<Text> words = words_of(text->str());
  const std::size_t expected = r.visible.empty()
                                   ? static_cast<std::size_t>(the_case["sizes"]["keys"].integer())
                                   : r.visible.size();
  demand(words.size() == expected, "there is not one value for each key");
  bool finite = true;
  for (std::size_t k = 0; k < words.size(); ++k) {
    const Int j = r.visible.empty() ? static_cast<Int>(k) : r.visible[k];
    const bool past = j < the_case["sizes"]["past"].integer();
    const Value v = value_of(type_of(the_case["types"], past ? "past_value" : "value"), words[k]);
    finite = finite && v.finite;
    values.push_back(v.number);
  }
  return finite;
}

// Decides the element at P bits and compares.
Text check_number(const Json& the_case, const Json& out, const Row& r, const Json& e,
                  const Vector& values) {
  const Format& f = format_of(out["format"].str());
  const Json& tolerance = out["tolerance"];
  const Value got = value_of(f, e["output"].str());
  std::optional<Model> m;
  if (tolerance["kind"].str() == "model") m = model_of(tolerance, f);
  const Number n =
      number_of(the_case["sizes"], out, r, m ? &*m : nullptr, e["column"].integer(), values);
  std::optional<I> allowed;
  if (m) {
    allowed = allowance_of(*n.bounds, tolerance["accept"].str() == "worst-case");
  } else {
    allowed = stated_allowance(tolerance, f, n.exact).range;
  }
  const Real stated = m ? Real(Q(0)) : stated_allowance(tolerance, f, n.exact);
  const Verdict found = judge(f, got, n, tolerance, stated);
  const Q width = n.size * power_of_two(-64);
  agree("the exact value", n.exact.range, e["reference"], width);
  const I error = abs(I(got.number) - n.exact.range);
  if (got.finite) agree("the error", error, e["error"], width);
  const auto near = [](const std::optional<I>& x) {
    return x ? Q(high_end(*x) * power_of_two(-30)) : Q(0);
  };
  agree("the allowance", allowed, e["allowed"], near(allowed));
  if (m) {
    agree("the likely bound", n.bounds->likely, e["likely"], near(n.bounds->likely));
    agree("the worst case", n.bounds->worst, e["worst"], near(n.bounds->worst));
  }
  demand(Verdict(e["verdict"].str(), e["strength"].str()) == found,
         "the verdict is " + found.first + " (" + found.second + ")");
  return found.first + " (" + found.second + "): off by " +
         (got.finite ? decimal(high_end(error)) : "what is no number") + ", allowed " +
         (allowed ? decimal(high_end(*allowed)) : "anything");
}

Text check(const Json& the_case, const Json& out, const Json& row, const Json& e) {
  const Verdict said(e["verdict"].str(), e["strength"].str());
  if (out["name"].str().starts_with("present")) {
    demand(said == (e["output"].str() == e["values"].str() ? within : proved),
           "the bits are equal, or are not");
    return said.first;
  }
  const Row r = look(the_case, row);
  const Int column = e["column"].integer();
  const Value got = value_of(format_of(out["format"].str()), e["output"].str());
  const Text must = demanded_of(the_case, out, r, column);
  const Json* stated = e.find("demanded");
  demand((stated != nullptr ? stated->str() : "") == must, "what must be there is: " + must);
  if (!must.empty()) {
    const bool right = must == "anything" || (must == "nan" && got.nan) ||
                       (must == "0" && got.finite && got.number == 0) ||
                       (must == "-inf" && !got.finite && !got.nan && got.sign < 0) ||
                       (must == "inf" && !got.finite && !got.nan && got.sign > 0);
    demand(said == (right ? within : proved), "it must be " + must);
    return said.first + ": must be " + must;
  }
  Vector values;
  const bool values_finite = read_values(the_case, r, e, values);
  demand(out["name"].str() != "output" || !values.empty(), "there are no values");
  if (!reads_finite(out, r, column, values_finite)) {
    demand(said == Verdict("undecided", "none"), "what is read is not finite");
    return "undecided: an operand is not finite";
  }
  for (P = 256; P <= 8192; P *= 2) {
    try {
      return check_number(the_case, out, r, e, values);
    } catch (const Open&) {  // more bits
    }
  }
  throw Rejected("cannot be decided with 8192 bits");
}

// ---- The recording --------------------------------------------------------------------------

struct Tensor {
  Text type;
  std::vector<Int> shape;
  std::size_t width = 0;  // bytes of an element
  Text data;
};
using Recording = std::map<Text, Tensor>;

Text whole_file(const Text& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) throw std::runtime_error("cannot be read");
  return {std::istreambuf_iterator<char>(file), {}};
}

// huggingface.co/docs/safetensors: a length of 8 bytes, a header in JSON, the tensors.
Recording read_recording(const Text& path) {
  static const std::map<Text, std::pair<Text, std::size_t>> types{{"F64", {"binary64", 8}},
                                                                  {"F32", {"binary32", 4}},
                                                                  {"F16", {"binary16", 2}},
                                                                  {"BF16", {"bfloat16", 2}},
                                                                  {"BOOL", {"bool", 1}},
                                                                  {"F8_E4M3", {"float8_e4m3fn", 1}},
                                                                  {"F8_E5M2", {"float8_e5m2", 1}},
                                                                  {"I32", {"int32", 4}},
                                                                  {"I64", {"int64", 8}},
                                                                  {"I8", {"int8", 1}},
                                                                  {"U8", {"uint8", 1}}};
  static const std::map<Text, Text> long_names{
      {"q", "query"}, {"k", "key"}, {"v", "value"}, {"o", "output"}};
  const Text file = whole_file(path);
  std::uint64_t length = 0;
  if (file.size() < 8) throw std::runtime_error("is no safetensors file");
  std::memcpy(&length, file.data(), 8);
  if (length > file.size() - 8) throw std::runtime_error("is no safetensors file");
  const Text header = file.substr(8, length);
  Recording recording;
  for (const auto& [name, entry] : Reader(header).all().fields) {
    if (name == "__metadata__") continue;
    const auto& offsets = entry["data_offsets"].items;
    const auto begin = static_cast<std::size_t>(offsets.at(0).integer());
    const auto end = static_cast<std::size_t>(offsets.at(1).integer());
    if (begin > end || end > file.size() - 8 - length) throw std::runtime_error("is cut short");
    const auto& [type, width] = types.at(entry["dtype"].str());
    Tensor tensor{type, {}, width, file.substr(8 + length + begin, end - begin)};
    for (const Json& extent : entry["shape"].items) tensor.shape.push_back(extent.integer());
    const auto found = long_names.find(name);
    recording[found == long_names.end() ? name : found->second] = std::move(tensor);
  }
  return recording;
}

// An element by the letters of its axes: B batch, H head, S position, D element.
using Place = std::map<char, Int>;
struct View {
  const Tensor* tensor;
  Text axes;
  std::vector<Int> shape;

  std::uint64_t bits(const Place& place) const {
    std::size_t n = 0;
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
      const Int at = shape[axis] == 1 ? 0 : place.at(axes[axis]);
      demand(at >= 0 && at < shape[axis], "the recording has no such element");
      n = n * static_cast<std::size_t>(shape[axis]) + static_cast<std::size_t>(at);
    }
    std::uint64_t result = 0;
    demand((n + 1) * tensor->width <= tensor->data.size(), "the recording has no such element");
    std::memcpy(&result, tensor->data.data() + n * tensor->width, tensor->width);
    return result;
  }
  Int extent(char axis) const {
    const std::size_t at = axes.find(axis);
    return at == Text::npos ? 1 : shape[at];
  }
};
View view_of(const Recording& recording, const Text& name, Text axes, Int heads = 0) {
  const auto found = recording.find(name);
  demand(found != recording.end(), "the recording has no " + name);
  std::vector<Int> shape = found->second.shape;
  if (axes == "BSH") {  // heads folded into the last axis
    demand(shape.size() == 3 && heads > 0, "the recording's " + name + " has another layout");
    axes = "BSHD";
    shape = {shape[0], shape[1], heads, shape[2] / heads};
  }
  if (axes == "THD") axes = "SHD";
  demand(axes.size() == shape.size(), "the recording's " + name + " has another layout");
  return {&found->second, axes, shape};
}

// Compares one case with the recording that it should be of.
class Comparison {
 public:
  Comparison(const Json& the_case, const Recording& recording)
      : case_(the_case), sizes_(the_case["sizes"]), recording_(recording) {
    layout_ = the_case["contract"]["layout"].str();
    past_ = sizes_["past"].integer();
    if (const Json* document = the_case.find("document")) cut(document->integer());
    demand_types();
    demand_sizes();
  }

  void compare(const Json& out, const Json& row) const {
    const Place at{
        {'B', row["batch"].integer()}, {'H', row["head"].integer()}, {'S', row["row"].integer()}};
    const Text name = out["name"].str();
    const bool cache = name.starts_with("present");
    if (!cache) compare_operands(row, at);
    for (const Json& e : row["elements"].items) {
      Place element = at;
      element['D'] = e["column"].integer();
      if (name == "output") element['S'] += first_query_;
      same(output_view(name), element, e["output"].str(), name);
      if (cache) {
        element['D'] = e["column"].integer();
        same_history(name.substr(8), element, e["values"].str());
      } else if (const Json* values = e.find("values")) {
        compare_values(row, words_of(values->str()), element);
      }
    }
  }

  // Are all numbers of an output those of the model's narrower format, as the witness says?
  void compare_narrow(const Json& out) const {
    const Json* tolerance = out.find("tolerance");
    if (tolerance == nullptr || (*tolerance)["kind"].str() != "model") return;
    const Tensor& tensor = recording_.at(out["name"].str());
    const Format& f = format_of(out["format"].str());
    const Q u = dyadic((*tolerance)["units"]["output"].str());
    bool narrow = f.roundoff() < u;
    for (std::size_t n = 0; narrow && n < tensor.data.size(); n += tensor.width) {
      std::uint64_t bits = 0;
      std::memcpy(&bits, tensor.data.data() + n, tensor.width);
      std::ostringstream word;
      word << std::hex << bits;
      const Value v = value_of(f, word.str());
      // A significand of p digits is an odd number below 2^p times a power of two.
      const Z numerator = v.number.get_num();
      if (!v.finite || numerator == 0) continue;
      const Z odd = numerator >> mpz_scan1(numerator.get_mpz_t(), 0);
      narrow = Q(::abs(odd)) * u < 1;
    }
    demand((*tolerance)["narrow"].flag() == narrow || case_.find("document") != nullptr,
           "narrow is not so");
  }

 private:
  void cut(Int document) {
    const auto offset = [&](const Text& name, Int n) {
      return static_cast<Int>(view_of(recording_, name, "S").bits({{'S', n}}));
    };
    const Text keys = recording_.count("cu_seqlens_k") > 0 ? "cu_seqlens_k" : "cu_seqlens_q";
    first_query_ = offset("cu_seqlens_q", document);
    first_key_ = offset(keys, document);
    queries_ = offset("cu_seqlens_q", document + 1) - first_query_;
    keys_ = offset(keys, document + 1) - first_key_;
    document_ = document;
  }
  // Neither has an operand that the other has not, and of the same type.
  void demand_types() const {
    const std::set<Text> operands{"query",       "key",       "value", "past_key",
                                  "past_value",  "attn_mask", "sink",  "nonpad_kv_seqlen",
                                  "alibi_slopes"};
    for (const Text& name : operands) {
      const Json* said = case_["types"].find(name);
      const auto found = recording_.find(name);
      demand((said != nullptr) == (found != recording_.end()) &&
                 (said == nullptr || said->str() == found->second.type),
             "the recording's " + name + " is another");
    }
  }
  void demand_sizes() const {
    const View q = operand("query"), k = operand("key"), v = operand("value");
    const Int queries = document_ ? queries_ : q.extent('S');
    const Int keys = (document_ ? keys_ : k.extent('S')) +
                     (past_ > 0 ? view_of(recording_, "past_key", "BHSD").extent('S') : 0);
    const std::vector<std::pair<Text, Int>> own{{"batch", q.extent('B')},
                                                {"q_heads", q.extent('H')},
                                                {"kv_heads", k.extent('H')},
                                                {"queries", queries},
                                                {"keys", keys},
                                                {"key_size", q.extent('D')},
                                                {"value_size", v.extent('D')}};
    for (const auto& [name, size] : own) {
      demand(sizes_[name].integer() == size, "the recording has another " + name);
    }
  }
  View operand(const Text& name) const {
    const bool of_query = name == "query" || name == "output";
    return view_of(recording_, name, layout_, sizes_[of_query ? "q_heads" : "kv_heads"].integer());
  }
  View output_view(const Text& name) const {
    if (name == "output") return operand(name);
    if (name != "lse") return view_of(recording_, name, "BHSD");
    demand(!document_, "lse of packed recordings is not compared");
    return view_of(recording_, name, "BHS");
  }
  void same(const View& view, const Place& place, const Text& word, const Text& what) const {
    demand(view.bits(place) == std::stoull(word, nullptr, 16),
           "the recording has other bits in " + what);
  }
  // Row S of key or value, past rows first.
  void same_history(const Text& name, Place place, const Text& word) const {
    const bool past = place['S'] < past_;
    place['S'] += past ? 0 : first_key_ - past_;
    same(past ? view_of(recording_, "past_" + name, "BHSD") : operand(name), place, word, name);
  }
  void same_vector(const Text& name, Place place, const Text& text) const {
    place['D'] = 0;
    for (const Text& word : words_of(text)) {
      if (name == "query") {
        same(operand(name), place, word, name);
      } else {
        same_history(name, place, word);
      }
      ++place['D'];
    }
  }
  void compare_operands(const Json& row, const Place& at) const {
    Place query = at;
    query['S'] += first_query_;
    same_vector("query", query, row["query"].str());
    Place key{{'B', at.at('B')}, {'H', row["kv_head"].integer()}};
    for (const auto& [j, text] : row["keys"].fields) {
      key['S'] = std::stoll(j);
      same_vector("key", key, text.str());
    }
    if (row.find("length") != nullptr) {
      demand(view_of(recording_, "nonpad_kv_seqlen", "B").bits(at) ==
                 static_cast<std::uint64_t>(row["length"].integer()),
             "the recording has another length");
    }
    if (row.find("sink") != nullptr) {
      same(view_of(recording_, "sink", "H"), at, row["sink"].str(), "sink");
    }
    if (row.find("slope") != nullptr) {
      const bool rows = recording_.at("alibi_slopes").shape.size() == 2;
      Place slope = at;
      if (document_) slope['B'] = *document_;
      same(view_of(recording_, "alibi_slopes", rows ? "BH" : "H"), slope, row["slope"].str(),
           "alibi_slopes");
    }
    if (row.find("mask") != nullptr) compare_mask(row, at);
  }
  void compare_mask(const Json& row, const Place& at) const {
    const std::size_t axes = recording_.at("attn_mask").shape.size();
    const View mask =
        view_of(recording_, "attn_mask", Text("BHSD").substr(4 - std::min<std::size_t>(axes, 4)));
    const Int last = mask.extent('D');
    Place place = at;
    place['D'] = range_of(case_["contract"], sizes_, row).begin;
    for (const Text& word : words_of(row["mask"].str())) {
      const bool ended = last != 1 && place['D'] >= last;
      demand(ended == (word == "-"), "the recording's mask ends elsewhere");
      if (!ended) same(mask, place, word, "attn_mask");
      ++place['D'];
    }
  }
  void compare_values(const Json& row, const std::vector<Text>& words, Place place) const {
    const auto& visible = row["visible"].items;
    place['H'] = row["kv_head"].integer();
    for (std::size_t k = 0; k < words.size(); ++k) {
      place['S'] = visible.empty() ? static_cast<Int>(k) : visible[k].integer();
      same_history("value", place, words[k]);
    }
  }

  const Json& case_;
  const Json& sizes_;
  const Recording& recording_;
  Text layout_;
  Int past_ = 0, first_query_ = 0, first_key_ = 0, queries_ = 0, keys_ = 0;
  std::optional<Int> document_;
};

// ---- The program ----------------------------------------------------------------------------

struct Report {
  std::map<Text, Int> counts{{"confirmed", 0}, {"REJECTED", 0}, {"not confirmed", 0}};
  void tell(const Text& word, const Text& place, const Text& text) {
    ++counts[word];
    std::cout << word << ": " << place << ": " << text << "\n";
  }
};

Text file_name(const Text& path) {
  const std::size_t slash = path.find_last_of('/');
  const Text name = slash == Text::npos ? path : path.substr(slash + 1);
  return name.substr(0, name.find(": document "));
}

void check_row(const Json& the_case, const Json& out, const Json& row, const Comparison* comparison,
               const Text& place, std::set<Text>& found, Report& report) {
  for (const Json& e : row["elements"].items) {
    const auto at = [&row](const char* name) { return std::to_string(row[name].integer()); };
    const Text where = place + "[" + at("batch") + "," + at("head") + "," + at("row") + "," +
                       std::to_string(e["column"].integer()) + "]";
    try {
      found.insert(e["verdict"].str());
      if (comparison != nullptr) comparison->compare(out, row);
      report.tell("confirmed", where, check(the_case, out, row, e));
    } catch (const std::logic_error& error) {  // of std::stoll and the like
      report.tell("REJECTED", where, Text("malformed: ") + error.what());
    } catch (const Rejected& lie) {
      report.tell("REJECTED", where, lie.what());
    }
  }
}

void check_case(const Json& the_case, const std::map<Text, Recording>& recordings, Report& report) {
  static const std::vector<Text> order{"error", "fail", "undecided", "pass"};
  const Text path = the_case["path"].str();
  const Json* outputs = the_case.find("outputs");
  if (outputs == nullptr) return report.tell("not confirmed", path, the_case["message"].str());
  std::optional<Comparison> comparison;
  if (!recordings.empty()) {
    const auto recording = recordings.find(file_name(path));
    if (recording == recordings.end()) return report.tell("not confirmed", path, "no recording");
    comparison.emplace(the_case, recording->second);
  }
  std::size_t worst = order.size();
  for (const Json& out : outputs->items) {
    const Text place = path + ": " + out["name"].str(), verdict = out["verdict"].str();
    std::set<Text> found;
    if (out.find("rows") != nullptr) {
      if (comparison) comparison->compare_narrow(out);
      for (const Json& row : out["rows"].items) {
        check_row(the_case, out, row, comparison ? &*comparison : nullptr, place, found, report);
      }
    }
    if (found.empty()) {
      report.tell("not confirmed", place, "no witness");
    } else if ((verdict == "fail") != (found.count("violation") > 0)) {
      report.tell("REJECTED", place, "the verdict " + verdict + " is not that of its elements");
    }
    const auto rank = std::ranges::find(order, verdict) - order.begin();
    worst = std::min(worst, static_cast<std::size_t>(rank));
  }
  if (worst == order.size()) return report.tell("not confirmed", path, "no output");
  if (order[worst] != the_case["verdict"].str()) {
    report.tell("REJECTED", path, "the verdict is not that of its outputs");
  }
}

int run(const std::vector<Text>& words) {
  std::vector<Text> witnesses;
  std::map<Text, Recording> recordings;
  Report report;
  for (std::size_t n = 0; n < words.size(); ++n) {
    const bool recording = words[n] == "--recording";
    if (recording && ++n == words.size()) return 64;
    try {
      if (recording) {
        recordings[file_name(words[n])] = read_recording(words[n]);
      } else if (words[n].starts_with("-")) {
        return 64;
      } else {
        witnesses.push_back(words[n]);
      }
    } catch (const std::exception& error) {
      std::cerr << words[n] << ": " << error.what() << "\n";
      return 3;
    }
  }
  if (witnesses.empty()) return 64;
  for (const Text& path : witnesses) {
    try {
      const Text source = whole_file(path);
      const Json witness = Reader(source).all();
      demand(witness["schema"].str() == "gqaverify.witness/1", "is of another schema");
      for (const Json& the_case : witness["cases"].items) {
        try {
          check_case(the_case, recordings, report);
        } catch (const Rejected& lie) {
          report.tell("REJECTED", path, lie.what());
        }
      }
    } catch (const std::exception& error) {
      std::cerr << path << ": " << error.what() << "\n";
      return 3;
    }
  }
  std::cout << report.counts["confirmed"] << " confirmed, " << report.counts["REJECTED"]
            << " REJECTED, " << report.counts["not confirmed"] << " not confirmed\n";
  const bool all = report.counts["REJECTED"] == 0 && report.counts["not confirmed"] == 0;
  return std::cout.flush() && all && report.counts["confirmed"] > 0 ? 0 : 1;
}

}  // namespace

int main(int count, char** words) {
  const int status = run({words + 1, words + count});
  if (status == 64) {
    std::cerr << "usage: gqaverify-recheck WITNESS... [--recording FILE.safetensors]...\n"
                 "Decides again what `gqaverify audit --witness FILE` says of single elements.\n"
                 "Exit status: 0 there are witnesses and all are confirmed, 1 not, 3 unreadable,\n"
                 "64 wrong usage.\n";
  }
  return status;
}
