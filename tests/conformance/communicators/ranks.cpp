#include <nyala/tests/conformance/communicators/ranks.h>

#include <arpa/inet.h>
#include <sys/socket.h>
#include <unistd.h>

#include <chrono>
#include <ostream>
#include <thread>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/communicators/hierarchical_communicator.h>
#include <nyala/strategies/communicators/local_communicators.h>
#include <nyala/strategies/communicators/shared_memory_communicator.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::testing {

std::vector<std::shared_ptr<Communicator>> meeting_at(const CommunicatorOptions& options,
                                                      const MakeRank& make) {
  const auto folder = std::make_shared<ScratchFolder>();
  const std::shared_ptr<Rendezvous> rendezvous(new FileRendezvous(folder->path()),
                                               [folder](Rendezvous* one) { delete one; });
  std::vector<std::shared_ptr<Communicator>> all(static_cast<size_t>(std::max(options.size, 1)));
  std::vector<std::exception_ptr> errors(all.size());
  std::vector<std::thread> threads;
  for (size_t rank = 0; rank < all.size(); ++rank) {
    threads.emplace_back([&, rank] {
      try {
        CommunicatorOptions own = options;
        own.rank = static_cast<int>(rank);
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

namespace {

/// Ranks of even number on one host, those of odd number on another.
struct Place {
  CommunicatorOptions inside, between;
  bool leads;
  explicit Place(const CommunicatorOptions& options) : inside(options), between(options) {
    const int host = options.rank % 2;
    inside.rank = options.rank / 2;
    inside.size = (options.size + 1 - host) / 2;
    inside.name += "-host" + std::to_string(host);
    between.rank = host;
    between.size = std::min(options.size, 2);
    between.name += "-hosts";
    leads = inside.rank == 0;
  }
};

std::vector<std::shared_ptr<Communicator>> local_hierarchy(const CommunicatorOptions& options) {
  detail::check_communicator_options(options);
  CommunicatorOptions own = options;
  const auto between = local_communicators(Place(own).between);
  std::vector<std::vector<std::shared_ptr<Communicator>>> inside;
  for (own.rank = 0; own.rank < std::min(options.size, 2); ++own.rank)
    inside.push_back(local_communicators(Place(own).inside));
  return meeting_at(options, [&](const CommunicatorOptions& one, const auto&) {
    const Place place(one);
    const auto host = static_cast<size_t>(one.rank % 2);
    return hierarchical_communicator(one, inside[host][static_cast<size_t>(place.inside.rank)],
                                     place.leads ? between[host] : nullptr);
  });
}

std::shared_ptr<Communicator> gloo_over_shared_memory(const CommunicatorOptions& options,
                                                      const std::shared_ptr<Rendezvous>& rendezvous) {
  const Place place(options);
  const auto inside = shared_memory_communicator(place.inside, *rendezvous);
  return hierarchical_communicator(options, inside,
                                   place.leads ? gloo_communicator(place.between, rendezvous) : nullptr);
}

}  // namespace

const std::vector<ProcessKind>& process_kinds() {
  static auto& kinds = *new std::vector<ProcessKind>{
      {"shared_memory",
       [](const auto& options, const auto& rendezvous) {
         return shared_memory_communicator(options, *rendezvous);
       }},
  };
  static const bool with_gloo [[maybe_unused]] = [] {
    if (!gloo_is_built()) return false;
    const auto by_gloo = [](const auto& options, const auto& rendezvous) {
      return gloo_communicator(options, rendezvous);
    };
    kinds.push_back({"gloo", by_gloo, true, false});
    kinds.push_back({"hierarchical", gloo_over_shared_memory, false, false});
    return true;
  }();
  return kinds;
}

const std::vector<CommunicatorKind>& communicator_kinds() {
  static const auto& kinds = *new std::vector<CommunicatorKind>([] {
    std::vector<CommunicatorKind> all = {{"local", local_communicators},
                                         {"local_hierarchy", local_hierarchy}};
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
  auto ranks = kind.make(options);
  const auto ends = run_ranks(ranks, [&](Communicator& all) {
    body(all);
    ranks[static_cast<size_t>(all.rank())].reset();
  });
  for (const RankEnd& end : ends) end.rethrow();
}

std::pair<int, int> connected_pair() {
  const int listener = ::socket(AF_INET, SOCK_STREAM, 0), one = ::socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address = {};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const generic = reinterpret_cast<sockaddr*>(&address);
  const bool listens = ::bind(listener, generic, size) == 0 && ::listen(listener, 1) == 0 &&
                       ::getsockname(listener, generic, &size) == 0 && ::connect(one, generic, size) == 0;
  EXPECT_TRUE(listens);
  const int other = ::accept(listener, nullptr, nullptr);
  ::close(listener);
  return {one, other};
}

INSTANTIATE_TEST_SUITE_P(All, Communicators, ::testing::ValuesIn(communicator_kinds()),
                         [](const auto& kind) { return kind.param.name; });

}  // namespace nyala::testing
