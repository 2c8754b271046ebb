// The updated caches: present_key and present_value against past followed by new.
#pragma once

#include <memory>
#include <string>

#include "gqa/attention/attention_problem.hpp"
#include "gqa/audit/decide/audit_result.hpp"
#include "gqa/audit/work/audit_job.hpp"

namespace gqa {

/// Compares `present` [B, Hkv, P + S, width] with `history` bit for bit: NaN payloads and the
/// sign of zero count, no tolerance applies, and every element is decided exactly. Indices
/// are [b, KV head, key, column].
///
/// Errors: InputError at `where`: "contract.shape_rank"; "contract.shape_mismatch";
/// "contract.element_type" (another type than the past or the new rows have);
/// "audit.nothing_to_audit" (no element).
AuditResult audit_present(const History& history, const std::shared_ptr<const TypedTensor>& present,
                          const std::string& where);

}  // namespace gqa
