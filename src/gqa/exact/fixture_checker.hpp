// The checks of one fixture, gathered in one report. Private to exact/.
#pragma once

#include <fmt/format.h>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gqa/exact/fixture.hpp"

namespace gqa {

/// Position of a flat index in a tensor, for messages: "[0, 1, 0, 2]".
std::string index_text(const Shape& shape, std::size_t index);

class FixtureChecker {
 public:
  explicit FixtureChecker(const Fixture& fixture) : fixture_(fixture) {}
  FixtureReport run();

 private:
  using Result = AttentionResult<GmpNumbers>;

  template <class... Args>
  void fail(fmt::format_string<Args...> text, Args&&... args) {
    report_.failures.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  template <class... Args>
  void note(fmt::format_string<Args...> text, Args&&... args) {
    report_.also_checked.push_back(fmt::format(text, std::forward<Args>(args)...));
  }

  // Expectations on the problem itself: fixture_check.cpp.
  void expect_tensor(const Problem<GmpNumbers>& problem, const Result& result,
                     const ExpectedTensor& expected, const char* what);
  void check_weights();
  void check_head_map();
  void check_empty_rows();
  void check_second_engine();
  void check_floats();

  // Relations to other problems and points: fixture_relations.cpp.
  void check_pairs();
  void check_map(const MapComparison& comparison);
  void check_permutation();
  void check_pooling();
  void check_segment();

  // The same result by other ways: fixture_layer.cpp, fixture_rotary.cpp, fixture_merges.cpp.
  void check_other_layer(const LayerExpectation& expected);
  void check_position_shifts();
  void check_merge(const MergeExpectation& expected);
  void check_online_softmax();

  // What backpropagation gives: fixture_gradients.cpp.
  void check_gradients();

  /// Fails at every element where the two differ, or once if their shapes do.
  template <class T>
  void expect_elements(const Tensor<T>& found, const Tensor<T>& expected, std::string_view what) {
    if (found.shape() != expected.shape()) {
      fail("{}: shape {}, expected {}", what, to_text(found.shape()), to_text(expected.shape()));
      return;
    }
    for (std::size_t i = 0; i < expected.size(); ++i) {
      if (found.data()[i] == expected.data()[i]) continue;
      fail("{}{}: {}, expected {}", what, index_text(expected.shape(), i), to_text(found.data()[i]),
           to_text(expected.data()[i]));
    }
  }

  const Fixture& fixture_;
  Result result_;
  FixtureReport report_;
};

/// The elements cast one by one, in one shape.
template <class To, class From, class Cast>
Tensor<To> cast_tensor(const Tensor<From>& from, Cast cast) {
  std::vector<To> data;
  data.reserve(from.size());
  for (const From& value : from.data()) data.push_back(cast(value));
  return Tensor<To>(from.shape(), std::move(data));
}

/// The same problem in the second engine.
Problem<BoostNumbers> to_second_engine(const Problem<GmpNumbers>& problem);

}  // namespace gqa
