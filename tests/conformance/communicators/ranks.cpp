#include <nyala/tests/conformance/communicators/ranks.h>

#include <stdlib.h>

#include <chrono>
#include <filesystem>
#include <ostream>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/comm/file_rendezvous.h>
#include <nyala/strategies/comm/local_communicators.h>
#include <nyala/strategies/comm/shared_memory_communicator.h>

namespace nyala::testing {

TestFolder::TestFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "nyala-ranks-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr) throw IoError("no temporary folder");
  path_ = name;
}

TestFolder::~TestFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

std::vector<std::shared_ptr<Communicator>> meeting_at(const CommunicatorOptions& options,
                                                      const MakeRank& make) {
  const TestFolder folder;
  std::vector<std::shared_ptr<Communicator>> all(static_cast<size_t>(std::max(options.size, 1)));
  std::vector<std::exception_ptr> errors(all.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        CommunicatorOptions own = options;
        own.rank = static_cast<int>(rank);
        FileRendezvous rendezvous(folder.path());
        all[rank] = make(own, rendezvous);
      } catch (...) {
        errors[rank] = std::current_exception();
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const std::exception_ptr& error : errors)
    if (error) std::rethrow_exception(error);
  return all;
}

const std::vector<ProcessKind>& process_kinds() {
  static const auto& kinds = *new std::vector<ProcessKind>{
      {"shared_memory", shared_memory_communicator},
  };
  return kinds;
}

const std::vector<CommunicatorKind>& communicator_kinds() {
  static const auto& kinds = *new std::vector<CommunicatorKind>([] {
    std::vector<CommunicatorKind> all = {{"local", local_communicators}};
    for (const ProcessKind& kind : process_kinds())
      all.push_back({kind.name,
                     [&kind](const CommunicatorOptions& options) { return meeting_at(options, kind.make); }});
    return all;
  }());
  return kinds;
}

void PrintTo(const ProcessKind& kind, std::ostream* out) { *out << kind.name; }
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
