#include "kernel_flags.hpp"

#include <array>

#include "gqa/error.hpp"
#include "taken_words.hpp"

namespace gqa::program {
namespace {

constexpr std::array probed_types{ElementType::binary64, ElementType::binary32,
                                  ElementType::binary16, ElementType::bfloat16};

}  // namespace

void KernelFlags::add_to(CLI::App& command, bool required) {
  command.add_option("--kernel", library_, "Shared object that exports gqa_kernel_run")
      ->type_name("LIB.so")
      ->required(required);
  command.add_option("--kernel-options", options_, "Passed to the kernel's gqa_kernel_configure")
      ->type_name("TEXT");
  command.add_option("--timeout", seconds_, "Seconds that one call may take")
      ->type_name("SECONDS")
      ->check(number_between(0.001, 86400))
      ->capture_default_str();
  command.add_flag(
      "--sandbox", sandbox_,
      "Run the kernel without files but libraries, without network and other processes");
  command.add_option("--memory", memory_, "MiB that the kernel may use, tensors not counted")
      ->type_name("N")
      ->check(integer_between(1, std::uint64_t{1} << 30))
      ->capture_default_str();
}

KernelHost KernelFlags::start() const {
  KernelLimits limits;
  limits.seconds = seconds_;
  limits.memory_bytes = memory_ << 20;
  limits.sandbox = sandbox_;
  KernelHost host(library_, limits);
  if (!options_.empty()) host.configure(options_);
  return host;
}

void TypeFlag::add_to(CLI::App& command, const std::string& help) {
  std::vector<std::string> names;
  for (const ElementType type : probed_types) names.emplace_back(name(type));
  command.add_option("--type", name_, help)
      ->type_name("NAME")
      ->transform(one_of(names, {{"fp64", "binary64"},
                                 {"float64", "binary64"},
                                 {"double", "binary64"},
                                 {"f64", "binary64"},
                                 {"fp32", "binary32"},
                                 {"float32", "binary32"},
                                 {"float", "binary32"},
                                 {"f32", "binary32"},
                                 {"fp16", "binary16"},
                                 {"float16", "binary16"},
                                 {"half", "binary16"},
                                 {"f16", "binary16"},
                                 {"bf16", "bfloat16"}}));
}

std::optional<ElementType> TypeFlag::type() const {
  for (const ElementType type : probed_types) {
    if (name_ == name(type)) return type;
  }
  return std::nullopt;
}

std::vector<ElementType> probe_types(const KernelCapabilities& capabilities,
                                     const std::optional<ElementType>& chosen) {
  std::vector<ElementType> types;
  for (const ElementType type : probed_types) {
    if (chosen ? *chosen == type : capabilities.supports(type)) types.push_back(type);
  }
  if (types.empty() || (chosen && !capabilities.supports(*chosen))) {
    throw InputError("kernel.element_type", "--type",
                     "the kernel takes none of the element types asked for");
  }
  return types;
}

}  // namespace gqa::program
