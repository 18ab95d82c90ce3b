#include <csignal>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <sys/resource.h>
#include <unistd.h>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/saving/weights/weights_walk.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

class WeightsTest : public testing::Test {
 protected:
  void SetUp() override {
    set_log_sink([this](LogChannel channel, std::string_view text) {
      if (channel == LogChannel::warning) warnings_ += std::string(text) + "\n";
    });
  }
  void TearDown() override { set_log_sink({}); }

  static void expect_mentions(const std::string& text, const std::vector<std::string>& parts) {
    for (const std::string& part : parts)
      EXPECT_NE(text.find(part), std::string::npos) << part << " in: " << text;
  }

  ScratchFolder folder_{"weights"};
  std::string path_ = folder_.file("m.weights.h5");
  std::string warnings_;
};

std::vector<std::vector<float>> values_of(const Layer& layer) {
  std::vector<std::vector<float>> values;
  for (const Tensor& weight : layer.get_weights()) values.push_back(weight.to_vector<float>());
  return values;
}

std::vector<std::string> paths_of(const Layer& root) {
  std::vector<std::string> paths;
  for (const WeightsGroup& group : walk_weights(root)) paths.push_back(group.path);
  return paths;
}

using Paths = std::vector<std::string>;

Sequential small() {
  return Sequential({Input({4}), Dense(5, {.name = "first"}), BatchNormalization({.name = "norm"}),
                     Dense(3, {.name = "last"})});
}

TEST_F(WeightsTest, WalkNumbersByClassInTheOrderOfLayers) {
  const Tensor x = Input({8, 8, 2});
  const Tensor a = Conv2D(2, 1)(x), b = Conv2D(2, 1)(x);
  const Sequential inner({Input({8, 8, 2}), ReLU(), Conv2D(2, 1)});
  const Model model(x, GlobalAveragePooling2D()(inner(Add()({a, b}))));
  EXPECT_EQ(paths_of(model), (Paths{"", "layers/input_layer", "layers/conv2d", "layers/conv2d_1",
                                    "layers/add", "layers/sequential", "layers/sequential/layers/re_lu",
                                    "layers/sequential/layers/conv2d", "layers/global_average_pooling2d"}));
}

/// Listed twice: once, under the first path, and the counter of its class goes on.
TEST_F(WeightsTest, WalkListsSharedLayersOnce) {
  const Dense shared(4);
  const Sequential inner({Input({4}), shared});
  const Tensor x = Input({4});
  const Model model(x, Dense(2)(inner(shared(x))));
  EXPECT_EQ(paths_of(model),
            (Paths{"", "layers/input_layer", "layers/dense", "layers/sequential", "layers/dense_1"}));
}

struct Pair final : LayerNode {
  Dense b = track("b", Dense(2));
  Dense hidden = track("_hidden", Dense(2));
  Dense a = track("a", Dense(2));
  std::string class_name() const override { return "Pair"; }
  Tensor call(Call& c, const Tensor& x) const override { return hidden(c, a(c, b(c, x))); }
};

struct Net final : ModelNode {
  Dense zero = track("zero", Dense(2));
  Dense hidden = track("_hidden", Dense(2));
  Dense one = track("list", Dense(2));
  Layer two = track("list", make_layer<Pair>());
  Dense three = track("list", Dense(2));
  Dense alpha = track("alpha", Dense(2));
  Layer early = track("early", make_layer<Pair>());
  Layer early_again = track("early", make_layer<Pair>());
  Tensor call(Call& c, const Tensor& x) const override {
    const Tensor y = three(c, two(c, one(c, hidden(c, zero(c, x)))));
    return early_again(c, early(c, alpha(c, y)));
  }
};

/// What Keras does with attributes before and behind `layers` in the alphabet, private ones, and lists.
TEST_F(WeightsTest, WalkOfASubclassedModel) {
  const Model model = make_model<Net>();
  model.build({None, 2});
  EXPECT_EQ(paths_of(model),
            (Paths{"", "alpha", "early/pair", "early/pair/a", "early/pair/b", "early/pair/_hidden",
                   "early/pair_1", "early/pair_1/a", "early/pair_1/b", "early/pair_1/_hidden", "layers/dense",
                   "layers/dense_1", "layers/dense_2", "layers/pair", "layers/pair/a", "layers/pair/b",
                   "layers/pair/_hidden", "layers/dense_3"}));
}

TEST_F(WeightsTest, RoundTripKeepsEveryBit) {
  const Sequential a = small(), b = small();
  a.compile({.optimizer = Adam(), .loss = "mse"});
  b.compile({.optimizer = Adam(), .loss = "mse"});
  const Tensor x = Tensor::full({8, 4}, 0.5), y = Tensor::full({8, 3}, -1.0);
  a.fit(x, y, {.batch_size = 4, .epochs = 2, .verbose = 0});
  a.save_weights(path_);
  b.load_weights(path_);
  EXPECT_EQ(values_of(b), values_of(a));
  const auto state = a.optimizer().node().variables_for_file(),
             loaded = b.optimizer().node().variables_for_file();
  EXPECT_EQ(loaded.at(0).value.item(), 4.0);
  for (size_t i = 1; i < state.size(); ++i)
    EXPECT_EQ(loaded.at(i).value.to_vector<float>(), state[i].value.to_vector<float>()) << state[i].name;
  EXPECT_EQ(warnings_, "");
}

TEST_F(WeightsTest, NamesOfKeras2AreUnderstood) {
  const Sequential inner({Input({4}), Dense(4)});
  const Sequential model({Input({4}), inner, Dense(3)}),
      other({Input({4}), Sequential({Input({4}), Dense(4)}), Dense(3)});
  hdf5::Writer writer;
  const std::string old = "_layer_checkpoint_dependencies/";
  const Tensors weights = model.get_weights();
  for (const auto& [path, index] :
       std::vector<std::pair<std::string, size_t>>{{old + "sequential/" + old + "dense/vars/0", 0},
                                                   {old + "sequential/" + old + "dense/vars/1", 1},
                                                   {old + "dense/vars/0", 2},
                                                   {old + "dense/vars/1", 3}})
    writer.write_dataset<float>(path, weights[index].shape(), weights[index].data<float>());
  writer.save(path_);
  other.load_weights(path_);
  EXPECT_EQ(values_of(other), values_of(model));
}

TEST_F(WeightsTest, AnotherModelIsRefusedByLayerAndNothingChanges) {
  small().save_weights(path_);
  const Sequential wider({Input({4}), Dense(5), BatchNormalization(), Dense(7, {.name = "wide"})});
  auto before = values_of(wider);
  expect_error<ShapeError>([&] { wider.load_weights(path_); },
                           {path_, "'wide' (Dense)", "/layers/dense_1/vars", "kernel", "(5, 7)", "(5, 3)"});
  EXPECT_EQ(values_of(wider), before);

  const Sequential deeper({Input({4}), Dense(5), BatchNormalization(), Dense(3), Dense(3, {.name = "more"})});
  before = values_of(deeper);
  expect_error<NotFoundError>([&] { deeper.load_weights(path_); },
                              {path_, "'more' (Dense)", "/layers/dense_2/vars", "no such group"});
  EXPECT_EQ(values_of(deeper), before);

  const Sequential fewer(
      {Input({4}), Dense(5), BatchNormalization({.scale = false, .name = "bn"}), Dense(3)});
  before = values_of(fewer);
  expect_error<ShapeError>([&] { fewer.load_weights(path_); },
                           {"'bn' (BatchNormalization)", "expected 3 variables", "4 variables"});
  EXPECT_EQ(values_of(fewer), before);
}

TEST_F(WeightsTest, LayersThatTheModelLacksAreLeftOutWithAWarning) {
  small().save_weights(path_);
  Sequential({Input({4}), Dense(5), BatchNormalization()}).load_weights(path_);
  expect_mentions(warnings_, {path_, "1 group(s)", "/layers/dense_1/vars"});
}

TEST_F(WeightsTest, AnOptimizerThatDoesNotFitIsLeftOutWithAWarning) {
  const Sequential a = small(), b = small();
  a.compile({.optimizer = Adam(), .loss = "mse"});
  b.compile({.optimizer = SGD({.learning_rate = 0.25}), .loss = "mse"});
  a.train_on_batch(Batch{.x = {Tensor::full({2, 4}, 0.5)}, .y = {Tensor::zeros({2, 3})}});
  a.save_weights(path_);
  b.load_weights(path_);
  EXPECT_EQ(values_of(b), values_of(a));
  EXPECT_EQ(b.optimizer().learning_rate(), 0.25);
  expect_mentions(warnings_, {path_, "does not fit", "SGD"});
}

TEST_F(WeightsTest, FilesOfOtherKindsAreRefused) {
  const Sequential model = small();
  const auto before = values_of(model);
  expect_error<IoError>([&] { model.load_weights(folder_.file("none.weights.h5")); }, {"none.weights.h5"});
  expect_error<IoError>([&] { model.load_weights(folder_.path().string()); }, {folder_.path().string()});
  std::ofstream(path_) << "hello";
  expect_error<FileFormatError>([&] { model.load_weights(path_); }, {path_});
  hdf5::Writer keras2;  // names a layer that it does not hold
  keras2.set_attribute("/", "layer_names", std::vector<std::string>{"first"}, hdf5::StringStorage::fixed);
  keras2.save(path_);
  expect_error<FileFormatError>([&] { model.load_weights(path_); }, {path_, "first"});
  model.save_weights(path_);
  std::filesystem::resize_file(path_, std::filesystem::file_size(path_) - 100);
  expect_error<FileFormatError>([&] { model.load_weights(path_); }, {path_});
  EXPECT_EQ(values_of(model), before);
}

TEST_F(WeightsTest, UnbuiltModelsAndOtherNamesAreRefused) {
  const Sequential unbuilt({Dense(3)});
  expect_error<StateError>([&] { unbuilt.save_weights(path_); }, {"not built"});
  small().save_weights(path_);
  expect_error<StateError>([&] { unbuilt.load_weights(path_); }, {"not built"});
  expect_error<InvalidArgumentError>([&] { small().save_weights(folder_.file("m.h5")); }, {".weights.h5"});
}

std::string bytes_of(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
}

/// The disk is full (here: a limit of the process) after a part of the file.
TEST_F(WeightsTest, AFullDiskLeavesTheOldFile) {
  small().save_weights(path_);
  const std::string before = bytes_of(path_);
  rlimit old_limit{};
  ASSERT_EQ(::getrlimit(RLIMIT_FSIZE, &old_limit), 0);
  rlimit limit = old_limit;
  limit.rlim_cur = 3000;
  ASSERT_EQ(::setrlimit(RLIMIT_FSIZE, &limit), 0);
  const std::string text = error_text<IoError>([&] { small().save_weights(path_); });
  ::setrlimit(RLIMIT_FSIZE, &old_limit);
  expect_mentions(text, {path_});
  EXPECT_EQ(bytes_of(path_), before);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(folder_.path()),
                          std::filesystem::directory_iterator()),
            1);
}

TEST_F(WeightsTest, FoldersThatAreMissingOrReadOnly) {
  const std::string missing = folder_.file("none/m.weights.h5");
  expect_error<IoError>([&] { small().save_weights(missing); }, {missing});
  EXPECT_FALSE(std::filesystem::exists(folder_.file("none")));
  const std::string nobodys = "/proc/nyala.weights.h5";
  expect_error<IoError>([&] { small().save_weights(nobodys); }, {nobodys});
  if (::geteuid() == 0) return;  // permissions do not hold root back
  std::filesystem::permissions(folder_.path(),
                               std::filesystem::perms::owner_read | std::filesystem::perms::owner_exec);
  expect_error<IoError>([&] { small().save_weights(path_); }, {path_, "ermission"});
  std::filesystem::permissions(folder_.path(), std::filesystem::perms::owner_all);
}

}  // namespace
}  // namespace nyala
