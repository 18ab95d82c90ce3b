// Chief, workers and servers in one process, over gRPC.
#include <chrono>
#include <latch>
#include <map>
#include <mutex>
#include <stdexcept>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/strategies/control/control_transport.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;

class LocalServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    if (!detail::grpc_is_built()) GTEST_SKIP() << "this build has no gRPC";
  }
};

/// Named automatically, as a program's models are.
Sequential small_net() {
  Sequential net({Input({4}),
                  Dense(6, {.activation = "tanh", .kernel_initializer = GlorotUniform({.seed = 3})}),
                  Dense(1, {.kernel_initializer = GlorotUniform({.seed = 4})})});
  net.compile({.optimizer = Adam(0.01), .loss = "mse"});
  return net;
}

std::pair<Tensor, Tensor> small_data() {
  const Tensor x = ops::sin(ops::arange(160.0).with_shape({40, 4}) * 0.7);
  return {x, ops::mean(x, {-1}, true)};
}

/// What the program of a cluster of these sizes has learned, of each place.
std::map<std::string, std::vector<double>> losses_of(const LocalServer& server) {
  std::mutex mutex;
  std::map<std::string, std::vector<double>> losses;
  const auto [x, y] = small_data();
  std::latch all_are_there(server.cluster_spec().num_tasks("worker") + 1);  // who comes late does nothing
  server.run([&](const SimpleClusterResolver& place) {
    const Strategy strategy = connect(place);
    all_are_there.arrive_and_wait();
    const Sequential net = strategy.scope(small_net);
    const History history = net.fit(x, y, {.batch_size = 8, .epochs = 6, .verbose = 0, .shuffle = false});
    const std::lock_guard lock(mutex);
    losses[place.task_type() + std::to_string(place.task_id())] = history["loss"];
  });
  return losses;
}

TEST_F(LocalServerTest, OneWorkerLearnsWhatOneDeviceDoes) {
  const LocalServer server({.num_ps = 2});
  const auto [x, y] = small_data();
  const Sequential net = small_net();
  const std::vector<double> expected =
      net.fit(x, y, {.batch_size = 8, .epochs = 6, .verbose = 0, .shuffle = false})["loss"];
  for (int session = 0; session < 2; ++session) {  // each one is a job of its own
    const auto losses = losses_of(server);
    ASSERT_EQ(losses.size(), 2u);
    ASSERT_EQ(losses.at("chief0").size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_NEAR(losses.at("chief0")[i], expected[i], 1e-5 * expected[i]) << session << ", " << i;
    EXPECT_EQ(losses.at("worker0"), losses.at("chief0"));
  }
}

TEST_F(LocalServerTest, SeveralWorkersHaveTheChiefsHistory) {
  const auto losses = losses_of(LocalServer({.num_ps = 1, .num_workers = 3}));
  ASSERT_EQ(losses.size(), 4u);
  for (const auto& [place, values] : losses) EXPECT_EQ(values, losses.at("chief0")) << place;
  EXPECT_LT(losses.at("chief0").back(), losses.at("chief0").front());
}

TEST_F(LocalServerTest, WhatIsThrownFirstArrives) {
  const LocalServer server({.num_workers = 2});
  const auto [x, y] = small_data();
  EXPECT_THROW(server.run([&, x = x, y = y](const SimpleClusterResolver& place) {
    if (place.task_id() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(200));  // too late
    const Strategy strategy = connect(place);
    const Sequential net = strategy.scope(small_net);
    if (place.task_type() == "chief") throw std::out_of_range("the chief's own");
    EXPECT_THROW(net.fit(x, y, {.verbose = 0}), CommunicationError);  // "the chief has ended"
  }),
               std::out_of_range);
}

TEST_F(LocalServerTest, AWorkerThatComesLateHasNothingToDo) {
  const auto [x, y] = small_data();
  LocalServer({.num_workers = 2}).run([&, x = x, y = y](const SimpleClusterResolver& place) {
    if (place.task_id() == 1) std::this_thread::sleep_for(std::chrono::milliseconds(400));
    const Strategy strategy = connect(place);
    strategy.scope(small_net).fit(x, y, {.batch_size = 8, .verbose = 0});
  });
}

TEST_F(LocalServerTest, WhatAnotherThreadTellsOfAnErrorIsNotTheError) {
  struct Own : std::runtime_error {
    using std::runtime_error::runtime_error;
  };
  const LocalServer server({.num_workers = 2});
  const auto [x, y] = small_data();
  for (int times = 0; times < 5; ++times)
    EXPECT_THROW(server.run([&, x = x, y = y](const SimpleClusterResolver& place) {
      const Strategy strategy = connect(place);
      LambdaCallback throws({.on_train_batch_end = [](int64_t, Logs&) { throw Own("the callback's own"); }});
      strategy.scope(small_net).fit(x, y,
                                    {.batch_size = 4, .epochs = 3, .verbose = 0, .callbacks = {throws}});
    }),
                 Own);
  EXPECT_THROW(server.run({}), StateError);
}

/// All are told at once, not after the time that a chief waits for workers.
TEST_F(LocalServerTest, AWorkerThatDiffersEndsTheTraining) {
  const LocalServer server({.num_workers = 1});
  const auto [x, y] = small_data();
  const auto text = [&, x = x, y = y](double workers_rate, int64_t workers_rows) {
    return error_text<CommunicationError>([&] {
      server.run([&](const SimpleClusterResolver& place) {
        const bool is_chief = place.task_type() == "chief";
        const auto scope = connect(place).scope();
        const Sequential net({Input({4}), Dense(1)});
        net.compile({.optimizer = SGD({.learning_rate = 0.1, .momentum = is_chief ? 0.5 : workers_rate}),
                     .loss = "mse"});
        const int64_t rows = is_chief ? 40 : workers_rows;
        net.fit(Dataset::from_tensor_slices(x.rows(0, rows), y.rows(0, rows)).batch(8),
                {.epochs = 2, .verbose = 0});
      });
    });
  };
  EXPECT_THAT(text(0.9, 40), HasSubstr("trains something else than the chief"));
  EXPECT_THAT(text(0.5, 24),
              HasSubstr("a worker's data ended behind 3 batches of the epoch, the chief's has 5"));
}

TEST_F(LocalServerTest, HasThePlacesThatItWasAskedFor) {
  const LocalServer server({.num_ps = 2, .num_workers = 3});
  EXPECT_EQ(server.cluster_spec().num_tasks("ps"), 2);
  EXPECT_EQ(server.cluster_spec().num_tasks("worker"), 3);
  EXPECT_EQ(server.worker(2).task_id(), 2);
  EXPECT_EQ(server.chief().master(), "grpc://" + server.cluster_spec().task_address("chief", 0));
  EXPECT_THROW(server.worker(3), NotFoundError);
  EXPECT_THAT(error_text<InvalidArgumentError>([] { LocalServer({.num_ps = 0}); }),
              HasSubstr("expected num_ps of 1 or more, received 0"));
  EXPECT_THAT(error_text<InvalidArgumentError>([] { LocalServer({.num_workers = -1}); }),
              HasSubstr("expected num_workers of 1 or more, received -1"));
}

TEST(Connect, AProcessThatIsAloneIsMirrored) {
  const Strategy alone = connect(SimpleClusterResolver());
  EXPECT_THAT(alone.describe(), HasSubstr("MirroredStrategy"));
}

TEST(Connect, AParameterServerServes) {
  const ClusterSpec cluster{{"chief", {"127.0.0.1:1"}}, {"worker", {"127.0.0.1:2"}}, {"ps", {"127.0.0.1:3"}}};
  EXPECT_THAT(error_text<StateError>([&] {
                connect(SimpleClusterResolver({.cluster_spec = cluster, .task_type = "ps", .task_id = 0}));
              }),
              HasSubstr("this process is a parameter server"));
}

}  // namespace
}  // namespace nyala
