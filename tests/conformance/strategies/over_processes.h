#pragma once

#include <gtest/gtest.h>

#include <nyala/api/layers/base/layer.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/communicators/communication_options.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/communicators/gloo_communicator.h>
#include <nyala/strategies/multi_worker.h>
#include <nyala/strategies/one_device.h>
#include <nyala/tests/support/rank_processes.h>

namespace nyala {

struct Layout {
  int processes, devices;
  CommunicationImplementation by = CommunicationImplementation::shared_memory;
  bool is_gloo() const { return by == CommunicationImplementation::gloo; }
  std::string name() const {
    return std::to_string(processes) + "x" + std::to_string(devices) + (is_gloo() ? "Gloo" : "");
  }
};

/// Tests that run in processes of their own.
class OverProcesses : public ::testing::TestWithParam<Layout> {
 protected:
  /// In one of the processes.
  static MultiWorkerMirroredStrategy strategy(const CommunicationOptions& communication = {}) {
    const Layout& layout = GetParam();
    configure_logical_devices("cpu", layout.devices);
    MultiWorkerMirroredStrategy::Config config{.communication_options = communication};
    for (int i = 0; i < layout.devices; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const auto folder = std::make_shared<FileRendezvous>(RankProcesses::folder());
    CommunicatorOptions options{
        .rank = *RankProcesses::rank(), .size = layout.processes, .timeout = std::chrono::seconds(60)};
    if (!layout.is_gloo())
      return MultiWorkerMirroredStrategy(processes_on_one_host(options, *folder), config);
    ProcessCommunicators processes;
    for (const auto& [name, made] :
         {std::pair("steps", &processes.steps), std::pair("gradients", &processes.gradients)}) {
      options.name = name;
      *made = gloo_communicator(options, folder);
    }
    return MultiWorkerMirroredStrategy(processes, config);
  }

  /// Calls work() in each process; all have to succeed.
  template <class Work>
  static void in_processes(Work&& work) {
    if (GetParam().is_gloo() && !gloo_is_built()) GTEST_SKIP() << "this build has no Gloo";
    if (RankProcesses::rank()) return work();
    RankProcesses processes(GetParam().processes);
    for (int rank = 0; rank < GetParam().processes; ++rank) {
      const RankProcesses::End end = processes.wait(rank, std::chrono::minutes(9));
      EXPECT_EQ(end.code, 0) << "rank " << rank << ":\n" << end.output;
    }
  }
};

}  // namespace nyala
