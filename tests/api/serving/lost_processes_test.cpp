// The fault cases of tf.distribute's ParameterServerStrategy (its fault_tolerance_test), under their names:
// each with two workers and two servers, and with one of each. The chief is the test itself. Where TensorFlow
// gives a job up, since a server was lost, ours goes on from the server's snapshot if there is one; where
// there is none its error is CommunicationError.
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <filesystem>
#include <fstream>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/strategies/cluster/free_ports.h>
#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/fault_program.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::lost_processes_test {
namespace {

using std::chrono::milliseconds;
using std::chrono::seconds;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
constexpr seconds kBrief{15};
#else
constexpr seconds kBrief{2};
#endif

struct Size {
  int workers, servers;
};
void PrintTo(const Size& size, std::ostream* out) { *out << size.workers << "x" << size.servers; }

class LostProcesses : public ::testing::TestWithParam<Size> {
 protected:
  void SetUp() override {
    if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
    std::map<std::string, std::vector<std::string>> jobs;
    const std::vector<int> ports = detail::lasting_ports(workers() + servers() + 1);
    for (size_t i = 0; i < ports.size(); ++i) {
      const int place = static_cast<int>(i);
      jobs[place == 0           ? "chief"
           : place <= workers() ? "worker"
                                : "ps"]
          .push_back("127.0.0.1:" + std::to_string(ports[i]));
    }
    cluster_ = ClusterSpec::from(jobs);
  }
  void TearDown() override {
    end_program();
    for (auto& [task, process] : processes_) EXPECT_TRUE(ends(process, seconds(20))) << task;
  }
  ~LostProcesses() override {
    for (auto& [task, process] : processes_)
      if (process > 0 && ::kill(process, SIGKILL) == 0) ::waitpid(process, nullptr, 0);
  }

  int workers() const { return GetParam().workers; }
  int servers() const { return GetParam().servers; }

  /// The cluster with this process as the chief. Servers write snapshots where `snapshots` says so.
  FaultProgram& begin(bool snapshots = true, milliseconds timeout = seconds(20)) {
    has_snapshots_ = snapshots;
    for (int i = 0; i < servers(); ++i) start("ps", i);
    for (int i = 0; i < workers(); ++i) start("worker", i);
    program_ = std::make_unique<FaultProgram>(
        ParameterServerStrategy({.cluster_resolver = SimpleClusterResolver(
                                     {.cluster_spec = cluster_, .task_type = "chief", .task_id = 0}),
                                 .timeout = timeout,
                                 .snapshot_interval = milliseconds(1)}),
        folder_.path().string());
    return *program_;
  }
  /// Steps that do not end yet, one in each worker and others that wait.
  FaultProgram& begin_endless(int steps, bool snapshots = true, milliseconds timeout = seconds(20)) {
    std::ofstream(file("endless"));
    FaultProgram& program = begin(snapshots, timeout);
    schedule(steps);
    wait_for_files("begun", workers());
    EXPECT_FALSE(program.coordinator.done());
    return program;
  }
  void schedule(int steps) {
    for (int i = 0; i < steps; ++i) program_->coordinator.schedule(program_->train, i);
  }
  /// Ends what is endless, too.
  void join() {
    std::filesystem::remove(file("endless"));
    program_->coordinator.join();
  }

  void start(const std::string& job, int index) {
    std::vector<std::string> words = {"/usr/bin/env", "-u", "NYALA_TOKEN", "OMP_NUM_THREADS=1",
                                      "TF_CONFIG={\"cluster\": " + json_of_cluster() +
                                          ", \"task\": {\"type\": \"" + job +
                                          "\", \"index\": " + std::to_string(index) + "}}"};
    if (has_snapshots_) words.push_back("NYALA_SNAPSHOTS=" + folder_.file("snapshots"));
    words.insert(words.end(), {NYALA_TEST_PROGRAMS "/fault_worker", folder_.path().string()});
    std::vector<char*> list;
    for (std::string& word : words) list.push_back(word.data());
    list.push_back(nullptr);
    ASSERT_EQ(::posix_spawn(&processes_[job + std::to_string(index)], list[0], nullptr, nullptr, list.data(),
                            ::environ),
              0);
  }
  void kill(const std::string& job, int index) {
    pid_t& process = processes_.at(job + std::to_string(index));
    ASSERT_EQ(::kill(process, SIGKILL), 0);
    ASSERT_EQ(::waitpid(process, nullptr, 0), process);
    process = 0;
  }
  void restart(const std::string& job, int index, milliseconds downtime = milliseconds(300)) {
    kill(job, index);
    std::this_thread::sleep_for(downtime);
    start(job, index);
  }

  std::string file(const std::string& name) const { return folder_.file(name); }
  /// Ends the others, too, when all workers have come: who came later would wait for the chief.
  void end_program() {
    for (const auto& [task, process] : processes_)
      if (program_ && process > 0 && task.starts_with("worker"))
        wait_for_files("came-" + std::to_string(process), 1);
    program_.reset();
  }
  /// They would wait for servers that are lost.
  void kill_workers() {
    for (int i = 0; i < workers(); ++i) kill("worker", i);
  }

  int files(const std::string& kind) const {
    int count = 0;
    for (const auto& entry : std::filesystem::directory_iterator(folder_.path()))
      count += entry.path().filename().string().starts_with(kind + "-") ? 1 : 0;
    return count;
  }
  void wait_for_files(const std::string& kind, int count) const {
    for (int i = 0; i < 12000 && files(kind) < count; ++i) std::this_thread::sleep_for(milliseconds(5));
    ASSERT_GE(files(kind), count) << kind;
  }
  static int threads() {
    return static_cast<int>(std::distance(std::filesystem::directory_iterator("/proc/self/task"), {}));
  }

  std::unique_ptr<FaultProgram> program_;

 private:
  std::string json_of_cluster() const {
    std::string text;
    for (const std::string& job : cluster_.jobs()) {
      std::string addresses;
      for (const std::string& address : cluster_.job_tasks(job))
        addresses += (addresses.empty() ? "\"" : ", \"") + address + "\"";
      text += (text.empty() ? "{\"" : ", \"") + job + "\": [" + addresses + "]";
    }
    return text + "}";
  }
  static bool ends(pid_t& process, milliseconds time) {
    if (process == 0) return true;
    for (milliseconds waited{0}; waited < time; waited += milliseconds(5)) {
      if (::waitpid(process, nullptr, WNOHANG) == process) {
        process = 0;
        return true;
      }
      std::this_thread::sleep_for(milliseconds(5));
    }
    return false;
  }

  ScratchFolder folder_;
  ClusterSpec cluster_;
  bool has_snapshots_ = true;
  std::map<std::string, pid_t> processes_;
};

INSTANTIATE_TEST_SUITE_P(Sizes, LostProcesses, ::testing::Values(Size{2, 2}, Size{1, 1}),
                         ::testing::PrintToStringParamName());

TEST_P(LostProcesses, ClusterCoordinatorDestroyed) {
  const int before = threads();
  begin();
  schedule(3);
  end_program();
  // gRPC keeps threads of its own, a few whatever there was.
  EXPECT_LE(threads(), before + 12);
}

TEST_P(LostProcesses, WorkerPreemptionBetweenFunctions) {
  begin();
  schedule(2);
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 2);
  restart("worker", 0);
  schedule(2);
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 4);
}

TEST_P(LostProcesses, WorkerPreemptionMidstFunction) {
  begin_endless(4);
  restart("worker", 0);
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 4);  // TensorFlow: 4 or more
}

TEST_P(LostProcesses, OneWorkerPreemptionWithCancellation) {
  FaultProgram& program = begin_endless(workers());
  const RemoteValue<double> failed = program.coordinator.schedule(program.fail);
  const RemoteValue<double> behind = program.coordinator.schedule(program.normal);
  restart("worker", 0);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { join(); }), HasSubstr("the function that fails"));
  EXPECT_THROW(failed.fetch(), InvalidArgumentError);
  if (workers() == 1) {
    EXPECT_THROW(behind.fetch(), CommunicationError);  // it waited behind
  }
  for (int i = 0; i < 3; ++i) EXPECT_EQ(program.coordinator.schedule(program.normal).fetch(), 1.5);
  join();
}

TEST_P(LostProcesses, HandleDatasetCreationFailureWithDatasetFn) {
  std::ofstream(file("slow-data"));
  FaultProgram& program = begin();
  for (int i = 0; i < 6; ++i) program.coordinator.schedule(program.train_on, program.data_of_function);
  wait_for_files("data", workers());
  restart("worker", 0);
  wait_for_files("data", workers() + 1);  // whoever comes again makes its own
  std::filesystem::remove(file("slow-data"));
  join();
  EXPECT_EQ(program.optimizer.iterations(), 6);
}

TEST_P(LostProcesses, HandleDatasetCreationFailureWithDataset) {
  FaultProgram& program = begin();
  const auto schedule_three = [&] {
    for (int i = 0; i < 3; ++i) program.coordinator.schedule(program.train_on, program.data);
  };
  schedule_three();
  restart("worker", 0, milliseconds(100));
  schedule_three();
  join();
  EXPECT_EQ(program.optimizer.iterations(), 6);
}

// What the chief hears of workers that do not come again.
TEST_P(LostProcesses, WorkerPreemptionErrorType) {
  begin_endless(4, true, kBrief);
  kill_workers();
  EXPECT_THAT(error_text<CommunicationError>([&] { join(); }),
              AllOf(HasSubstr("no worker is there"), Not(HasSubstr("parameter server"))));
}

// The same where it waits for one value. All functions are C++.
TEST_P(LostProcesses, WorkerPreemptionErrorTypeWithPythonFunction) {
  FaultProgram& program = begin(true, kBrief);
  EXPECT_EQ(program.coordinator.schedule(program.normal).fetch(), 1.5);
  kill_workers();
  const RemoteValue<double> value = program.coordinator.schedule(program.normal);
  EXPECT_THAT(error_text<CommunicationError>([&] { value.fetch(); }),
              AllOf(HasSubstr("no worker is there"), Not(HasSubstr("parameter server"))));
}

TEST_P(LostProcesses, PSPreemptionErrorType) {
  begin_endless(4, false);
  restart("ps", 0, milliseconds(100));
  EXPECT_THAT(error_text<CommunicationError>([&] { join(); }),
              AllOf(HasSubstr("parameter server"), Not(HasSubstr("no worker"))));
  kill_workers();
}

TEST_P(LostProcesses, TwoWorkersPreempted) {
  if (workers() < 2) return;
  begin_endless(10);
  kill("worker", 0);
  kill("worker", 1);
  std::this_thread::sleep_for(milliseconds(300));
  EXPECT_FALSE(program_->coordinator.done());
  start("worker", 0);
  start("worker", 1);
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 10);
}

TEST_P(LostProcesses, WorkerContinuousFailure) {
  begin_endless(10);
  for (int times = 0; times < 3; ++times) {
    restart("worker", 0);
    wait_for_files("begun", workers() + times + 1);  // it works again
  }
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 10);
}

TEST_P(LostProcesses, PSFailureWhileRecoveryFromWorkerFailure) {
  begin_endless(10);
  kill("worker", 0);
  kill("ps", 0);
  std::this_thread::sleep_for(milliseconds(200));
  start("worker", 0);
  start("ps", 0);
  join();  // TensorFlow: an error
  EXPECT_EQ(program_->optimizer.iterations(), 10);
}

TEST_P(LostProcesses, NumpyFetchedAfterWorkerFailure) {
  FaultProgram& program = begin();
  const RemoteValue<double> value = program.coordinator.schedule(program.normal);
  EXPECT_EQ(value.fetch(), 1.5);
  kill("worker", 0);
  EXPECT_EQ(value.fetch(), 1.5);
}

TEST_P(LostProcesses, TensorGotAfterWorkerFailure) {
  FaultProgram& program = begin();
  const auto value = program.coordinator.schedule(program.around),
             other = program.coordinator.schedule(program.around);
  program.coordinator.join();
  EXPECT_EQ(value.get().first.to_vector<float>(), std::vector<float>{1});
  kill_workers();
  EXPECT_EQ(value.get().second.to_vector<float>(), std::vector<float>{-1});
  EXPECT_EQ(other.get().first.to_vector<float>(), std::vector<float>{1});  // not looked at before
}

TEST_P(LostProcesses, FetchFromPSAfterWorkerFailure) {
  FaultProgram& program = begin();
  std::jthread killer([&] {
    std::this_thread::sleep_for(milliseconds(200));
    restart("worker", 0);
  });
  int64_t steps = 0;
  const auto until = std::chrono::steady_clock::now() + milliseconds(1200);
  while (std::chrono::steady_clock::now() < until) {
    schedule(1);
    program.coordinator.join();
    EXPECT_EQ(program.optimizer.iterations(), ++steps);
    EXPECT_EQ(program.net.get_weights().size(), 4u);
  }
  killer.join();
  EXPECT_GT(steps, 1);
}

TEST_P(LostProcesses, ClusterStateNotDisrupted) {
  begin_endless(4, true, kBrief);
  restart("worker", 0);
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 4);
  kill_workers();
  schedule(1);
  EXPECT_THROW(join(), CommunicationError);
  for (int i = 0; i < workers(); ++i) start("worker", i);
  schedule(3);
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 8);  // the one that waited for workers, too
}

TEST_P(LostProcesses, JoinRaisesUnavailableErrorAtPsFailure) {
  begin_endless(10, false, kBrief);
  kill("ps", 0);
  EXPECT_THAT(error_text<CommunicationError>([&] { join(); }), HasSubstr("parameter server"));
  kill_workers();
}

TEST_P(LostProcesses, ScheduleRaisesUnavailableErrorAtPsFailure) {
  FaultProgram& program = begin_endless(10, false, kBrief);
  kill("ps", 0);
  std::filesystem::remove(file("endless"));
  EXPECT_THAT(error_text<CommunicationError>([&] {
                for (int i = 0; i < 1000; ++i) {
                  program.coordinator.schedule(program.normal);
                  std::this_thread::sleep_for(milliseconds(10));
                }
              }),
              HasSubstr("parameter server"));
  kill_workers();
}

TEST_P(LostProcesses, WorkerExecutionAfterPsFailureRaisesExpectedError) {
  FaultProgram& program = begin_endless(4, false, kBrief);
  for (int i = 0; i < servers(); ++i) kill("ps", i);
  EXPECT_THROW(join(), CommunicationError);
  EXPECT_THAT(error_text<CommunicationError>([&] { program.coordinator.schedule(program.around).fetch(); }),
              HasSubstr("parameter server"));
  kill_workers();
}

TEST_P(LostProcesses, AsyncWaitIsNoOp) {
  if (workers() < 2) return;
  begin_endless(10);
  kill("worker", 0);
  const auto before = std::chrono::steady_clock::now();
  EXPECT_FALSE(program_->coordinator.done());  // neither waits nor throws
  EXPECT_LT(std::chrono::steady_clock::now() - before, seconds(5));
  join();
  EXPECT_EQ(program_->optimizer.iterations(), 10);
}

}  // namespace
}  // namespace nyala::lost_processes_test
