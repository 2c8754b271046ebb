#include "probe_files.hpp"

#include <fmt/format.h>

#include "gqa/attention/problem_tensor_names.hpp"
#include "gqa/diagnose/probes/probe_list.hpp"
#include "gqa/error.hpp"
#include "gqa/io/contract_json.hpp"
#include "gqa/io/npy.hpp"
#include "gqa/io/recording.hpp"
#include "gqa/io/safetensors.hpp"

namespace gqa::program {
namespace {

std::filesystem::path file_of(const std::filesystem::path& directory, const Probe& probe) {
  return directory / (probe.name + ".safetensors");
}

void require_unchanged(const Recording& found, const Probe& probe) {
  for (const auto& [field_name, field] : input_tensors()) {
    const auto& left = found.tensors.*field;
    const auto& right = probe.tensors.*field;
    const bool same = left ? right && left->type == right->type && left->shape == right->shape &&
                                 left->bytes == right->bytes
                           : !right;
    if (!same) {
      throw InputError("probe.changed", fmt::format("{}: {}", found.path, field_name),
                       "is not what the probe holds; write the probes again");
    }
  }
}

void require_shape(const TypedTensor& output, const Probe& probe, const std::string& where) {
  Shape expected = probe.tensors.query->shape;
  const Shape& value = probe.tensors.value->shape;
  if (probe.contract.layout == Layout::bsh) {
    expected.back() = value.back() / *probe.contract.kv_num_heads * *probe.contract.q_num_heads;
  } else {
    expected.back() = value.back();
  }
  if (output.shape != expected) {
    throw InputError("probe.output_shape", where,
                     fmt::format("shape {} does not fit; expected {}", to_text(output.shape),
                                 to_text(expected)));
  }
  if (output.type != probe.tensors.query->type) {
    throw InputError("probe.output_type", where,
                     fmt::format("holds {}; the probe is in {}", name(output.type),
                                 name(probe.tensors.query->type)));
  }
}

ProbeResult answer_of(const std::filesystem::path& directory, const Probe& probe) {
  const Recording found = read_recording(file_of(directory, probe));
  require_unchanged(found, probe);
  ProbeResult result;
  result.answer.output = found.tensors.output;
  std::string where = found.path + ": output";
  const std::filesystem::path array = directory / (probe.name + ".output.npy");
  if (!result.answer.output && std::filesystem::exists(array)) {
    result.answer.output = std::make_shared<const TypedTensor>(read_npy(array));
    where = array.string();
  }
  if (result.answer.output) require_shape(*result.answer.output, probe, where);
  result.answer.supported = result.answer.output != nullptr;
  result.probe = probe;
  result.probe.tensors.output = result.answer.output;
  return result;
}

// A file that is not what it must be is one answer, and the rest goes on.
ProbeResult guarded_answer_of(const std::filesystem::path& directory, const Probe& probe) {
  try {
    return answer_of(directory, probe);
  } catch (const InputError& error) {
    ProbeResult result;
    result.probe = probe;
    result.error = fmt::format("{} [{}]", error.what(), error.code());
    return result;
  }
}

// The type that a probe is in; nullopt: its file does not tell.
std::optional<ElementType> type_of(const std::filesystem::path& file) {
  try {
    const Recording recording = read_recording(file);
    if (recording.tensors.query) return recording.tensors.query->type;
  } catch (const InputError&) {
    // Told where its answer is read.
  }
  return std::nullopt;
}

}  // namespace

std::size_t write_probes(const std::filesystem::path& directory, ElementType type) {
  std::error_code failure;
  std::filesystem::create_directories(directory, failure);
  std::size_t written = 0;
  for (const Probe& probe : probes(type)) {
    if (probe.key_row_stride_factor != 1) continue;  // strides are not in files
    SafetensorsFile file;
    file.metadata["attention"] = to_json(probe.contract).dump();
    file.metadata["probe"] = probe.name;
    file.metadata["reads"] = probe.reads;
    for (const auto& [field_name, field] : input_tensors()) {
      if (probe.tensors.*field) file.tensors[std::string(field_name)] = *(probe.tensors.*field);
    }
    write_safetensors(file_of(directory, probe), file);
    ++written;
  }
  return written;
}

std::vector<ProbeResult> read_answers(const std::filesystem::path& directory, ElementType& type) {
  std::vector<ProbeResult> results;
  bool any = false;
  std::optional<ElementType> found_type;
  for (const Probe& probe : probes(ElementType::binary32)) {
    const std::filesystem::path file = file_of(directory, probe);
    if (!std::filesystem::exists(file)) continue;
    any = true;
    if (!found_type) found_type = type_of(file);
  }
  if (!any) {
    throw InputError("probe.none_found", directory.string(),
                     "holds no probe; gqaverify probe write makes them");
  }
  type = found_type.value_or(ElementType::binary32);
  for (const Probe& probe : probes(type)) {
    if (probe.key_row_stride_factor != 1) continue;
    if (std::filesystem::exists(file_of(directory, probe))) {
      results.push_back(guarded_answer_of(directory, probe));
    }
  }
  return results;
}

}  // namespace gqa::program
