#include <nyala/tests/conformance/communicators/ranks.h>

#include <chrono>
#include <ostream>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/comm/local_communicators.h>

namespace nyala::testing {

const std::vector<CommunicatorKind>& communicator_kinds() {
  static const auto& kinds = *new std::vector<CommunicatorKind>{
      {"local", [](const CommunicatorOptions& options) { return local_communicators(options); }},
  };
  return kinds;
}

void PrintTo(const CommunicatorKind& kind, std::ostream* out) { *out << kind.name; }

void RankEnd::rethrow() const {
  if (error) std::rethrow_exception(error);
}

std::string RankEnd::text() const {
  try {
    rethrow();
  } catch (const CommunicationError& caught) {
    return caught.what();
  } catch (...) {
  }
  return "";
}

std::vector<RankEnd> run_ranks(const std::vector<std::shared_ptr<Communicator>>& ranks,
                               const RankBody& body) {
  std::vector<RankEnd> ends(ranks.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < ranks.size(); ++rank) {
    threads.emplace_back([&, rank] {
      const auto begun = std::chrono::steady_clock::now();
      try {
        body(*ranks[rank]);
      } catch (...) {
        ends[rank].error = std::current_exception();
      }
      ends[rank].seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begun).count();
    });
  }
  for (std::thread& thread : threads) thread.join();
  return ends;
}

void on_ranks(const CommunicatorKind& kind, CommunicatorOptions options, const RankBody& body) {
  for (const RankEnd& end : run_ranks(kind.make(options), body)) end.rethrow();
}

INSTANTIATE_TEST_SUITE_P(All, Communicators, ::testing::ValuesIn(communicator_kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace nyala::testing
