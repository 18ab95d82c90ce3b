#pragma once

#include <exception>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/strategies/communicators/communicator.h>
#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala::testing {

/// A way to make communicators, of which every test is run.
struct CommunicatorKind {
  std::string name;
  /// One for each of options.size ranks.
  std::function<std::vector<std::shared_ptr<Communicator>>(const CommunicatorOptions&)> make;
};

/// All that this build has.
const std::vector<CommunicatorKind>& communicator_kinds();

using MakeRank = std::function<std::shared_ptr<Communicator>(const CommunicatorOptions&,
                                                             const std::shared_ptr<Rendezvous>&)>;

/// A way to make communicators among processes.
struct ProcessKind {
  std::string name;
  MakeRank make;
  bool all_know_who = true;  // is lost; otherwise only that one is
  /// Of a killed rank, at once. Gloo misses an end now and then: its ranks hear of that one by their timeout.
  bool sees_every_end = true;
};

const std::vector<ProcessKind>& process_kinds();

void PrintTo(const ProcessKind& kind, std::ostream* out);

/// Ranks that meet at a folder, each made by a thread of its own. Throws the first error.
std::vector<std::shared_ptr<Communicator>> meeting_at(const CommunicatorOptions& options,
                                                      const MakeRank& make);

void PrintTo(const CommunicatorKind& kind, std::ostream* out);

/// What happened to one rank.
struct RankEnd {
  std::exception_ptr error;
  double seconds = 0;
  /// Throws the error, if there is one.
  void rethrow() const;
  /// The text of the CommunicationError that it ended with; "" where it ended otherwise.
  std::string text() const;
  template <class Error>
  bool ended_with() const {
    try {
      rethrow();
    } catch (const Error&) {
      return true;
    } catch (...) {
    }
    return false;
  }
};

using RankBody = std::function<void(Communicator&)>;

/// Each rank in a thread of its own.
std::vector<RankEnd> run_ranks(const std::vector<std::shared_ptr<Communicator>>& ranks, const RankBody& body);
/// The same, in new communicators; throws the first error.
void on_ranks(const CommunicatorKind& kind, CommunicatorOptions options, const RankBody& body);

/// The two ends of a connection over the loopback.
std::pair<int, int> connected_pair();

class Communicators : public ::testing::TestWithParam<CommunicatorKind> {
 protected:
  static CommunicatorOptions group_of(int size) {
    return {.size = size, .timeout = std::chrono::seconds(30)};
  }
  static void on(int size, const RankBody& body) { on_ranks(GetParam(), group_of(size), body); }
};

}  // namespace nyala::testing
