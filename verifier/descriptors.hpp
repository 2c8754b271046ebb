// The three standard descriptors, whatever the caller closed.
#pragma once

namespace gqa::program {

/// Opens descriptors 0 to 2 where the caller closed them, so that no file of ours ever takes their
/// numbers: a report for a closed standard output would be written into the journal. Each is opened
/// the wrong way round, so that reading or writing fails as it does on a closed descriptor.
void hold_standard_descriptors() noexcept;

}  // namespace gqa::program
