#pragma once

#include <functional>
#include <memory>

#include <nyala/strategies/cluster/simple_cluster_resolver.h>

namespace nyala {

struct LocalServerConfig {
  int num_ps = 1;       ///< parameter servers, 1 or more
  int num_workers = 1;  ///< 1 or more
};

/// A cluster in this process, to try a program on and to test it: parameter servers that listen at free ports
/// of 127.0.0.1 until the object is destroyed, and places for a chief and workers, which are threads of the
/// program. For speed, tables larger than memory and servers that outlive a failure start processes
/// (`nyala launch`).
///
///     LocalServer server({.num_ps = 2, .num_workers = 3});
///     server.run([&](const SimpleClusterResolver& place) {
///       const Strategy strategy = connect(place);
///       ...  // scope, compile, fit: what a program of such a cluster does
///     });
class LocalServer {
 public:
  using Config = LocalServerConfig;
  /// Throws InvalidArgumentError for fewer than one of either, IoError without free ports, NotFoundError in a
  /// build without gRPC.
  explicit LocalServer(const Config& config = {});
  ~LocalServer();
  LocalServer(const LocalServer&) = delete;
  LocalServer& operator=(const LocalServer&) = delete;

  const ClusterSpec& cluster_spec() const { return cluster_; }
  /// For the one thread that hands batches out.
  SimpleClusterResolver chief() const;
  /// For the thread that is that worker. Throws NotFoundError for one that is not there.
  SimpleClusterResolver worker(int index) const;

  /// Calls `program` as the chief in this thread, and as each worker in one of its own, each with automatic
  /// names as a new process has them; ends when all have ended. A worker that comes when the chief has ended
  /// already has nothing to do. Throws what was thrown first, and CommunicationError, by which threads tell
  /// of each other, only where nothing else was; StateError for an empty function.
  void run(const std::function<void(const SimpleClusterResolver&)>& program) const;

 private:
  class Servers;
  SimpleClusterResolver place(const std::string& job, int index) const;
  ClusterSpec cluster_;
  std::unique_ptr<Servers> servers_;
};

}  // namespace nyala
