// What a kernel did to the memory that it was given.
#include <algorithm>
#include <cstring>

#include "gqa/kernel/kernel_call.hpp"

namespace gqa {
namespace {

// NaN in every floating-point format, so that what is read from a gap is seen in the output.
constexpr std::byte slack{0xff};

std::uint64_t fnv1a(std::span<const std::byte> bytes, std::uint64_t hash) {
  for (const std::byte byte : bytes) {
    hash = (hash ^ static_cast<std::uint64_t>(byte)) * 0x100000001b3;
  }
  return hash;
}

std::span<const std::byte> row_of(const KernelRegion& region, const std::byte* memory,
                                  std::uint64_t row) {
  return {memory + region.data + row * region.row_stride, region.row_bytes};
}

std::span<const std::byte> original_row(const KernelRegion& region, std::uint64_t row) {
  return std::span(region.tensor->bytes).subspan(row * region.row_bytes, region.row_bytes);
}

std::optional<std::uint64_t> first_changed_byte(const KernelRegion& region,
                                                const std::byte* memory) {
  for (std::uint64_t row = 0; row < region.rows; ++row) {
    const auto now = row_of(region, memory, row);
    const auto before = original_row(region, row);
    if (std::memcmp(now.data(), before.data(), now.size()) == 0) continue;
    const auto at = std::ranges::mismatch(now, before).in1;
    return row * region.row_bytes + static_cast<std::uint64_t>(at - now.begin());
  }
  return std::nullopt;
}

ChangedInput changed_input(const KernelRegion& region, const std::byte* memory,
                           std::uint64_t first) {
  ChangedInput change{std::string(region.name), static_cast<std::int64_t>(first),
                      0xcbf29ce484222325, 0xcbf29ce484222325};
  for (std::uint64_t row = 0; row < region.rows; ++row) {
    change.digest_before = fnv1a(original_row(region, row), change.digest_before);
    change.digest_after = fnv1a(row_of(region, memory, row), change.digest_after);
  }
  return change;
}

// The output, dense, with its unwritten elements counted.
void collect_output(const KernelRegion& region, const std::byte* memory, KernelRun& run) {
  auto output = std::make_shared<TypedTensor>();
  output->type = region.tensor->type;
  output->shape = region.tensor->shape;
  output->bytes.reserve(region.tensor->bytes.size());
  for (std::uint64_t row = 0; row < region.rows; ++row) {
    const auto bytes = row_of(region, memory, row);
    output->bytes.insert(output->bytes.end(), bytes.begin(), bytes.end());
  }
  const std::size_t size = element_size(output->type);
  const std::uint64_t pattern = unwritten_pattern(output->type);
  for (std::size_t i = 0; i < output->size(); ++i) {
    if (std::memcmp(output->bytes.data() + i * size, &pattern, size) != 0) continue;
    if (run.unwritten_elements++ == 0) run.first_unwritten = static_cast<std::int64_t>(i);
  }
  run.output = std::move(output);
}

}  // namespace

std::optional<std::int64_t> first_changed_slack(const KernelRegion& region,
                                                const std::byte* memory) {
  const auto search = [&](std::uint64_t begin, std::uint64_t end) -> std::optional<std::int64_t> {
    const auto* found =
        std::find_if(memory + begin, memory + end, [](std::byte byte) { return byte != slack; });
    if (found == memory + end) return std::nullopt;
    return (found - memory) - static_cast<std::int64_t>(region.data);
  };
  if (const auto before = search(region.begin, region.data)) return before;
  for (std::uint64_t row = 0; row < region.rows && region.row_stride > region.row_bytes; ++row) {
    const std::uint64_t start = region.data + row * region.row_stride;
    if (const auto gap = search(start + region.row_bytes, start + region.row_stride)) return gap;
  }
  return search(region.data + region.rows * region.row_stride, region.end);
}

void KernelCall::fill(std::byte* memory) const {
  for (const KernelRegion& region : regions_) {
    const bool has_gaps = region.row_stride > region.row_bytes;
    const std::uint64_t data_end = region.data + region.rows * region.row_stride;
    std::fill(memory + region.begin, memory + (has_gaps ? region.end : region.data), slack);
    std::fill(memory + data_end, memory + region.end, slack);
    for (std::uint64_t row = 0; row < region.rows; ++row) {
      std::ranges::copy(original_row(region, row), memory + region.data + row * region.row_stride);
    }
  }
}

void KernelCall::inspect(const std::byte* memory, KernelRun& run) const {
  for (const KernelRegion& region : regions_) {
    if (const auto offset = first_changed_slack(region, memory)) {
      run.outside_writes.push_back({std::string(region.name), *offset});
    }
    const bool is_output = &region == &regions_.front();
    if (is_output) {
      if (run.status == KernelStatus::finished) collect_output(region, memory, run);
    } else if (const auto first = first_changed_byte(region, memory)) {
      run.changed_inputs.push_back(changed_input(region, memory, *first));
    }
  }
}

MemoryFault KernelCall::locate(std::uint64_t offset, MemoryAccess access) const {
  const auto distance = [&](const KernelRegion& region) {
    return offset < region.begin ? region.begin - offset
                                 : (offset >= region.end ? offset - region.end + 1 : 0);
  };
  const auto nearest = std::ranges::min_element(regions_, {}, distance);
  return {access, std::string(nearest->name),
          static_cast<std::int64_t>(offset) - static_cast<std::int64_t>(nearest->data), 0};
}

}  // namespace gqa
