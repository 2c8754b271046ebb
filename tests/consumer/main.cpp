// What a project that uses an installed gqaverify has to write.
#include <iostream>

#include "gqa/error.hpp"
#include "gqa/num/rational.hpp"

int main() {
  const gqa::Rational sum = gqa::parse_rational("0.75") + gqa::parse_rational("0x1p-3");
  std::cout << "sum " << gqa::to_text(sum) << '\n';
  try {
    gqa::parse_rational("1/0", "denominator");
  } catch (const gqa::InputError& error) {
    std::cout << "refused " << error.code() << " at " << error.where() << '\n';
  }
}
