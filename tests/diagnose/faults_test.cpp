// A fault that is another contract in disguise gives what that contract gives.
//
// What a declared behaviour gives is checked against the certified reference elsewhere, so the
// other contract is the oracle here.
#include <doctest/doctest.h>

#include <cmath>
#include <functional>
#include <set>

#include "diagnose/live_case.hpp"
#include "gqa/diagnose/evaluate/evaluated_row.hpp"
#include "gqa/diagnose/explain/explanation_search.hpp"

using namespace gqa;

namespace {

struct Declared {
  ProblemTensors tensors;
  Contract contract;
};
using Change = std::function<void(Declared&)>;

void make_blank_output(ProblemTensors& t) {
  Shape shape = t.query->shape;
  shape.back() = t.value->shape.back();
  t.output = test::tensor_of(ElementType::binary32, shape,
                             std::vector<double>(static_cast<std::size_t>(element_count(shape))));
}

/// T = 3 rows on S = 7 keys of four heads on two, dk = 4, dv = 2; `declare` adds rules.
Declared declared_with(const Change& declare) {
  Declared d;
  d.tensors = test::normal_problem({.batch = 2, .queries = 3, .keys = 7, .value_size = 2});
  declare(d);
  make_blank_output(d.tensors);
  return d;
}

void check_same_rows(const Behaviour& left, const Behaviour& right) {
  const PrecisionScope precision(128);
  for (const RowPlace& place : places_of(left, 1000)) {
    const auto a = evaluate_row<Ball>(left, place.batch, place.head, place.row);
    const auto b = evaluate_row<Ball>(right, place.batch, place.head, place.row);
    CAPTURE(place.batch);
    CAPTURE(place.head);
    CAPTURE(place.row);
    CHECK(a.visible == b.visible);
    REQUIRE(a.output.size() == b.output.size());
    for (std::size_t c = 0; c < a.output.size(); ++c) {
      REQUIRE(a.is_nan[c] == b.is_nan[c]);
      if (a.is_nan[c] != 0) continue;
      CAPTURE(a.output[c].midpoint_double());
      CAPTURE(b.output[c].midpoint_double());
      CHECK(less_equal(abs(a.output[c] - b.output[c]), Ball(0x1p-80)).certainly());
    }
  }
}

struct Disguise {
  const char* slug;
  Change declare;
  Change other;  ///< the contract that the fault amounts to
};

void causal(Declared& d) {
  d.contract.causal = true;
}
void window(Declared& d) {
  d.contract.causal = true;
  d.contract.window = {2, -1};
}
void nothing(Declared&) {}
void scale(Declared& d) {
  d.contract.scale = Rational(3, 4);
}
void mask(Declared& d) {
  std::vector<std::uint64_t> bits(21, 1);
  for (const std::size_t hidden : {0U, 4U, 8U, 9U, 12U, 20U}) bits[hidden] = 0;
  d.tensors.attn_mask = test::tensor_of_bits(ElementType::boolean, {3, 7}, bits);
}
// T = 3 rows on S = 2 keys: the first has none.
void empty_row(Declared& d) {
  d.tensors = test::normal_problem({.batch = 2, .queries = 3, .keys = 2, .value_size = 2});
  d.contract.causal = true;
}
void lengths(Declared& d) {
  d.tensors.nonpad_kv_seqlen = test::tensor_of_bits(ElementType::int64, {2}, {4, 6});
  d.contract.causal = true;
}
void sink(Declared& d) {
  d.tensors.sink = test::tensor_of({4}, {1, 0, -1, 2});
}
void softcap(Declared& d) {
  d.contract.softcap = Rational(1, 2);
}

const std::vector<Disguise>& disguises() {
  static const std::vector<Disguise> all{
      {"head_map.tiled", nothing,
       [](Declared& d) { d.contract.head_map.kind = HeadMapKind::interleaved; }},
      {"head_map.single_kv_head", nothing,
       [](Declared& d) {
         d.contract.head_map = {HeadMapKind::explicit_list, {0, 0, 0, 0}};
       }},
      // Hkv / 2 = 1 head is all that either shard has.
      {"head_map.first_shard", nothing,
       [](Declared& d) {
         d.contract.head_map = {HeadMapKind::explicit_list, {0, 0, 0, 0}};
       }},
      {"head_map.replica_modulo", nothing,
       [](Declared& d) {
         d.contract.head_map = {HeadMapKind::explicit_list, {0, 1, 0, 1}};
       }},
      {"causal.top_left", causal,
       [](Declared& d) { d.contract.causal_alignment = CausalAlignment::top_left; }},
      {"causal.bottom_right",
       [](Declared& d) {
         d.contract.causal = true;
         d.contract.causal_alignment = CausalAlignment::top_left;
       },
       [](Declared& d) { d.contract.causal_alignment = CausalAlignment::bottom_right; }},
      {"causal.clamped", empty_row,
       [](Declared& d) { d.contract.causal_alignment = CausalAlignment::top_left; }},
      {"causal.only_square", causal, [](Declared& d) { d.contract.causal = false; }},
      {"causal.missing", causal, [](Declared& d) { d.contract.causal = false; }},
      {"causal.undeclared", nothing, [](Declared& d) { d.contract.causal = true; }},
      {"window.one_wide", window,
       [](Declared& d) {
         d.contract.window = {3, -1};
       }},
      {"window.one_narrow", window,
       [](Declared& d) {
         d.contract.window = {1, -1};
       }},
      {"window.ignored", window,
       [](Declared& d) {
         d.contract.window = {-1, -1};
       }},
      {"mask.ignored", mask, [](Declared& d) { d.tensors.attn_mask = nullptr; }},
      {"mask.inverted", mask,
       [](Declared& d) {
         auto flipped = std::make_shared<TypedTensor>(*d.tensors.attn_mask);
         for (std::byte& flag : flipped->bytes) flag ^= std::byte{1};
         d.tensors.attn_mask = flipped;
       }},
      {"mask.added_as_bias", mask,
       [](Declared& d) {
         std::vector<float> values;
         for (const std::byte flag : d.tensors.attn_mask->bytes) {
           values.push_back(std::to_integer<int>(flag) != 0 ? 1.0F : 0.0F);
         }
         d.tensors.attn_mask = test::tensor_of({3, 7}, values);
       }},
      {"mask.empty_row_nan", empty_row, [](Declared& d) { d.contract.empty_row = EmptyRow::nan; }},
      {"mask.empty_row_mean", empty_row,
       [](Declared& d) { d.contract.empty_row = EmptyRow::mean; }},
      {"length.capacity", lengths, [](Declared& d) { d.tensors.nonpad_kv_seqlen = nullptr; }},
      {"length.one_short", lengths,
       [](Declared& d) {
         d.tensors.nonpad_kv_seqlen = test::tensor_of_bits(ElementType::int64, {2}, {3, 5});
       }},
      {"scale.missing", nothing, [](Declared& d) { d.contract.scale = Rational(1); }},
      {"scale.twice", nothing, [](Declared& d) { d.contract.scale = Rational(1, 4); }},
      {"scale.model_width", scale, [](Declared& d) { d.contract.scale = Rational(1, 4); }},
      {"scale.head_count", scale, [](Declared& d) { d.contract.scale = Rational(1, 2); }},
      {"scale.argument_ignored", scale, [](Declared& d) { d.contract.scale = std::nullopt; }},
      {"softcap.missing", softcap, [](Declared& d) { d.contract.softcap = 0; }},
      {"sink.dropped", sink, [](Declared& d) { d.tensors.sink = nullptr; }},
  };
  return all;
}

Behaviour with_fault(const Declared& d, const char* slug) {
  const Fault fault{find_fault(slug)};
  REQUIRE(fault.kind != nullptr);
  return edited(behaviour_of(d.tensors, d.contract), std::span(&fault, 1));
}

}  // namespace

TEST_CASE("faults: each that amounts to another contract gives what that contract gives") {
  for (const Disguise& disguise : disguises()) {
    CAPTURE(disguise.slug);
    Declared d = declared_with(disguise.declare);
    const Behaviour faulty = with_fault(d, disguise.slug);
    disguise.other(d);
    check_same_rows(faulty, behaviour_of(d.tensors, d.contract));
  }
}

TEST_CASE("faults: sets compose to the contract with all the changes") {
  const auto& all = disguises();
  const auto find = [&all](const std::string& slug) {
    return std::ranges::find(all, slug, [](const Disguise& d) { return std::string(d.slug); });
  };
  for (const auto& slugs : {std::vector<std::string>{"head_map.tiled", "causal.undeclared"},
                            {"head_map.tiled", "window.one_wide", "scale.twice"},
                            {"length.one_short", "scale.missing"},
                            {"mask.inverted", "scale.twice"},
                            {"head_map.single_kv_head", "sink.dropped"}}) {
    CAPTURE(fmt::format("{}", fmt::join(slugs, " + ")));
    Declared d = declared_with([&](Declared& declared) {
      for (const std::string& slug : slugs) find(slug)->declare(declared);
    });
    std::vector<Fault> faults;
    for (const std::string& slug : slugs) faults.push_back({find_fault(slug)});
    const Behaviour faulty = edited(behaviour_of(d.tensors, d.contract), faults);
    for (const std::string& slug : slugs) find(slug)->other(d);
    check_same_rows(faulty, behaviour_of(d.tensors, d.contract));
  }
}

TEST_CASE("faults: one that does not apply leaves the behaviour as it is") {
  const Declared d = declared_with(nothing);
  for (const char* slug :
       {"window.one_wide", "mask.inverted", "sink.dropped", "softcap.missing", "length.capacity",
        "causal.missing", "scale.argument_ignored", "bias.alibi_exponent", "length.past_dropped"}) {
    CAPTURE(slug);
    Behaviour behaviour = behaviour_of(d.tensors, d.contract);
    CHECK(find_fault(slug)->apply(behaviour, 0) == Edit::not_applicable);
    check_same_rows(with_fault(d, slug), behaviour_of(d.tensors, d.contract));
  }
}

TEST_CASE("faults: every kind has its own slug, a sentence, a formula and a family in the search") {
  std::vector<std::string> families;
  for (const FaultKind* kind : fault_kinds()) {
    CAPTURE(kind->slug);
    CHECK(find_fault(kind->slug) == kind);
    CHECK(kind->slug.find('.') != std::string_view::npos);
    CHECK_FALSE(kind->sentence.empty());
    CHECK_FALSE(kind->formula.empty());
    CHECK(kind->parameters.empty() == kind->parameter_name.empty());
    if (families.empty() || families.back() != family(*kind)) {
      families.emplace_back(family(*kind));
    }
  }
  // A family is one stretch, and edits compose in this order.
  CHECK(families == std::vector<std::string>{"layout", "length", "head_map", "causal", "window",
                                             "mask", "scale", "softcap", "bias", "softmax", "merge",
                                             "sink"});
  CHECK(find_fault("head_map.none") == nullptr);
  CHECK(find_fault("head_map") == nullptr);
}

TEST_CASE("faults: what is read off the data has an entry beside what is searched for") {
  std::set<std::string_view> slugs;
  std::vector<std::string_view> families;
  for (const FaultKind* kind : named_kinds()) {
    CAPTURE(kind->slug);
    CHECK(slugs.insert(kind->slug).second);
    CHECK(find_named(kind->slug) == kind);
    if (families.empty() || families.back() != family(*kind)) families.push_back(family(*kind));
  }
  CHECK(slugs.size() == fault_kinds().size() + measured_kinds().size());
  CHECK(std::set(families.begin(), families.end()).size() == families.size());
  for (const FaultKind* kind : measured_kinds()) {
    CAPTURE(kind->slug);
    CHECK(find_fault(kind->slug) == nullptr);
    CHECK_FALSE(kind->sentence.empty());
    CHECK_FALSE(kind->formula.empty());
  }
}

TEST_CASE("faults: a parameter is told with the slug") {
  CHECK(Fault{find_fault("merge.lse_base"), 4}.describe() == "merge.lse_base (shards of 4 keys)");
  CHECK(Fault{find_fault("head_map.tiled"), 0}.describe() == "head_map.tiled");
  std::size_t expected = 0;
  for (const FaultKind* kind : fault_kinds()) {
    expected += std::max<std::size_t>(kind->parameters.size(), 1);
  }
  CHECK(all_faults().size() == expected);
}
