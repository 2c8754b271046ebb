// One certificate of every kind, worked out by hand.
#pragma once

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace gqa::test {

/// The valid certificates of the tests, by kind (some kinds have several).
inline const std::map<std::string, std::string>& certificate_texts() {
  static const std::map<std::string, std::string> texts{
      {"attainable_point",
       R"("values": [["4", "0"], ["0", "8"]], "point": ["3", "2"], "weights": ["3/4", "1/4"])"},
      {"separating_hyperplane",
       R"("values": [["0", "0"], ["1", "0"], ["0", "1"]], "point": ["1", "1"],
          "normal": ["-1", "-1"], "offset": "1", "value_sides": ["1", "0", "0"],
          "point_side": "-1")"},
      // ln w = (ln 1/4, ln 3/4) = q (0, 1) + c: c = ln 1/4, q = ln 3/4 - ln 1/4.
      {"reachable_with_keys",
       R"("values": [["0"], ["4"]], "keys": [["0"], ["1"]], "point": ["3"],
          "weights": ["1/4", "3/4"], "inverse": [["-1", "1"], ["1", "0"]])"},
      // w0 w2 / w1^2 is 13/36 and 5/4; the inverse is that of least squares on keys 0, 1, 2.
      {"reachable_between_weights",
       R"("values": [["0"], ["3"], ["2"]], "keys": [["0"], ["1"], ["2"]], "point": ["1"],
          "lower_weights": ["13/20", "3/10", "1/20"], "upper_weights": ["5/8", "1/4", "1/8"],
          "relation": ["1", "-2", "1"], "inverse": [["-1/2", "0", "1/2"], ["5/6", "1/3", "-1/6"]],
          "remainder": ["1/6", "-1/3", "1/6"])"},
      // Every softmax over keys 0, 1, 2 has w0 w2 = w1^2; these weights have 1/8 against 1/16.
      {"unreachable_with_keys",
       R"("values": [["0", "0"], ["4", "0"], ["0", "4"]], "keys": [["0"], ["1"], ["2"]],
          "point": ["1", "1"], "weights": ["1/2", "1/4", "1/4"],
          "inverse": [["-1/4", "1/4", "0"], ["-1/4", "0", "1/4"], ["1", "0", "0"]],
          "relation": ["1", "-2", "1"])"},
      // -1/2 + y/2 - y^2/2: times -2 it is 1 - y + y^2, times 1 + z beyond and below 1 positive.
      {"unreachable_along_line",
       R"("values": [["0"], ["1"], ["0"]], "keys": [["0"], ["1"], ["2"]], "point": ["1/2"],
          "direction": ["1"], "cofactors": [["-2"]], "breaks": ["1"])"},
      // -4/5 + y/5 - 4/5 ... : 5 y / (1 + y + y^2) = 1 at (y^2 - 4 y + 1 = 0), between 3 and 4.
      {"reachable_along_direction",
       R"("values": [["0"], ["5"], ["0"]], "keys": [["3", "0"], ["3", "1"], ["3", "2"]],
          "point": ["1"], "direction": ["0", "2"], "divisor": ["1", "-4", "1"],
          "quotients": [["-1"]], "lower": "3", "upper": "4")"},
      // Values are 2 k + 1 of the keys 0, 1, 3.
      {"reachable_by_moments",
       R"("values": [["1"], ["3"], ["7"]], "keys": [["0"], ["1"], ["3"]], "point": ["3"],
          "weights": ["1/2", "1/4", "1/4"], "affine": [["2"], ["1"]])"},
      {"equal_outputs",
       R"("values": [["0"], ["1"], ["3"]], "strengths": [["1", "1", "1"], ["1", "6", "2"]],
          "output": ["4/3"])"},
      {"pooling_loss",
       R"("keys": [[["0"]], [["0"]]], "values": [[["0"]], [["1"]]], "head": 0,
          "key_sum": ["0"], "difference": ["-1/2"])"},
      {"pooling_lossless",
       R"("keys": [[["0"], ["1"]], [["2"], ["3"]]], "values": [[["5"], ["7"]], [["5"], ["7"]]],
          "causal": true)"},
      {"weight_pooling_loss of values",
       R"("loss": "values_differ", "layer": null, "value_weights": [[["1", "2"]], [["3", "2"]]], "head": 1,
          "input": ["1", "1"], "output": ["5"], "pooled_output": ["4"])"},
      // The query is 4, the mean key (1, -1/2), the step (1, -1): 4 x 1 against 4 x 3/2.
      {"weight_pooling_loss of scores",
       R"("loss": "scores_differ", "layer": null, "key_weights": [[["2", "1"]], [["0", "-2"]]],
          "value_weights": [[["1", "3"]], [["1", "3"]]], "query_weight": [["3", "1"]],
          "head": 0, "earlier_input": ["2", "0"], "input": ["1", "1"], "query": ["4"], "distance": 1,
          "score_difference": "4", "pooled_score_difference": "6")"},
      {"weight_pooling_lossless",
       R"("layer": null, "key_weights": [[["1", "2"]], [["1", "2"]]], "value_weights": [[["3", "4"]], [["3", "4"]]],
          "query_weights": null)"},
      // One position turns (x, y) by (3/5, 4/5). The query of (1, 1) is (2, 0); turned it is (6/5,
      // 8/5). Keys of (2, 0) are (2, 0) and (2, 10), pooled (2, 5); own (3, 1), pooled (3, 7/2):
      // 12/5 - 6 and 52/5 - 6.
      {"weight_pooling_loss of rotated scores",
       R"("loss": "scores_differ", "layer": {"planes": [0, 1], "rotations": [["3/5", "4/5"]],
          "query_biases": null, "key_biases": null, "value_biases": null, "query_norm": null,
          "key_norm": null, "norm_epsilon": null},
          "key_weights": [[["1", "2"], ["0", "1"]], [["1", "2"], ["5", "1"]]],
          "value_weights": [[["1", "0"]], [["1", "0"]]],
          "query_weight": [["1", "1"], ["0", "0"]], "head": 0, "earlier_input": ["2", "0"],
          "input": ["1", "1"], "query": ["2", "0"], "distance": 1,
          "score_difference": "-18/5", "pooled_score_difference": "22/5")"},
      // Keys 1 and 3 of the input 1 have a mean of 2: with epsilon 1, 1/sqrt(2) is not 2/sqrt(5).
      {"weight_pooling_loss of normalised scores",
       R"("loss": "normalised_scores_differ", "layer": {"planes": null, "rotations": null,
          "query_biases": null, "key_biases": null, "value_biases": null, "query_norm": ["2"],
          "key_norm": ["5"], "norm_epsilon": "1"}, "key_weights": [[["1"]], [["3"]]],
          "value_weights": [[["1"]], [["1"]]], "query_weight": [["1"]], "head": 0,
          "earlier_input": ["1"], "input": ["2"], "query": ["4"], "distance": 1)"},
      {"weight_pooling_loss at some distance",
       R"("loss": "some_distance", "layer": {"planes": [0, 1], "rotations": null,
          "query_biases": null, "key_biases": null, "value_biases": null, "query_norm": null,
          "key_norm": null, "norm_epsilon": null},
          "key_weights": [[["1", "2"], ["0", "1"]], [["1", "2"], ["5", "1"]]],
          "value_weights": [[["1", "0"]], [["1", "0"]]],
          "query_weight": [["1", "1"], ["0", "0"]], "head": 0, "input": ["1", "0"],
          "query": ["1", "0"], "key_input": ["1", "0"], "plane": 0)"},
      {"weight_pooling_lossless of distinct angles",
       R"("layer": {"planes": [0, 2], "rotations": null, "query_biases": [["0", "7", "0"], ["0", "7",
          "0"]], "key_biases": [["1", "2", "3"], ["4", "2", "6"]], "value_biases": [["1"], ["1"]],
          "query_norm": null, "key_norm": null, "norm_epsilon": null},
          "key_weights": [[["1"], ["2"], ["3"]], [["4"], ["2"], ["6"]]],
          "value_weights": [[["5"]], [["5"]]],
          "query_weights": [[["0"], ["1"], ["0"]], [["0"], ["2"], ["0"]]])"},
      {"rank_lower_bound",
       R"("matrix": [["1", "2", "9"], ["3", "4", "9"]], "modulus": "101", "rows": [0, 1],
          "columns": [0, 1], "determinant": "99")"},
      {"rank_upper_bound",
       R"("matrix": [["2", "4"], ["3", "6"]], "left": [["2"], ["3"]], "right": [["1", "2"]])"},
      // P V W = (1/2, 1/2; 1/3, 2/3) (1; 2) (1) and (0, 1; 1, 0) (1; 2) (1): 3/2, 2 and 5/3, 1; the
      // determinant is -11/6, modulo 5 it is -11 = 4 (6 is 1).
      {"stacked_output_rank",
       R"("quantity": "stacked_output", "heads": 2, "values": [[["1"], ["2"]]],
          "patterns": [[["1/2", "1/2"], ["1/3", "2/3"]], [["0", "1"], ["1", "0"]]], "keys": null,
          "query_bases": null, "visible": null, "projections": null, "modulus": "5",
          "rows": [0, 1], "columns": [0, 1], "determinant": "4", "left": null, "right": null)"},
      {"equational_proof",
       R"x("axioms": [{"name": "one", "left": "f(g(x), y)", "right": "h(y, x)"},
                     {"name": "two", "left": "A", "right": "g(B)"}],
          "chain": ["k(f(A, C))", "k(f(g(B), C))", "k(h(C, B))"], "uses": [1, 0])x"},
      {"counterexample of a softened score",
       R"("identity": "mean_key_softens", "query": ["1/10", "1"], "keys": [["3", "0"], ["0", "29/10"]],
          "head": 0, "left": ["3/10"], "right": ["8/5"])"},
      {"counterexample of head maps",
       R"("identity": "head_maps", "query_heads": 3, "groups": 2, "left": ["0", "0", "1"],
          "right": ["0", "1", "2"])"},
      // Scores x q k = 1 x 1 of two inputs: strengths 2^0, 2^1 for the second, and 1 for the first.
      {"counterexample of a layer",
       R"("identity": "layer_of_other_weights", "input": [["0"], ["1"]],
          "weights": {"query": [[["1"]]], "key": [[["1"]]], "value": [[["1"]]]},
          "other_weights": {"query": [[["1"]]], "key": [[["1"]]], "value": [[["3"]]]},
          "left": ["1/2", "2/3"], "right": ["3/2", "2"])"},
      {"counterexample",
       R"("identity": "mean_key_score_sum", "queries": [["1"], ["2"]], "keys": [["1"], ["3"]],
          "left": ["7"], "right": ["6"])"},
      // Pooled keys 1/2 and 0: strengths 2 and 1.
      {"counterexample of pooling",
       R"("identity": "mean_pooled_output", "keys": [[["0"], ["0"]], [["1"], ["0"]]],
          "values": [[["0"], ["1"]], [["0"], ["1"]]], "head": 0, "bases": ["2"],
          "key_scale": "2", "left": ["1/2"], "right": ["1/3"])"},
      // (2, -1) takes the values 1, 2 to zero, and the output 3/2, 5/3 to 4/3, times 6.
      {"counterexample of a matrix",
       R"("identity": "output_as_values_times_matrix", "values": [["1"], ["2"]],
          "patterns": [[["1/2", "1/2"], ["1/3", "2/3"]]], "projections": [[["6"]]],
          "row_combination": ["2", "-1"], "left": ["8"], "right": ["0"])"},
      // (112 + 3 x 48) positions of 2 heads with 64 x 2 and 3 x 34 bytes, twice.
      {"byte_ledger",
       R"("layers": [{"count": 1, "window": null}, {"count": 3, "window": 40}], "batch": 2,
          "positions": 100, "page_size": 16, "kv_num_heads": 2, "key_size": 64, "value_size": 96,
          "key_block": [2, 1], "value_block": [34, 32], "bytes_per_position": "1840",
          "bytes": "235520")"},
      {"polynomial_identity",
       R"x("left": "lambda*a*(a + r) - 2*(b - b)", "right": "a*(lambda*a + lambda*r)")x"},
  };
  return texts;
}

inline nlohmann::json certificate_of(const std::string& name) {
  const std::string kind = name.substr(0, name.find(' '));
  return nlohmann::json::parse(R"({"schema": "gqaverify.certificate/1", "kind": ")" + kind +
                               "\", " + certificate_texts().at(name) + "}");
}

}  // namespace gqa::test
