// The flags that name a live kernel, its limits and its element type.
#pragma once

#include <CLI/CLI.hpp>
#include <optional>
#include <string>

#include "gqa/attention/typed_tensor.hpp"
#include "gqa/kernel/host.hpp"

namespace gqa::program {

/// --kernel, --kernel-options, --timeout, --memory.
class KernelFlags {
 public:
  void add_to(CLI::App& command, bool required);
  bool given() const { return !library_.empty(); }
  const std::string& library() const { return library_; }
  /// Loads the kernel and sets its options.
  /// Errors: those of KernelHost.
  KernelHost start() const;

 private:
  std::string library_;
  std::string options_;
  double seconds_ = 10;
  std::uint64_t memory_ = 2048;
  bool sandbox_ = false;
};

/// --type; nullopt: every type that an implementation takes.
class TypeFlag {
 public:
  void add_to(CLI::App& command, const std::string& help);
  std::optional<ElementType> type() const;

 private:
  std::string name_;
};

/// Of the types that probes are made in, those that the kernel takes.
std::vector<ElementType> probe_types(const KernelCapabilities& capabilities,
                                     const std::optional<ElementType>& chosen);

}  // namespace gqa::program
