// Fuzz target: a certificate is verified, rejected with a reason, or refused by an InputError.
#include <string_view>

#include "fuzz/fuzz_target.hpp"
#include "gqa/error.hpp"
#include "gqa/theory/certificate.hpp"

GQAVERIFY_FUZZ_TARGET(certificate, ".certificate.json") {
  try {
    const gqa::CertificateVerdict verdict =
        gqa::check_certificate({reinterpret_cast<const char*>(data), size}, "input");
    if (verdict.verified == verdict.statement.empty()) gqa::fuzz::fail();
    if (verdict.verified != verdict.reason.empty()) gqa::fuzz::fail();
  } catch (const gqa::InputError& error) {
    if (!error.where().starts_with("input")) gqa::fuzz::fail();
  }
  return 0;
}
