#include "mpi_job.hpp"

#include <fmt/format.h>

#include <chrono>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "gqa/audit/work/tally_record.hpp"
#include "gqa/error.hpp"
#include "mpi_exchange.hpp"

namespace gqa::program {
namespace {

using nlohmann::json;

// Thrown to end the work of a rank because another has failed.
struct Stopped {};

std::string text_of(const json& value) {
  return value.dump(-1, ' ', false, json::error_handler_t::replace);
}

std::string failure_text(const std::exception_ptr& error) {
  try {
    std::rethrow_exception(error);
  } catch (const InputError& input) {
    return text_of(
        {{"code", input.code()}, {"where", input.where()}, {"failure", input.message()}});
  } catch (const std::exception& other) {
    return text_of({{"failure", other.what()}});
  } catch (...) {
    return text_of({{"failure", "an unknown error"}});
  }
}

// The record, unless it is a failure.
json record_or_throw(const std::string& text) {
  json record = json::parse(text);
  if (!record.contains("failure")) return record;
  const std::string message = record["failure"];
  if (record.contains("code")) throw InputError(record["code"], record["where"], message);
  throw std::runtime_error(message);
}

}  // namespace

MpiJob::MpiJob(const BlockJob& job, Journal* journal)
    : job_(job), journal_(journal), rank_(mpi_rank()), size_(mpi_size()), merge_(job) {}

// The first rank knows what is left to do.
std::vector<std::int64_t> MpiJob::deal() {
  std::string text;
  if (rank_ == 0) {
    try {
      std::vector<std::int64_t> finished;
      if (journal_ != nullptr) {
        for (const Journal::Block& block : journal_->start(job_)) {
          merge_.add(block.tally);
          finished.push_back(block.block);
        }
      }
      text = text_of({{"pending", pending_blocks(job_, finished)}});
    } catch (const std::exception&) {
      text = failure_text(std::current_exception());
    }
  }
  const json record = record_or_throw(from_first(text));
  const json& pending = record.at("pending");
  std::vector<std::int64_t> mine;
  for (auto i = static_cast<std::size_t>(rank_); i < pending.size();
       i += static_cast<std::size_t>(size_)) {
    mine.push_back(pending[i]);
  }
  return mine;
}

void MpiJob::compute(const std::vector<std::int64_t>& blocks) {
  std::exception_ptr error;
  try {
    if (!blocks.empty()) {
      job_.run(blocks, [this](std::int64_t block, const AuditTally& tally) {
        const std::lock_guard lock(mutex_);
        if (stopped_) throw Stopped();
        finished_.push_back({block, tally});
        news_.notify_one();
      });
    }
  } catch (const Stopped&) {
    error = nullptr;
  } catch (...) {
    error = std::current_exception();
  }
  const std::lock_guard lock(mutex_);
  error_ = error;
  computed_ = true;
  news_.notify_one();
}

// What has been finished since; waits a moment for it.
std::deque<MpiJob::Finished> MpiJob::take_finished() {
  std::unique_lock lock(mutex_);
  if (finished_.empty() && !computed_) news_.wait_for(lock, std::chrono::milliseconds(1));
  return std::exchange(finished_, {});
}

void MpiJob::fail(std::exception_ptr error) {
  if (failure_.empty()) failure_ = failure_text(error);
}

void MpiJob::keep(std::int64_t block, const AuditTally& tally) {
  if (!failure_.empty()) return;
  try {
    if (journal_ != nullptr) journal_->append(block, tally);
    merge_.add(tally);
  } catch (const std::exception&) {
    fail(std::current_exception());
  }
}

void MpiJob::keep_message(const std::string& text) {
  const json record = json::parse(text);
  keep(record.at("block"), read_tally(record.at("tally"), job_.empty));
}

// The first rank: keeps its own blocks and those of others. Every other rank gets exactly one
// message to stop: at its own end, or early if somebody failed.
void MpiJob::serve(std::size_t computing) {
  std::vector<bool> told(static_cast<std::size_t>(size_), false);
  const auto tell = [&told](int rank) {
    if (!told[static_cast<std::size_t>(rank)]) send(rank, Message::stop, "");
    told[static_cast<std::size_t>(rank)] = true;
  };
  bool own_done = false;
  while (!own_done || computing > 0) {
    {
      const std::lock_guard lock(mutex_);
      own_done = computed_;
    }
    const std::deque<Finished> finished = take_finished();
    for (const Finished& block : finished) keep(block.block, block.tally);
    bool heard = false;
    while (const auto message = receive()) {
      heard = true;
      if (message->kind == Message::block) {
        keep_message(message->text);
        continue;
      }
      --computing;
      if (failure_.empty()) failure_ = message->text;
      tell(message->from);
    }
    if (own_done && error_) fail(error_);
    if (!failure_.empty()) {
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    for (int rank = 1; rank < size_ && !failure_.empty(); ++rank) tell(rank);
    if (own_done && !heard) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

void MpiJob::deliver() {
  bool sent_end = false;
  bool told = false;
  while (!sent_end || !told) {
    bool done = false;
    {
      const std::lock_guard lock(mutex_);
      done = computed_;
    }
    const std::deque<Finished> finished = take_finished();
    for (const Finished& block : finished) {
      send(0, Message::block,
           text_of({{"block", block.block}, {"tally", tally_record(block.tally)}}));
    }
    if (done && !sent_end) {
      send(0, Message::done, error_ ? failure_text(error_) : "");
      sent_end = true;
    }
    if (!told && receive()) {
      told = true;
      const std::lock_guard lock(mutex_);
      stopped_ = true;
    }
    if (sent_end && !told) std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

AuditTally MpiJob::outcome() {
  std::string text;
  if (rank_ == 0) text = failure_.empty() ? text_of(tally_record(merge_.take())) : failure_;
  return read_tally(record_or_throw(from_first(text)), job_.empty);
}

// An error here leaves the others waiting for messages: only the launcher can end them.
void MpiJob::communicate() {
  try {
    if (rank_ == 0) {
      serve(static_cast<std::size_t>(size_ - 1));
    } else {
      deliver();
    }
  } catch (const std::exception& error) {
    std::fputs(fmt::format("gqaverify: rank {}: internal error: {}\n", rank_, error.what()).c_str(),
               stderr);
    MPI_Abort(MPI_COMM_WORLD, internal_error);
  }
}

AuditTally MpiJob::run() {
  const std::vector<std::int64_t> mine = deal();
  {
    const std::jthread worker([this, &mine] { compute(mine); });
    communicate();
  }
  return outcome();
}

}  // namespace gqa::program
