#include "gqa/io/npz.hpp"

#include <fmt/format.h>
#include <zip.h>

#include <memory>
#include <vector>

#include "gqa/error.hpp"
#include "gqa/io/file.hpp"
#include "gqa/io/json.hpp"
#include "gqa/io/npy.hpp"

namespace gqa {
namespace {

// A deflate block codes at most 258 bytes in 2 bits: 1032 bytes from one.
constexpr std::uint64_t largest_deflate_ratio = 1032;

struct CloseArchive {
  void operator()(zip_t* archive) const { zip_discard(archive); }
};
struct CloseEntry {
  void operator()(zip_file_t* entry) const { zip_fclose(entry); }
};
using Archive = std::unique_ptr<zip_t, CloseArchive>;

struct NpyEntry {
  std::string name;
  std::string where;
  zip_uint64_t index = 0;
  std::uint64_t size = 0;
  std::uint64_t compressed_size = 0;
};

Archive open_archive(std::span<const std::byte> bytes, const std::string& where) {
  zip_error_t error;
  zip_error_init(&error);
  zip_source_t* source = zip_source_buffer_create(bytes.data(), bytes.size(), 0, &error);
  zip_t* archive = source == nullptr
                       ? nullptr
                       : zip_open_from_source(source, ZIP_RDONLY | ZIP_CHECKCONS, &error);
  const std::string reason = zip_error_strerror(&error);
  const bool duplicate = zip_error_code_zip(&error) == ZIP_ER_EXISTS;
  zip_error_fini(&error);
  if (archive == nullptr) {
    // Opening takes over the source only if it succeeds.
    if (source != nullptr) zip_source_free(source);
    if (duplicate) throw InputError("npz.duplicate_name", where, "the archive has a name twice");
    throw InputError("npz.not_a_zip", where,
                     fmt::format("{} bytes that are not a zip archive: {}", bytes.size(), reason));
  }
  return Archive(archive);
}

std::string tensor_name(std::string_view file_name, const std::string& where) {
  constexpr std::string_view suffix = ".npy";
  const bool plain = file_name.find_first_of(std::string_view("/\\\0", 3)) == file_name.npos;
  if (!plain || !file_name.ends_with(suffix) || file_name.size() == suffix.size()) {
    throw InputError("npz.bad_name", where, "the name is not NAME.npy without directories");
  }
  return std::string(file_name.substr(0, file_name.size() - suffix.size()));
}

void check_size(const NpyEntry& entry, bool deflated) {
  const bool plausible =
      deflated ? entry.size == 0 || (entry.size - 1) / largest_deflate_ratio < entry.compressed_size
               : entry.size == entry.compressed_size;
  if (plausible) return;
  throw InputError(
      "npz.implausible_size", entry.where,
      fmt::format("{} {} bytes cannot unpack to the declared {}", entry.compressed_size,
                  deflated ? "deflated" : "stored", entry.size));
}

NpyEntry describe_entry(zip_t* archive, zip_uint64_t index, const std::string& where) {
  zip_stat_t stat;
  zip_stat_init(&stat);
  constexpr zip_uint64_t needed = ZIP_STAT_NAME | ZIP_STAT_SIZE | ZIP_STAT_COMP_SIZE |
                                  ZIP_STAT_COMP_METHOD | ZIP_STAT_ENCRYPTION_METHOD;
  if (zip_stat_index(archive, index, ZIP_FL_ENC_RAW, &stat) != 0 ||
      (stat.valid & needed) != needed) {
    throw InputError("npz.not_a_zip", where,
                     fmt::format("the directory does not describe entry {}", index));
  }
  NpyEntry entry;
  entry.where = fmt::format("{}: entry {}", where, printable(stat.name));
  entry.name = tensor_name(stat.name, entry.where);
  entry.index = index;
  entry.size = stat.size;
  entry.compressed_size = stat.comp_size;
  const bool known = stat.comp_method == ZIP_CM_STORE || stat.comp_method == ZIP_CM_DEFLATE;
  if (!known || stat.encryption_method != ZIP_EM_NONE) {
    throw InputError("npz.unsupported_entry", entry.where,
                     fmt::format("compression method {}, encryption method {}; stored (0) or "
                                 "deflated (8) without encryption (0) is read",
                                 stat.comp_method, stat.encryption_method));
  }
  check_size(entry, stat.comp_method == ZIP_CM_DEFLATE);
  return entry;
}

// All entries, with their sizes checked one by one and together.
std::vector<NpyEntry> describe_entries(zip_t* archive, std::uint64_t file_size,
                                       const std::string& where) {
  const auto count = static_cast<zip_uint64_t>(zip_get_num_entries(archive, 0));
  if (count == 0) throw InputError("npz.empty", where, "is empty, or an archive without entries");
  std::vector<NpyEntry> entries;
  std::uint64_t compressed_left = file_size;
  std::uint64_t content_left = max_npz_content(file_size);
  for (zip_uint64_t index = 0; index < count; ++index) {
    NpyEntry entry = describe_entry(archive, index, where);
    if (entry.compressed_size > compressed_left) {
      throw InputError("npz.overlap", entry.where,
                       fmt::format("{} compressed bytes, together with the entries before it, are "
                                   "more than the file's {}",
                                   entry.compressed_size, file_size));
    }
    if (entry.size > content_left) {
      throw InputError(
          "npz.too_large", entry.where,
          fmt::format("{} bytes, together with the entries before it, exceed the {} that a file "
                      "of {} may unpack to",
                      entry.size, max_npz_content(file_size), file_size));
    }
    compressed_left -= entry.compressed_size;
    content_left -= entry.size;
    entries.push_back(std::move(entry));
  }
  return entries;
}

std::vector<std::byte> unpack(zip_t* archive, const NpyEntry& entry) {
  const auto fail = [&entry](const std::string& reason) {
    throw InputError("npz.corrupt", entry.where, reason);
  };
  const std::unique_ptr<zip_file_t, CloseEntry> file(zip_fopen_index(archive, entry.index, 0));
  if (file == nullptr) fail(zip_error_strerror(zip_get_error(archive)));
  std::vector<std::byte> content(entry.size);
  std::uint64_t used = 0;
  // The last read asks for one byte beyond the declared end: there the checksum is compared.
  while (true) {
    std::byte beyond{};
    const bool at_end = used == entry.size;
    const zip_int64_t got = zip_fread(file.get(), at_end ? &beyond : content.data() + used,
                                      at_end ? 1 : entry.size - used);
    if (got < 0) fail(zip_error_strerror(zip_file_get_error(file.get())));
    if (got == 0) break;
    if (at_end) fail(fmt::format("unpacks to more than the declared {} bytes", entry.size));
    used += static_cast<std::uint64_t>(got);
  }
  if (used != entry.size) {
    fail(fmt::format("unpacks to {} bytes, not the declared {}", used, entry.size));
  }
  return content;
}

}  // namespace

std::map<std::string, TypedTensor> parse_npz(std::span<const std::byte> bytes,
                                             const std::string& where) {
  const Archive archive = open_archive(bytes, where);
  std::map<std::string, TypedTensor> tensors;
  for (const NpyEntry& entry : describe_entries(archive.get(), bytes.size(), where)) {
    tensors.emplace(entry.name, parse_npy(unpack(archive.get(), entry), entry.where));
  }
  return tensors;
}

std::map<std::string, TypedTensor> read_npz(const std::filesystem::path& path) {
  return parse_npz(read_file(path), path.string());
}

}  // namespace gqa
