#include "mpi_exchange.hpp"

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <numeric>
#include <stdexcept>
#include <thread>

#include "gqa/audit/work/problem_digest.hpp"

namespace gqa::program {
namespace {

int length_of(const std::string& text) {
  if (text.size() > (1U << 30)) throw std::runtime_error("a message between ranks is too long");
  return static_cast<int>(text.size());
}

// MPI's own waiting takes a whole processor, which other ranks may need.
void wait(MPI_Request& request) {
  int finished = 0;
  for (int tries = 0; true; ++tries) {
    MPI_Test(&request, &finished, MPI_STATUS_IGNORE);
    if (finished != 0) return;
    if (tries > 100) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

// 64 bits of checksum and the length tell texts apart.
struct Fingerprint {
  std::uint64_t checksum = 0;
  std::uint64_t length = 0;
  bool operator==(const Fingerprint&) const = default;
};

}  // namespace

int mpi_rank() {
  int rank = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  return rank;
}

int mpi_size() {
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  return size;
}

std::vector<std::string> exchange(const std::string& text) {
  const auto ranks = static_cast<std::size_t>(mpi_size());
  const Fingerprint own{crc64(std::as_bytes(std::span(text))), text.size()};
  std::vector<Fingerprint> all(ranks);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Iallgather(&own, sizeof own, MPI_BYTE, all.data(), sizeof own, MPI_BYTE, MPI_COMM_WORLD,
                 &request);
  wait(request);
  if (std::ranges::all_of(all, [&own](const Fingerprint& other) { return other == own; })) {
    return {text};
  }
  std::vector<int> lengths;
  for (const Fingerprint& one : all) lengths.push_back(static_cast<int>(one.length));
  std::vector<int> offsets(ranks, 0);
  std::partial_sum(lengths.begin(), lengths.end() - 1, offsets.begin() + 1);
  std::string joined(static_cast<std::size_t>(offsets.back() + lengths.back()), '\0');
  MPI_Iallgatherv(text.data(), length_of(text), MPI_BYTE, joined.data(), lengths.data(),
                  offsets.data(), MPI_BYTE, MPI_COMM_WORLD, &request);
  wait(request);
  std::vector<std::string> texts;
  for (std::size_t r = 0; r < ranks; ++r) {
    texts.push_back(
        joined.substr(static_cast<std::size_t>(offsets[r]), static_cast<std::size_t>(lengths[r])));
  }
  return texts;
}

std::string from_first(const std::string& text) {
  int length = length_of(text);
  MPI_Request request = MPI_REQUEST_NULL;
  MPI_Ibcast(&length, 1, MPI_INT, 0, MPI_COMM_WORLD, &request);
  wait(request);
  std::string received = text;
  received.resize(static_cast<std::size_t>(length));
  MPI_Ibcast(received.data(), length, MPI_BYTE, 0, MPI_COMM_WORLD, &request);
  wait(request);
  return received;
}

void send(int to, Message kind, const std::string& text) {
  MPI_Send(text.data(), length_of(text), MPI_BYTE, to, static_cast<int>(kind), MPI_COMM_WORLD);
}

std::optional<Received> receive() {
  int there = 0;
  MPI_Status status;
  MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, &there, &status);
  if (there == 0) return std::nullopt;
  int length = 0;
  MPI_Get_count(&status, MPI_BYTE, &length);
  Received message{status.MPI_SOURCE, static_cast<Message>(status.MPI_TAG), {}};
  message.text.resize(static_cast<std::size_t>(length));
  MPI_Recv(message.text.data(), length, MPI_BYTE, status.MPI_SOURCE, status.MPI_TAG, MPI_COMM_WORLD,
           MPI_STATUS_IGNORE);
  return message;
}

}  // namespace gqa::program
