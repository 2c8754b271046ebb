// Spans and limits of outputs, maps of heads, and sizes in general.
#include "gqa/theory/claims/certificates.hpp"
#include "gqa/theory/claims/claims.hpp"
#include "gqa/theory/claims/instances.hpp"
#include "gqa/theory/rank_certificates.hpp"

namespace gqa {
namespace {

using namespace claim_instances;
using claim_certificates::CacheSize;
using claim_certificates::polynomial_identity;
using claim_certificates::require_bytes;

ClaimVerdict argue_two_group_maps(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "h = g r, i = r m + t with 0 <= t < r: i g = m h + t g with 0 <= t g < h, so both "
      "floors are m");
  argument.attach(polynomial_identity("(r*m + t)*g", "m*(g*r) + t*g"));
  argument.attach(polynomial_identity("g*r - t*g", "g*(r - t)"));
  int equal = 0, all = 0, differ = 0, uneven = 0;
  for (long h = 1; h <= 64; ++h) {
    for (long g = 1; g <= h; ++g) {
      bool same = true;
      for (long i = 0; i < h; ++i) same = same && i * g / h == i / (h / g);
      if (h % g == 0) {
        ++all;
        equal += same ? 1 : 0;
      } else {
        ++uneven;
        differ += same ? 0 : 1;
      }
    }
  }
  argument.require(equal == all, "{} of {} pairs with g dividing h <= 64: one map", equal, all);
  argument.require(differ == uneven, "{} of {} other pairs: two maps", differ, uneven);
  nlohmann::ordered_json json = claim_certificates::counterexample("head_maps");
  json["query_heads"] = 3;
  json["groups"] = 2;
  json["left"] = exact_json(Row{0, 0, 1});
  json["right"] = exact_json(Row{0, 1, 2});
  argument.attach(json);
  return ClaimVerdict::proved;
}

ClaimVerdict argue_limits(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "with t = exp(s_0 - s_1) the output is (t v_0 + v_1) / (t + 1): its distance from "
      "v_0 is |v_1 - v_0| / (t + 1), below any e > 0 for a score difference large enough, "
      "and never 0");
  argument.attach(polynomial_identity("t*v + u - (t + 1)*v", "u - v"));
  const Matrix values{{4, 0}, {0, 8}};
  for (const long t : {9, 99, 999}) {
    const Row output = row_of(attention(with_strengths({{{t, 1}}}, {values})).output, 0);
    argument.require(4 - output[0] == Rational(4) / (t + 1) && output[1] == Rational(8) / (t + 1),
                     "strengths {} : 1 give {}", t, to_text(output));
  }
  return ClaimVerdict::proved;
}

ClaimVerdict argue_span(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "outputs are combinations of the values, so in their row space; and with m the mean "
      "of the values, which equal scores give, (1 - e) m + e v_j is an output for 0 < e < "
      "1: it has positive weights; the two span e v_j");
  argument.attach(polynomial_identity("(1 - e)*m + e*v - (1 - e)*m", "e*v"));
  const Matrix values{{4, 0}, {0, 8}};
  Matrix outputs;
  for (const Row& row : Matrix{{1, 1}, {3, 1}}) {
    outputs.push_back(row_of(attention(with_strengths({{row}}, {values})).output, 0));
  }
  argument.require(rank(outputs) == rank(values), "two outputs on (4,0), (0,8) span rank {}",
                   rank(outputs));
  argument.attach(claim_certificates::rank_lower_bound(outputs));
  return ClaimVerdict::proved;
}

ClaimVerdict argue_set(Argument& argument, const TrainedModel* /*model*/) {
  const Matrix values{{4, 0}, {0, 8}};
  const Row origin{0, 0};
  argument.say("the row space of (4,0), (0,8) is the plane; outputs lie on x/4 + y/8 = 1");
  // x/4 + y/8 - 1 is 0 at the values and -1 at the origin.
  argument.attach(claim_certificates::separating_hyperplane(
      values, origin, {fraction(1, 4), fraction(1, 8)}, Rational(-1)));
  argument.require(rank(values) == 2,
                   "(0,0) is in the row space, of dimension {}, and is no output", rank(values));
  return ClaimVerdict::refuted;
}

ClaimVerdict argue_pattern_rank(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "softmax with d_k = 1: exp(q_i k_j) with distinct q_i and distinct k_j is a "
      "generalised Vandermonde matrix, whose determinant is not zero for positive nodes; "
      "rows are divided by their sums; wider queries contain these");
  argument.say("causal: a triangle with a positive diagonal, for all queries and keys");
  RankConfiguration c;
  c.group_size = 1;
  c.positions = 6;
  c.value_size = 1;
  c.key_size = 1;
  c.softmax_reachable = true;
  for (const bool causal : {false, true}) {
    c.causal = causal;
    const nlohmann::ordered_json json = rank_certificate(pattern_of_witness(c, 1));
    argument.require(json["rows"].size() == 6, "{}6 positions, d_k = 1: rank {}",
                     causal ? "causal, " : "", json["rows"].size());
    argument.attach(json);
  }
  return ClaimVerdict::proved;
}

ClaimVerdict argue_ratio(Argument& argument, const TrainedModel* /*model*/) {
  argument.attach(polynomial_identity("(2*L*n*h*d*s)*g", "(2*L*n*g*d*s)*h"));
  argument.require(true, "2 L n h d s bytes against 2 L n g d s: the quotient is h / g");
  require_bytes(argument, {32, 1, 4096, 32, 128, 2}, mpz_class(2) << 30);
  require_bytes(argument, {32, 1, 4096, 8, 128, 2}, mpz_class(512) << 20);
  return ClaimVerdict::proved;
}

ClaimVerdict argue_inverse_size(Argument& argument, const TrainedModel* /*model*/) {
  argument.attach(polynomial_identity("2*L*n*(c*g)*d*s", "c*(2*L*n*g*d*s)"));
  require_bytes(argument, {32, 1, 4096, 8, 128, 2}, mpz_class(512) << 20);
  require_bytes(argument, {32, 1, 4096, 4, 128, 2}, mpz_class(256) << 20);
  argument.require(true,
                   "twice as many groups take twice the bytes: proportional to g, so it falls "
                   "as 1 / (h / g), the queries on a group");
  return ClaimVerdict::refuted;
}

ClaimVerdict argue_absent_queries(Argument& argument, const TrainedModel* /*model*/) {
  CacheModel model = CacheSize{32, 1, 4096, 8, 128, 2}.model();
  const CacheUse use = CacheSize{32, 1, 4096, 8, 128, 2}.use();
  for (const std::int64_t query_heads : {32, 64}) {
    model.q_num_heads = query_heads;
    argument.require(cache_bytes(model, use) == mpz_class(512) << 20, "Hq = {}: {} bytes",
                     query_heads, cache_bytes(model, use).get_str());
  }
  argument.attach(certificate_of(model, use));
  argument.attach(polynomial_identity("L*B*S*Hkv*(dk + dv)*b", "b*(dk + dv)*Hkv*S*B*L"));
  return ClaimVerdict::proved;
}

ClaimVerdict argue_layer_sums(Argument& argument, const TrainedModel* /*model*/) {
  argument.attach(
      polynomial_identity("B*S*h*(d + e)*b + B*S*k*(f + g)*c", "B*S*(h*(d + e)*b + k*(f + g)*c)"));
  require_bytes(argument, {2, 1, 1024, 8, 128, 2}, mpz_class(8) << 20);
  require_bytes(argument, {3, 1, 1024, 2, 256, 2}, mpz_class(6) << 20);
  argument.require(true, "layers of two shapes: 8 MiB + 6 MiB = 14 MiB");
  return ClaimVerdict::proved;
}

ClaimVerdict argue_blocks(Argument& argument, const TrainedModel* /*model*/) {
  argument.say(
      "positions of b bytes in blocks of m b bytes: position i is in block floor(i / m), at "
      "((i mod m) b), and the last byte of a block is that of its last position: no "
      "position is cut, and no byte lies between two");
  argument.attach(polynomial_identity("(m*k + t)*b", "k*(m*b) + t*b"));
  argument.attach(polynomial_identity("m*b - (t + 1)*b", "(m - t - 1)*b"));
  // A block of the size of one position of h heads holds h / g positions of g heads.
  argument.attach(polynomial_identity("r*(2*g*d*s)", "2*(r*g)*d*s"));
  int whole = 0, cut = 0;
  for (long bytes = 1; bytes <= 12; ++bytes) {
    for (long block = bytes; block <= 48; ++block) {
      bool crosses = false;
      for (long i = 0; i < 48; ++i) {
        crosses = crosses || i * bytes / block != ((i + 1) * bytes - 1) / block;
      }
      (block % bytes == 0 ? whole : cut) += (block % bytes == 0) != crosses ? 0 : 1;
    }
  }
  argument.require(whole == 0 && cut == 0,
                   "blocks up to 48 bytes, positions up to 12: packed without gaps, a position is "
                   "cut by a block's end exactly if the block is no multiple of it");
  return ClaimVerdict::proved;
}

}  // namespace

const Claim claim_qq{
    .id = "qq",
    .title = "two-group-maps",
    .statement = "floor(i g / h) and floor(i / (h / g)) are one map if g divides h",
    .scope =
        "all h, g; where g does not divide h, floor(i / floor(h / g)) is another map: all pairs "
        "up to 64",
    .certificate = "i g = m h + t g with 0 <= t g < h; h = 3, g = 2: (0,0,1) against (0,1,2)",
    .argue = argue_two_group_maps};

const Claim claim_rr{.id = "rr",
                     .title = "ends-as-limits",
                     .statement =
                         "The end points of the segment between two values are limits of "
                         "outputs as the score difference diverges",
                     .scope = "every two values",
                     .certificate = "o - v_0 = (v_1 - v_0) / (t + 1), t = exp(s_0 - s_1)",
                     .argue = argue_limits};

const Claim claim_ss{
    .id = "ss",
    .title = "span-of-outputs",
    .statement =
        "The outputs of a head span the row space of V (restricted to the "
        "visible positions)",
    .scope = "all values, free finite scores",
    .certificate = "((1 - e) m + e v) - (1 - e) m = e v, both outputs but for a factor",
    .argue = argue_span};

const Claim claim_tt{
    .id = "tt",
    .title = "outputs-are-the-row-space",
    .statement = "The set of vectors that a head can produce is the row space of V",
    .scope = "all values",
    .certificate = "(0,0) is in the row space of (4,0), (0,8), and separated from all outputs",
    .argue = argue_set};

const Claim claim_uu{
    .id = "uu",
    .title = "full-rank-patterns",
    .statement = "Attention patterns have full rank generically; causal ones always",
    .scope = "N queries on N keys, d_k >= 1, every N",
    .certificate =
        "a generalised Vandermonde matrix; a triangle with a positive "
        "diagonal; exact instances of 6 positions",
    .argue = argue_pattern_rank};

const Claim claim_vv{.id = "vv",
                     .title = "cache-ratio",
                     .statement = "Grouping shrinks the cache by exactly h / g",
                     .scope = "every L, n, d, s, h, g",
                     .certificate = "(2 L n h d s) g = (2 L n g d s) h",
                     .argue = argue_ratio};

const Claim claim_ww{
    .id = "ww",
    .title = "cache-falls-as-one-over-g",
    .statement = "Cache size falls as 1/g in the number g of groups",
    .scope = "every model",
    .certificate = "bytes are proportional to g: 8 groups 512 MiB, 4 groups 256 MiB",
    .argue = argue_inverse_size};

const Claim claim_xx{.id = "xx",
                     .title = "query-heads-absent",
                     .statement =
                         "The number of query heads is not in the bytes of a compact cache: "
                         "32 -> 64 leaves them",
                     .scope = "every L, B, S, Hkv, dk, dv, b",
                     .certificate = "L B S Hkv (dk + dv) b",
                     .argue = argue_absent_queries};

const Claim claim_yy{.id = "yy",
                     .title = "layer-sums",
                     .statement = "Layers of different shapes add up their own terms",
                     .scope = "every sum of layers; two shapes as an instance",
                     .certificate = "B S h (d + e) b + B S k (f + g) c; 8 MiB and 6 MiB",
                     .argue = argue_layer_sums};

const Claim claim_zz{
    .id = "zz",
    .title = "whole-positions-in-blocks",
    .statement =
        "Blocks whose size is a multiple of the bytes of a position hold whole positions in "
        "one contiguous run; of r times fewer heads r times as many fit",
    .scope = "every block and position size",
    .certificate = "(m k + t) b = k (m b) + t b and m b - (t + 1) b = (m - t - 1) b",
    .argue = argue_blocks};

}  // namespace gqa
