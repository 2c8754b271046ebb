// Texts between the ranks of MPI_COMM_WORLD, waiting without burning a processor.
#pragma once

#include <mpi.h>

#include <optional>
#include <string>
#include <vector>

namespace gqa::program {

/// All of these are called by one thread of each rank.
int mpi_rank();
int mpi_size();

/// Every rank's text; of equal ones a single copy. Collective.
std::vector<std::string> exchange(const std::string& text);
/// The first rank's text. Collective.
std::string from_first(const std::string& text);

/// What a message between two ranks is.
enum class Message : int { block = 1, done = 2, stop = 3 };

void send(int to, Message kind, const std::string& text);

struct Received {
  int from = 0;
  Message kind = Message::block;
  std::string text;
};
/// A message that is there, if one is.
std::optional<Received> receive();

}  // namespace gqa::program
