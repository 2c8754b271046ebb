// The ranks of an MPI launcher.
#pragma once

#include "cluster.hpp"

namespace gqa::program {

/// Initialises MPI and finalises it; one at a time, and one in a process's life.
class MpiCluster : public Cluster {
 public:
  MpiCluster();
  ~MpiCluster() override;

  bool is_first() const override { return rank_ == 0; }
  int size() const override { return size_; }
  void agree(const std::string& label, const std::string& details) override;
  AuditTally run(const BlockJob& job, Journal* journal) override;
  Ending settle(const Ending& mine) override;

 private:
  [[noreturn]] void differ(const std::vector<std::string>& steps);
  Ending apart_ending(const Ending& mine, const std::vector<std::string>& steps);

  int rank_ = 0;
  int size_ = 1;
  bool apart_ = false;  // the ranks are at different steps: no step is common any more
};

}  // namespace gqa::program
