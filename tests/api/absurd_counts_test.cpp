// Counts that no machine has room for: an error of Nyala's that says so, in memory that is limited so that
// std::bad_alloc would show.
#include <sys/resource.h>
#include <unistd.h>

#include <climits>
#include <fstream>
#include <functional>
#include <string>

#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::testing {
namespace {

using ::testing::HasSubstr;

/// As much address space as there is now, and a GB.
class LimitedMemory {
 public:
  LimitedMemory() {
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    ::getrlimit(RLIMIT_AS, &before_);
    std::ifstream in("/proc/self/statm");
    rlim_t pages = 0;
    in >> pages;
    const rlim_t here = pages * static_cast<rlim_t>(::sysconf(_SC_PAGESIZE));
    const rlimit limit{here + (rlim_t{1} << 30), before_.rlim_max};
    ::setrlimit(RLIMIT_AS, &limit);
    is_set_ = true;
#endif
  }
  ~LimitedMemory() {
    if (is_set_) ::setrlimit(RLIMIT_AS, &before_);
  }
  bool is_set() const { return is_set_; }
  LimitedMemory(const LimitedMemory&) = delete;
  LimitedMemory& operator=(const LimitedMemory&) = delete;

 private:
  rlimit before_{};
  bool is_set_ = false;
};

struct Call {
  const char* what;
  std::function<void()> call;
};

void expect_own_errors(const std::vector<Call>& calls) {
  const LimitedMemory limited;
  if (!limited.is_set()) GTEST_SKIP() << "sanitizers need the address space";
  for (const Call& one : calls) try {
      one.call();
      ADD_FAILURE() << one.what << ": nothing was thrown";
    } catch (const Error&) {
    } catch (const std::exception& error) {
      ADD_FAILURE() << one.what << ": " << error.what();
    }
}

Model scores(int64_t classes) {
  const Sequential model({Input({4}), Dense(classes, {.activation = "softmax"})});
  return model;
}

TEST(AbsurdCounts, OfDevices) {
  configure_logical_devices("cpu", 2);
  const Model model = scores(3);
  const Tensor x = Tensor::ones({4, 4});
  const LimitedMemory limited;
  EXPECT_THAT(error_text<DeviceNotFoundError>([&] { multi_gpu_model(model, {.gpus = INT_MAX}); }),
              HasSubstr("device 2 of cpu devices was asked for"));
  EXPECT_THAT(error_text<DeviceNotFoundError>([&] {
                make_parallel([](const NamedInputs& in) { return in["x"]; }, INT_MAX, {{"x", x}});
              }),
              HasSubstr("device 2 of cpu devices was asked for"));
}

TEST(AbsurdCounts, OfClassesAndThresholds) {
  const auto measured = [](const Metric& metric) {
    const Model model = scores(3);
    model.compile({.loss = "mse", .metrics = {metric}});
    model.evaluate(Tensor::ones({2, 4}), Tensor::ones({2, 3}), {.verbose = 0});
  };
  const Tensor one = Tensor::ones({1});
  expect_own_errors({
      {"MeanIoU(INT_MAX)", [&] { metrics::MeanIoU({.num_classes = INT_MAX}); }},
      {"MeanIoU(INT64_MAX)", [&] { metrics::MeanIoU({.num_classes = INT64_MAX}); }},
      {"IoU", [&] { metrics::IoU({.num_classes = INT_MAX, .target_class_ids = {0}}); }},
      {"MeanIoU(2^28), used", [&] { measured(metrics::MeanIoU({.num_classes = 1 << 28})); }},
      {"MeanIoU(2^28), alone", [&] { metrics::MeanIoU({.num_classes = 1 << 28}).update_state(one, one); }},
      {"AUC, used", [&] { measured(metrics::AUC({.num_thresholds = INT_MAX})); }},
      {"AUC, alone", [&] { metrics::AUC({.num_thresholds = INT_MAX}).update_state(one, one); }},
      {"AUC, alone", [&] { (void)metrics::AUC({.num_thresholds = INT_MAX}).result(); }},
      {"PrecisionAtRecall",
       [&] { measured(metrics::PrecisionAtRecall({.recall = 0.5, .num_thresholds = INT_MAX})); }},
  });
}

TEST(AbsurdCounts, OfUnitsAndSizes) {
  const Tensor x = Tensor::ones({2, 4}), image = Tensor::ones({1, 2, 2, 1});
  expect_own_errors({
      {"Dense(INT_MAX)", [&] { Dense(INT_MAX)(x); }},
      {"Dense(INT64_MAX)", [&] { Dense(INT64_MAX)(x); }},
      {"Embedding", [&] { Embedding(INT_MAX, INT_MAX)(x); }},
      {"LSTM(INT_MAX)", [&] { LSTM(INT_MAX)(Tensor::ones({2, 3, 4})); }},
      {"LSTM(INT64_MAX)", [&] { LSTM(INT64_MAX)(Tensor::ones({2, 3, 4})); }},
      {"GRU(INT64_MAX)", [&] { GRU(INT64_MAX)(Tensor::ones({2, 3, 4})); }},
      {"MultiHeadAttention",
       [&] { MultiHeadAttention(INT_MAX, INT_MAX)(Tensor::ones({1, 3, 4}), Tensor::ones({1, 3, 4})); }},
      {"Conv2D", [&] { Conv2D(INT_MAX, INT_MAX, {.padding = "same"})(image); }},
      {"RepeatVector", [&] { RepeatVector(INT_MAX)(x); }},
      {"UpSampling2D", [&] { UpSampling2D(INT_MAX)(image); }},
      {"ZeroPadding2D", [&] { ZeroPadding2D(INT_MAX)(image); }},
      {"Resizing", [&] { Resizing(INT_MAX, INT_MAX)(image); }},
      {"CategoryEncoding", [&] { CategoryEncoding(INT_MAX, {.output_mode = "one_hot"})(x); }},
      {"one_hot", [&] { ops::one_hot(x, INT64_MAX); }},
      {"linspace", [&] { ops::linspace(0, 1, INT64_MAX); }},
      {"linspace", [&] { ops::linspace(0, 1, INT_MAX); }},
      {"eye", [&] { ops::eye(INT_MAX); }},
      {"arange", [&] { ops::arange(0, 1e17); }},
      {"split", [&] { ops::split(x, INT_MAX, 0); }},
      {"repeat", [&] { ops::repeat(x, INT_MAX, 0); }},
      {"tile", [&] { ops::tile(x, {INT_MAX, INT_MAX}); }},
      {"pad", [&] { ops::pad(x, {{INT_MAX, INT_MAX}, {0, 0}}); }},
      {"top_k", [&] { ops::top_k(x, INT_MAX); }},
      {"repeat of 2^32 + 2", [&] { ops::repeat(x, (int64_t{1} << 32) + 2, 0); }},
      {"top_k of 2^32 + 2", [&] { ops::top_k(x, (int64_t{1} << 32) + 2); }},
      {"random_normal", [&] { ops::random_normal({INT_MAX, 8}); }},
      {"pad_sequences",
       [&] { pad_sequences(std::vector<std::vector<int32_t>>{{1}}, {.maxlen = int64_t{INT_MAX} * 8}); }},
  });
}

TEST(AbsurdCounts, OfCharactersInALine) {
  const Model model = scores(3);
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.summary({.line_length = INT_MAX}); }),
              HasSubstr("line_length"));
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.summary({.positions = {1e9, 2e9, 4e9}}); }),
              HasSubstr("positions"));
}

TEST(AbsurdCounts, OfElementsOfADataset) {
  const Dataset data = Dataset::from_tensor_slices(Tensor::arange(6));
  const auto count = [](const Dataset& dataset) {
    int64_t elements = 0;
    for (const Batch& batch : dataset) elements += batch.x[0].num_elements();
    return elements;
  };
  const auto one = [](const Element&) { return Dataset::from_tensor_slices(Tensor::arange(2)); };
  const LimitedMemory limited;
  // As many places as there are datasets.
  EXPECT_EQ(count(data.interleave(one, {.cycle_length = INT_MAX})), 12);
  EXPECT_EQ(count(data.interleave(one, {.cycle_length = 3, .block_length = INT_MAX})), 12);
  const auto same = [](const Tensor& x) { return x; };
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { data.map(same, {.num_parallel_calls = INT_MAX}); }),
              HasSubstr("num_parallel_calls"));
  EXPECT_EQ(count(data.shuffle(INT64_MAX)), 6);
  EXPECT_EQ(count(data.batch(INT64_MAX)), 6);
  EXPECT_EQ(count(data.prefetch(INT64_MAX)), 6);
  EXPECT_EQ(count(data.take(INT64_MAX)), 6);
  EXPECT_EQ(count(data.shard(INT64_MAX, 0)), 1);
  EXPECT_EQ(count(data.repeat(INT64_MAX).take(7)), 7);
}

TEST(AbsurdCounts, OfRowsInABatch) {
  const Model model = scores(3);
  model.compile({.loss = "mse", .steps_per_execution = INT64_MAX});
  const Tensor x = Tensor::ones({5, 4}), y = Tensor::ones({5, 3});
  const LimitedMemory limited;
  model.fit(x, y, {.batch_size = INT64_MAX, .verbose = 0});
  EXPECT_EQ(model.predict(x, {.batch_size = INT64_MAX, .verbose = 0}).shape(), Shape({5, 3}));
  model.evaluate(x, y, {.batch_size = INT64_MAX, .verbose = 0});
}

}  // namespace
}  // namespace nyala::testing
