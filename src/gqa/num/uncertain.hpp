// Three-valued answers: a comparison of enclosures may be open.
#pragma once

namespace gqa {

/// The answer to a question about a number that is known only within bounds.
///
/// There is no conversion to bool: whoever branches must say whether an open
/// answer counts as yes or as no (`certainly`, `possibly`).
class Uncertain {
 public:
  static constexpr Uncertain no() { return Uncertain(State::no); }
  static constexpr Uncertain unknown() { return Uncertain(State::unknown); }
  static constexpr Uncertain yes() { return Uncertain(State::yes); }
  static constexpr Uncertain from(bool answer) { return answer ? yes() : no(); }

  constexpr bool certainly() const { return state_ == State::yes; }
  constexpr bool certainly_not() const { return state_ == State::no; }
  constexpr bool possibly() const { return state_ != State::no; }
  constexpr bool is_decided() const { return state_ != State::unknown; }

  friend constexpr bool operator==(Uncertain, Uncertain) = default;
  /// Kleene's strong connectives: decided as soon as one side forces it.
  friend constexpr Uncertain operator&(Uncertain a, Uncertain b) {
    return a.state_ < b.state_ ? a : b;
  }
  friend constexpr Uncertain operator|(Uncertain a, Uncertain b) {
    return a.state_ < b.state_ ? b : a;
  }
  friend constexpr Uncertain operator!(Uncertain a) {
    return a.is_decided() ? from(a.certainly_not()) : a;
  }

 private:
  enum class State : signed char { no = -1, unknown = 0, yes = 1 };
  constexpr explicit Uncertain(State state) : state_(state) {}
  State state_;
};

}  // namespace gqa
