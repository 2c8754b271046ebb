#include "mpi_cluster.hpp"

#include <fmt/format.h>
#include <mpi.h>

#include <nlohmann/json.hpp>

#include "gqa/error.hpp"
#include "mpi_exchange.hpp"
#include "mpi_job.hpp"

namespace gqa::program {
namespace {

constexpr const char* end_label = "its end";

// The first line is for people; the second, the ending of a rank that has come to it.
std::string first_line(const std::string& step) {
  return step.substr(0, step.find('\n'));
}

std::optional<Ending> ending_of(const std::string& step) {
  if (first_line(step) != end_label) return std::nullopt;
  const auto json = nlohmann::json::parse(step.substr(step.find('\n') + 1));
  return Ending{static_cast<ExitStatus>(json["status"].get<int>()), json["message"]};
}

// Two steps in words: their labels, or the first line of details that differs.
std::pair<std::string, std::string> difference(const std::string& a, const std::string& b) {
  if (first_line(a) != first_line(b)) return {first_line(a), first_line(b)};
  std::size_t begin_a = 0;
  std::size_t begin_b = 0;
  while (true) {
    const std::size_t end_a = a.find('\n', begin_a);
    const std::size_t end_b = b.find('\n', begin_b);
    const std::string line_a = a.substr(begin_a, end_a - begin_a);
    const std::string line_b = b.substr(begin_b, end_b - begin_b);
    if (line_a != line_b || end_a == std::string::npos || end_b == std::string::npos) {
      return {fmt::format("{}, with {}", first_line(a), line_a),
              fmt::format("{}, with {}", first_line(b), line_b)};
    }
    begin_a = end_a + 1;
    begin_b = end_b + 1;
  }
}

}  // namespace

MpiCluster::MpiCluster() {
  int provided = 0;
  // The main thread alone talks to MPI; others compute meanwhile.
  if (MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS ||
      provided < MPI_THREAD_FUNNELED) {
    throw InputError("cluster.launcher", "MPI", "cannot be initialised with threads");
  }
  rank_ = mpi_rank();
  size_ = mpi_size();
}

MpiCluster::~MpiCluster() {
  MPI_Finalize();
}

void MpiCluster::differ(const std::vector<std::string>& steps) {
  apart_ = true;
  for (std::size_t r = 0; r < steps.size(); ++r) {
    const auto ending = ending_of(steps[r]);
    if (!ending || ending->message.empty()) continue;
    throw InputError("cluster.ranks_differ", fmt::format("rank {}", r), ending->message);
  }
  std::size_t other = 1;
  while (steps[other] == steps[0]) ++other;
  const auto [here, there] = difference(steps[0], steps[other]);
  throw InputError("cluster.ranks_differ", fmt::format("rank {}", other),
                   fmt::format("is at {}; rank 0 is at {}", there, here));
}

void MpiCluster::agree(const std::string& label, const std::string& details) {
  const std::vector<std::string> steps = exchange(label + "\n" + details);
  if (steps.size() > 1) differ(steps);
}

AuditTally MpiCluster::run(const BlockJob& job, Journal* journal) {
  std::string details;
  for (const IdentityField& field : job.identity) {
    details += fmt::format("{} {}\n", field.name, field.value);
  }
  agree(fmt::format("the audit of {}", job.output), fmt::format("{}{} blocks", details, job.count));
  return MpiJob(job, journal).run();
}

// Others are still on their way: they learn of this ending there.
Ending MpiCluster::apart_ending(const Ending& mine, const std::vector<std::string>& steps) {
  try {
    differ(steps);
  } catch (const InputError& error) {
    if (!mine.message.empty()) return mine;
    return {bad_input, fmt::format("{} [{}]", error.what(), error.code())};
  }
}

Ending MpiCluster::settle(const Ending& mine) {
  if (apart_) return mine;
  const nlohmann::json json = {{"status", static_cast<int>(mine.status)},
                               {"message", mine.message}};
  const std::vector<std::string> steps = exchange(fmt::format(
      "{}\n{}", end_label, json.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace)));
  if (steps.size() == 1) return mine;
  Ending settled;
  for (std::size_t r = 0; r < steps.size(); ++r) {
    const auto ending = ending_of(steps[r]);
    if (!ending) return apart_ending(mine, steps);
    if (r == 0) settled = *ending;
    if (ending->message.empty() || !settled.message.empty()) continue;
    settled = {ending->status, fmt::format("rank {}: {}", r, ending->message)};
  }
  return settled;
}

}  // namespace gqa::program
