// Exact integers as JSON, and sizes for people.
#pragma once

#include <gmpxx.h>

#include <nlohmann/json.hpp>
#include <string>

namespace gqa {

/// A JSON number if it fits in 64 bits with a sign, otherwise a string of its digits.
nlohmann::ordered_json integer_json(const mpz_class& value);

/// Digits in groups of three: "1,073,741,824".
std::string grouped_digits(const mpz_class& value);

/// "1,073,741,824 bytes (1 GiB)": exact, and in the largest binary unit that it reaches, with an
/// "about" where three decimals round it.
std::string bytes_text(const mpz_class& bytes);

}  // namespace gqa
