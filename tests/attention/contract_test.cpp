#include "gqa/attention/contract.hpp"

#include <doctest/doctest.h>

#include "support/errors.hpp"

using namespace gqa;
using gqa::test::refusal_of;

TEST_CASE("contract: every name is read back as the value it names") {
  for (const Layout layout :
       {Layout::bhsd, Layout::bshd, Layout::sbhd, Layout::bsh, Layout::thd, Layout::hsd}) {
    CHECK(parse_layout(name(layout), "layout") == layout);
  }
  for (const CausalAlignment alignment :
       {CausalAlignment::top_left, CausalAlignment::bottom_right, CausalAlignment::onnx}) {
    CHECK(parse_causal_alignment(name(alignment), "alignment") == alignment);
  }
  for (const EmptyRow policy : {EmptyRow::zero, EmptyRow::nan, EmptyRow::any, EmptyRow::mean}) {
    CHECK(parse_empty_row(name(policy), "empty_row") == policy);
  }
}

TEST_CASE("contract: an unknown name is refused, and the message lists the known ones") {
  CHECK(refusal_of([] { parse_layout("BHDS", "--layout"); }) ==
        "contract.unknown_value at --layout");
  CHECK(refusal_of([] { parse_causal_alignment("", "--causal"); }) ==
        "contract.unknown_value at --causal");
  CHECK(refusal_of([] { parse_empty_row("none", "empty_row"); }) ==
        "contract.unknown_value at empty_row");
  const InputError error = test::error_of([] { parse_empty_row("average", "empty_row"); });
  CHECK(error.message() == "\"average\" is not known; write one of zero, nan, any, mean");
}

TEST_CASE("contract: a name is known in any spelling, and as other systems write it") {
  CHECK(parse_layout("bhsd", "layout") == Layout::bhsd);
  // One letter for the positions of queries and keys alike: B T H D is batch, position, head.
  CHECK(parse_layout("BTHD", "layout") == Layout::bshd);
  CHECK(parse_layout("bhtd", "layout") == Layout::bhsd);
  CHECK(parse_layout("BNSD", "layout") == Layout::bhsd);
  CHECK(parse_layout("NHD", "layout") == Layout::thd);
  CHECK(parse_layout("HND", "layout") == Layout::hsd);
  CHECK(parse_causal_alignment("bottom-right", "causal") == CausalAlignment::bottom_right);
  CHECK(parse_empty_row("Zeros", "empty_row") == EmptyRow::zero);
  CHECK(parse_head_map("Contiguous", "head_map").kind == HeadMapKind::contiguous);
}

TEST_CASE("contract: a name that is nearly one is answered with that one") {
  const auto message = [](const char* text) {
    return test::error_of([text] { parse_layout(text, "layout"); }).message();
  };
  CHECK(message("BSDH") ==
        "\"BSDH\" is not known; did you mean BSHD or BSH? The others are BHSD, SBHD, "
        "THD, HSD");
  CHECK(message("NCHW") == "\"NCHW\" is not known; write one of BHSD, BSHD, SBHD, BSH, THD, HSD");
  CHECK(test::error_of([] { parse_window("4", "window"); })
            .message()
            .ends_with("3,0 for the query's own position and 3 before it"));
  CHECK(refusal_of([] { parse_scale("1/sqrt(8)", "scale"); }) == "contract.scale at scale");
}

TEST_CASE("contract: a head map is a name or a list of KV heads") {
  CHECK(parse_head_map("contiguous", "m") == HeadMap{HeadMapKind::contiguous, {}});
  CHECK(parse_head_map("interleaved", "m") == HeadMap{HeadMapKind::interleaved, {}});
  CHECK(parse_head_map("0,0,1,1", "m") == HeadMap{HeadMapKind::explicit_list, {0, 0, 1, 1}});
  CHECK(parse_head_map("3", "m") == HeadMap{HeadMapKind::explicit_list, {3}});
  for (const char* text : {"", "explicit", "0,", ",0", "0,,1", "0 1", "0, 1", "0;1", "1.5", "0x1",
                           "99999999999999999999", "grouped"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { parse_head_map(text, "--head-map"); }) ==
          "contract.unknown_value at --head-map");
  }
}

TEST_CASE("contract: a scale is the default or an exact positive number") {
  CHECK_FALSE(parse_scale("default", "scale").has_value());
  CHECK(*parse_scale("0.125", "scale") == make_rational(1, 8));
  CHECK(*parse_scale("1/3", "scale") == make_rational(1, 3));
  CHECK(*parse_scale("0x1p-3", "scale") == make_rational(1, 8));
  for (const char* text : {"0", "-1", "-0.5", "0/7"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { parse_scale(text, "--scale"); }) ==
          "contract.scale_not_positive at --scale");
  }
  CHECK(refusal_of([] { parse_scale("nan", "--scale"); }) == "rational.syntax at --scale");
  CHECK(refusal_of([] { parse_scale("1/0", "--scale"); }) ==
        "rational.zero_denominator at --scale");
  CHECK(refusal_of([] { parse_scale("", "--scale"); }) == "rational.empty at --scale");
}

TEST_CASE("contract: a window has two sides of at least -1") {
  CHECK(parse_window("3,0", "w") == Window{3, 0});
  CHECK(parse_window("-1,-1", "w").is_unbounded());
  CHECK_FALSE(parse_window("-1,0", "w").is_unbounded());
  CHECK_FALSE(parse_window("0,-1", "w").is_unbounded());
  for (const char* text :
       {"", "3", "3,0,1", "-2,0", "0,-2", "a,b", "3, 0", "3,", "1.5,0", "99999999999999999999,0"}) {
    CAPTURE(text);
    CHECK(refusal_of([&] { parse_window(text, "--window"); }) == "contract.window at --window");
  }
}

TEST_CASE("contract: each rule that can be broken has its own code, at the field's name") {
  const auto refusal = [](auto change) {
    Contract contract;
    change(contract);
    return refusal_of([&] { validate(contract); });
  };
  CHECK(refusal([](Contract&) {}) == "none");
  CHECK(refusal([](Contract& c) { c.scale = 0; }) == "contract.scale_not_positive at scale");
  CHECK(refusal([](Contract& c) { c.scale = -1; }) == "contract.scale_not_positive at scale");
  CHECK(refusal([](Contract& c) { c.window.left = -2; }) == "contract.window at window");
  CHECK(refusal([](Contract& c) { c.window.right = -7; }) == "contract.window at window");
  CHECK(refusal([](Contract& c) { c.softcap = -1; }) == "contract.softcap_negative at softcap");
  CHECK(refusal([](Contract& c) {
          c.head_map = {HeadMapKind::explicit_list, {0, -1}};
        }) == "contract.head_map_entry at head_map");
  CHECK(refusal([](Contract& c) { c.layout = Layout::bsh; }) == "contract.layout_heads at layout");
  CHECK(refusal([](Contract& c) {
          c.layout = Layout::bsh;
          c.q_num_heads = 8;
        }) == "contract.layout_heads at layout");
  CHECK(refusal([](Contract& c) {
          c.layout = Layout::bsh;
          c.q_num_heads = 8;
          c.kv_num_heads = 2;
        }) == "none");
}

TEST_CASE("contract: the description says every rule that is declared") {
  Contract contract;
  CHECK(describe(contract) == "contiguous head map, not causal, scale 1/sqrt(dk)");
  CHECK(describe(contract, 64) == "contiguous head map, not causal, scale 1/sqrt(64)");
  contract.head_map = {HeadMapKind::explicit_list, {0, 1, 0}};
  contract.causal = true;
  contract.causal_alignment = CausalAlignment::top_left;
  contract.window = {4, 0};
  contract.scale = make_rational(1, 8);
  contract.softcap = 30;
  CHECK(describe(contract, 64) ==
        "head map [0,1,0], causal (top_left), window [4, 0], scale 1/8, softcap 30");
  contract.empty_row = EmptyRow::nan;
  CHECK(describe(contract, 64).ends_with(", softcap 30, empty rows nan"));
}
