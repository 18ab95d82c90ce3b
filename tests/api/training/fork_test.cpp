#include <atomic>
#include <csignal>
#include <filesystem>
#include <thread>

#include <unistd.h>

#include <gtest/gtest.h>

#include <nyala/api/layers/core/lambda.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/forked.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {
namespace {

Tensor numbers(Shape shape, double step) {
  std::vector<float> values;
  for (int64_t i = 0; i < shape.num_elements(); ++i)
    values.push_back(static_cast<float>(std::sin(static_cast<double>(i) * step)));
  return Tensor::from(values).with_shape(shape);
}

/// Large enough for teams of threads, in kernels of oneDNN and our own.
struct Work {
  Tensor x = numbers({64, 16, 16, 8}, 0.37), y = numbers({64, 4}, 0.11);
  Model model = make();

  static Model make() {
    set_random_seed(7);
    Model model = Sequential({Input({16, 16, 8}), Conv2D(16, 3, {.activation = "relu"}), BatchNormalization(),
                              MaxPooling2D(2), Flatten(), Dense(64, {.activation = "relu"}), Dense(4)});
    model.compile({.optimizer = SGD(0.01, {.momentum = 0.9}), .loss = "mse"});
    return model;
  }
  std::vector<float> predict() const { return model.predict(x, {.verbose = 0}).to_vector<float>(); }
  void fit() { model.fit(x, y, {.batch_size = 32, .epochs = 1, .verbose = 0, .shuffle = false}); }
  std::vector<float> weights() const {
    std::vector<float> all;
    for (const Tensor& weight : model.get_weights())
      for (const float value : weight.to_vector<float>()) all.push_back(value);
    return all;
  }
};

/// Two steps and an answer in a child are, bit by bit, those of the parent.
void expect_same_in_child(Work& work) {
  work.fit();
  std::vector<float> predicted, weights;
  // The child runs first and leaves its numbers in a file: the parent's model goes on afterwards.
  const std::string path = ::testing::TempDir() + "/fork_test_" + std::to_string(::getpid()) + ".npz";
  const ForkedEnd end = in_forked_child([&] {
    work.fit();
    save_npz(path, {{"weights", Tensor::from(work.weights())}, {"predicted", Tensor::from(work.predict())}});
    return true;
  });
  ASSERT_TRUE(end.worked()) << end.code << " signal " << end.signal << " " << end.text;
  work.fit();
  for (const auto& [name, tensor] : load_npz(path))
    EXPECT_EQ(tensor.to_vector<float>(), name == "weights" ? work.weights() : work.predict()) << name;
  std::filesystem::remove(path);
}

TEST(Fork, ChildTrainsAndPredictsAsItsParentWould) {
  Work work;
  expect_same_in_child(work);
}

TEST(Fork, SoItDoesOnTwoDevices) {
  configure_logical_devices("cpu", 2);
  mirrored(2).scope([] {
    Work work;
    expect_same_in_child(work);
  });
  configure_logical_devices("cpu", 1);
}

TEST(Fork, ChildrenOfChildrenWork) {
  Work work;
  const std::vector<float> expected = work.predict();
  EXPECT_TRUE(in_forked_child([&] {
                return work.predict() == expected && in_forked_child([&] {
                                                       work.fit();
                                                       return work.predict() != expected;
                                                     }).worked();
              }).worked());
}

TEST(Fork, InACallbackBothGoOnWithTheirTraining) {
  Work work;
  int child = -1;
  LambdaCallback forking({.on_train_batch_end = [&](int64_t batch, Logs&) {
    if (batch != 0 || child >= 0) return;
    child = ::fork();
    if (child == 0) ::alarm(60);
  }});
  work.model.fit(work.x, work.y, {.batch_size = 16, .epochs = 2, .verbose = 0, .callbacks = {forking}});
  if (child == 0) ::_exit(work.weights().empty() ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
}

TEST(Fork, ModelThatAnotherThreadTrainsIsRefusedInTheChild) {
  Work trained, other;
  const std::vector<float> expected = other.predict();
  std::atomic<bool> stop{false};
  std::atomic<int> fits{0};
  std::thread trainer([&] {
    while (!stop) {
      trained.model.fit(trained.x, trained.y, {.batch_size = 8, .epochs = 50, .verbose = 0});
      ++fits;
    }
  });
  std::this_thread::sleep_for(std::chrono::milliseconds(50));
  int refused = 0;
  for (int i = 0; i < 10; ++i) {
    const ForkedEnd of_trained = in_forked_child([&] { return !trained.predict().empty(); });
    EXPECT_TRUE(of_trained.worked() || of_trained.refused())
        << of_trained.code << " signal " << of_trained.signal << " " << of_trained.text;
    refused += of_trained.refused();
    const ForkedEnd of_other = in_forked_child([&] { return other.predict() == expected; });
    EXPECT_TRUE(of_other.worked()) << of_other.code << " signal " << of_other.signal << " " << of_other.text;
  }
  stop = true;
  trainer.join();
  EXPECT_GE(refused, 5);
}

TEST(Fork, ModelThatOtherThreadsAskWorksInTheChild) {
  Work work;
  const std::vector<float> expected = work.predict();
  std::atomic<bool> stop{false};
  std::vector<std::thread> clients;
  for (int i = 0; i < 2; ++i)
    clients.emplace_back([&] {
      while (!stop) work.predict();
    });
  int worked = 0;
  for (int i = 0; i < 20; ++i) {
    const ForkedEnd end = in_forked_child([&] {
      if (work.predict() != expected) return false;
      work.fit();
      return true;
    });
    EXPECT_TRUE(end.worked() || end.refused()) << end.code << " signal " << end.signal << " " << end.text;
    worked += end.worked();
  }
  stop = true;
  for (std::thread& client : clients) client.join();
  EXPECT_GE(worked, 10);
}

TEST(Fork, InsideAStepOnTwoDevicesIsAnError) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy = mirrored(2);
  int child = -1;
  std::string text;
  try {
    strategy.run([&](Replica& replica) {
      if (replica.id == 0) {
        child = ::fork();
        if (child == 0) ::alarm(60);
      }
      replica.all_reduce(ReduceOp::sum, Tensor::full({1}, 1.0));
    });
  } catch (const StateError& error) {
    text = error.what();
  }
  if (child == 0) ::_exit(text.find("fork()") == std::string::npos ? 1 : 0);
  int status = -1;
  ASSERT_EQ(::waitpid(child, &status, 0), child);
  EXPECT_EQ(status, 0);
  EXPECT_EQ(text, "");
  configure_logical_devices("cpu", 1);
}

TEST(Fork, TraversalWithThreadsOfItsOwnIsNotContinuedInTheChild) {
  const Dataset rows = Dataset::from_tensor_slices(numbers({100, 2}, 0.1));
  const Dataset mapped = rows.map([](Tensor x) { return x * 2.0; }, {.num_parallel_calls = 2});
  for (const Dataset& dataset : {rows.prefetch(4), mapped}) {
    DatasetIterator traversal = dataset.iterate();
    Batch batch;
    ASSERT_TRUE(traversal.next(batch));
    const ForkedEnd end = in_forked_child([&] {
      int64_t count = 0;
      for (const Batch& element : dataset) count += !element.x.empty();
      return count == 100 && traversal.next(batch);
    });
    EXPECT_TRUE(end.refused()) << end.code << " signal " << end.signal << " " << end.text;
    EXPECT_NE(end.text.find("this traversal was begun before"), std::string::npos) << end.text;
  }
}

TEST(Fork, DeviceThatWasUsedBeforeIsRefusedInTheChild) {
  enable_ghost_device();
  const Tensor there = Tensor::full({4}, 1.0).to("ghost:0");
  const ForkedEnd end = in_forked_child([&] { return (there + 1.0).to_vector<float>().size() == 4; });
  EXPECT_TRUE(end.refused()) << end.code << " signal " << end.signal;
  EXPECT_NE(end.text.find("'ghost:0' was in use before"), std::string::npos) << end.text;
}

}  // namespace
}  // namespace nyala
