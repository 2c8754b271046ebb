// Faults of the softcap.
#include <array>

#include "gqa/diagnose/faults/fault.hpp"

namespace gqa {
namespace {

Edit apply_softcap_missing(Behaviour& b, std::int64_t) {
  if (b.contract.softcap == 0) return Edit::not_applicable;
  b.contract.softcap = 0;
  return Edit::changed;
}
Edit apply_after_mask(Behaviour& b, std::int64_t) {
  if (b.contract.softcap == 0) return Edit::not_applicable;
  b.softcap_after_mask = true;
  return Edit::changed;
}
Edit apply_overflow(Behaviour& b, std::int64_t) {
  if (b.contract.softcap == 0) return Edit::not_applicable;
  b.overflow.softcap = true;
  return Edit::changed;
}

Edit apply_tanh_product(Behaviour& b, std::int64_t) {
  if (b.contract.softcap == 0) return Edit::not_applicable;
  b.softcap_as_product = true;
  return Edit::changed;
}

constexpr std::array softcap_kinds{
    FaultKind{"softcap.missing", "the softcap is not applied", "s instead of c tanh(s / c)",
              apply_softcap_missing},
    FaultKind{"softcap.after_mask", "the softcap is applied after mask and bias",
              "c tanh((s + mask) / c): a masked key keeps the weight of the score -c",
              apply_after_mask},
    FaultKind{"softcap.tanh_product", "the softcap multiplies by the argument, not by the cap",
              "x tanh(x) instead of c tanh(x), x = s / c", apply_tanh_product},
    FaultKind{"softcap.overflow", "the softcap's tanh overflows",
              "(e^x - e^-x) / (e^x + e^-x) = inf / inf for |x| > 88.7", apply_overflow},
};

}  // namespace

std::span<const FaultKind> softcap_faults() {
  return softcap_kinds;
}

}  // namespace gqa
