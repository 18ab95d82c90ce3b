// How processes share a Dataset: by the policies that keep the numbers of one device, and by those that do
// not.
#include <atomic>
#include <numeric>

#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/training_support.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::shards_over_processes_test {

namespace {

using ShardsOverProcesses = OverProcesses;

constexpr int64_t kRows = 26, kBatch = 8;
using Rows = std::vector<int64_t>;

Tensor inputs() { return wave({kRows, 5}, 0.37); }
Tensor targets() { return wave({kRows, 2}, 0.21); }

Element row(int64_t index) {
  return {.x = {inputs().rows(index, 1).with_shape({5})}, .y = {targets().rows(index, 1).with_shape({2})}};
}

/// The rows one after the other, of which nobody knows how many there are.
Dataset generated() {
  return Dataset::from_generator([] {
    return [next = int64_t{0}](Element& out) mutable {
      if (next == kRows) return false;
      out = row(next++);
      return true;
    };
  });
}

Dataset with(const Dataset& dataset, AutoShardPolicy policy) {
  return dataset.with_options({.experimental_distribute = {.auto_shard_policy = policy}});
}

Model regression() {
  Sequential model({Input({5}), Dense(4, {.activation = "tanh"}), BatchNormalization(), Dense(2)});
  model.compile(
      {.optimizer = SGD({.learning_rate = 0.1, .momentum = 0.9}), .loss = "mse", .metrics = {"mae"}});
  return model;
}

struct Trained {
  Model model;
  History history;
};

Trained trained(const Strategy& strategy, const Dataset& data) {
  const Model model = in_scope(strategy, regression);
  return {model, model.fit(data, {.epochs = 2, .verbose = 0, .shuffle = false})};
}

void expect_same(const Trained& received, const Trained& expected) {
  const Tensors a = received.model.get_weights(), b = expected.model.get_weights();
  ASSERT_EQ(a.size(), b.size());
  for (size_t i = 0; i < a.size(); ++i) expect_numbers(a[i], numbers(b[i]), 2e-5f);
  for (const char* name : {"loss", "mae"})
    for (size_t epoch = 0; epoch < 2; ++epoch)
      EXPECT_NEAR(received.history[name].at(epoch), expected.history[name].at(epoch), 1e-5) << name;
}

/// Rows that follow each other, in batches, each cut among the processes.
std::vector<Rows> pieces_of(const Rows& rows, int64_t processes) {
  std::vector<Rows> pieces;
  for (size_t first = 0; first < rows.size(); first += kBatch) {
    const auto count = static_cast<int64_t>(std::min<size_t>(kBatch, rows.size() - first));
    for (int64_t piece = 0, at = 0; piece < processes; ++piece) {
      const int64_t size = count / processes + (piece < count % processes ? 1 : 0);
      const auto begin = rows.begin() + static_cast<std::ptrdiff_t>(first) + at;
      if (size > 0) pieces.emplace_back(begin, begin + size);
      at += size;
    }
  }
  return pieces;
}

/// One device's batches where each process has such rows, those of the first process in front.
Dataset together(const std::vector<Rows>& of_processes) {
  const auto size = static_cast<int64_t>(of_processes.size());
  std::vector<std::vector<Rows>> pieces;
  size_t steps = 0;
  for (const Rows& rows : of_processes) {
    pieces.push_back(pieces_of(rows, size));
    steps = std::max(steps, pieces.back().size());
  }
  std::vector<Element> batches;
  for (size_t step = 0; step < steps; ++step) {
    Tensors x, y;
    for (const std::vector<Rows>& own : pieces)
      for (const int64_t index : step < own.size() ? own[step] : Rows()) {
        x.push_back(inputs().rows(index, 1));
        y.push_back(targets().rows(index, 1));
      }
    batches.push_back({.x = {ops::concatenate(x, 0)}, .y = {ops::concatenate(y, 0)}});
  }
  return Dataset::from_generator(
      [batches] {
        return [batches, next = size_t{0}](Element& out) mutable {
          if (next == batches.size()) return false;
          out = batches[next++];
          return true;
        };
      },
      {.batched = true});
}

TEST_P(ShardsOverProcesses, AutomaticDataAndHintHaveOneDevicesNumbers) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Dataset arrays = Dataset::from_tensor_slices(inputs(), targets());
    const Trained expected = trained(OneDeviceStrategy("cpu:0"), arrays.batch(kBatch));
    for (const AutoShardPolicy policy : {AutoShardPolicy::automatic, AutoShardPolicy::data}) {
      expect_same(trained(several, with(arrays.batch(kBatch), policy)), expected);
      expect_same(trained(several, with(generated().batch(kBatch), policy)), expected);
    }
    for (const Dataset& rows : {arrays, generated()}) {
      std::atomic<int64_t> made{0};
      const Dataset hinted = rows.shard(kShardHint, kShardHint).map([&](Element element) {
        ++made;
        return element;
      });
      expect_same(trained(several, with(hinted.batch(kBatch), AutoShardPolicy::hint)), expected);
      // Its rows in two epochs, and some to learn the shapes; where it has none in a batch it makes one.
      EXPECT_LT(made, 2 * (kRows / several.num_processes() + 6)) << several.rank();
    }
  });
}

TEST_P(ShardsOverProcesses, OffRepeatsRows) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    Rows all(kRows);
    std::iota(all.begin(), all.end(), 0);
    const std::vector<Rows> of_processes(static_cast<size_t>(several.num_processes()), all);
    const Trained expected = trained(OneDeviceStrategy("cpu:0"), together(of_processes));
    for (const Dataset& rows : {Dataset::from_tensor_slices(inputs(), targets()), generated()})
      expect_same(trained(several, with(rows.batch(kBatch), AutoShardPolicy::off)), expected);
  });
}

/// Where each process makes data of its own, off is what trains on all of it.
TEST_P(ShardsOverProcesses, OffTakesWhatEachProcessBrings) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    std::vector<Rows> of_processes;
    for (int64_t rank = 0; rank < several.num_processes(); ++rank) {
      Rows& rows = of_processes.emplace_back(static_cast<size_t>(7 + 5 * rank));
      std::iota(rows.begin(), rows.end(), 4 * rank);
    }
    const Rows& own = of_processes[static_cast<size_t>(several.rank())];
    const Dataset data = Dataset::from_tensor_slices(inputs().rows(own.front(), std::ssize(own)),
                                                     targets().rows(own.front(), std::ssize(own)));
    expect_same(trained(several, with(data.batch(kBatch), AutoShardPolicy::off)),
                trained(OneDeviceStrategy("cpu:0"), together(of_processes)));
  });
}

TEST_P(ShardsOverProcesses, FileDealsOutWhatTheSourceLists) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    std::vector<Rows> of_processes(static_cast<size_t>(several.num_processes()));
    for (int64_t index = 0; index < kRows; ++index)
      of_processes[static_cast<size_t>(index % several.num_processes())].push_back(index);
    const Dataset data = Dataset::from_tensor_slices(inputs(), targets()).batch(kBatch);
    expect_same(trained(several, with(data, AutoShardPolicy::file)),
                trained(OneDeviceStrategy("cpu:0"), together(of_processes)));
    const Model model = in_scope(several, regression);
    expect_error([&] { model.fit(with(generated().batch(kBatch), AutoShardPolicy::file), {.verbose = 0}); },
                 {"AutoShardPolicy::file: expected data that begins with a list of files"});
    expect_error(
        [&] { model.fit(with(generated().batch(kBatch), AutoShardPolicy::hint), {.verbose = 0}); },
        {"fit: training data: AutoShardPolicy::hint: expected shard(kShardHint, kShardHint) in front of"});
    const DataArgument hinted = with(generated().batch(kBatch), AutoShardPolicy::hint);
    expect_error([&] { model.fit(inputs(), targets(), {.verbose = 0, .validation_data = hinted}); },
                 {"fit: validation data: evaluate: AutoShardPolicy::hint: expected shard("});
  });
}

TEST_P(ShardsOverProcesses, PredictKeepsTheOrderOfRows) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const Model one = in_scope(OneDeviceStrategy("cpu:0"), regression), model = in_scope(several, regression);
    const Dataset data = Dataset::from_tensor_slices(inputs()).batch(kBatch);
    const Tensor expected = one.predict(data, {.verbose = 0});
    for (const AutoShardPolicy policy : {AutoShardPolicy::off, AutoShardPolicy::file, AutoShardPolicy::data})
      expect_numbers(model.predict(with(data, policy), {.verbose = 0}), numbers(expected), 1e-5f);
  });
}

TEST_P(ShardsOverProcesses, LoopsOfOnesOwnFollowThePolicy) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const int64_t size = several.num_processes();
    const Dataset data = Dataset::from_tensor_slices(Tensor::full({kRows, 1}, 1.0)).batch(kBatch);
    for (const auto& [policy, rows] :
         {std::pair(AutoShardPolicy::data, kRows), std::pair(AutoShardPolicy::off, kRows * size),
          std::pair(AutoShardPolicy::file, kRows)}) {
      double sum = 0;
      int64_t seen = 0;
      for (const DistributedBatch& batch : several.distribute(with(data, policy))) {
        sum +=
            several.reduce("sum", several.run([](const Batch& part) { return ops::sum(part.x[0]); }, batch))
                .item();
        seen += batch.rows;
      }
      EXPECT_EQ(sum, static_cast<double>(rows));
      EXPECT_EQ(seen, rows);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(All, ShardsOverProcesses,
                         ::testing::Values(Layout{2, 1}, Layout{3, 1}, Layout{2, 2}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala::shards_over_processes_test
