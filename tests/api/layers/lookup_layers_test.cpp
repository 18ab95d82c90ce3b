#include <gtest/gtest.h>

#include <nyala/api/layers/core/dense.h>
#include <nyala/api/layers/core/embedding.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/layers/preprocessing/hashed_crossing.h>
#include <nyala/api/layers/preprocessing/hashing.h>
#include <nyala/api/layers/preprocessing/integer_lookup.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::lookup_layers_test {
namespace {

Tensor ids(const std::vector<int64_t>& values, const Shape& shape) { return Tensor::from(values, shape); }

TEST(HashingLayer, RefusesWhatDoesNotFit) {
  EXPECT_THROW(Hashing(0), InvalidArgumentError);
  EXPECT_THROW(Hashing(3, {.salt = {1, 2, 3}}), InvalidArgumentError);
  EXPECT_THROW(Hashing(3, {.output_mode = "ints"}), InvalidArgumentError);
  EXPECT_THROW(Hashing(3, {.dtype = "float32"}), InvalidArgumentError);
  EXPECT_THROW(Hashing(3, {.output_mode = "count", .sparse = true}), InvalidArgumentError);
  EXPECT_THROW(Dense(3, {.dtype = "int64"}), InvalidArgumentError);
  EXPECT_THROW(set_dtype_policy("int64"), InvalidArgumentError);
}

TEST(HashedCrossingLayer, RefusesWhatDoesNotFit) {
  const Tensor x = ids({1, 2}, {2});
  EXPECT_THROW(HashedCrossing(0), InvalidArgumentError);
  EXPECT_THROW(HashedCrossing(3, {.output_mode = "count"}), InvalidArgumentError);
  EXPECT_THROW(HashedCrossing(3)(x), InvalidArgumentError);
  EXPECT_THROW(HashedCrossing(3)({x, ids({1}, {1})}), ShapeError);
  EXPECT_THROW(HashedCrossing(3)({ids({1, 2}, {1, 2}), ids({1, 2}, {1, 2})}), ShapeError);
  EXPECT_THROW(HashedCrossing(3)({Tensor::zeros({2}), x}), DTypeError);
}

TEST(IntegerLookupLayer, RefusesWhatDoesNotFit) {
  const std::vector<int64_t> tokens = {4, 5};
  EXPECT_THROW(IntegerLookup({.vocabulary = {4, 4}}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.mask_token = 5, .vocabulary = tokens}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.oov_token = 5, .vocabulary = tokens, .invert = true}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.max_tokens = 2, .vocabulary = tokens}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.max_tokens = 1}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.num_oov_indices = -1}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.pad_to_max_tokens = true}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.vocabulary = tokens, .output_mode = "tf_idf"}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.vocabulary = tokens, .idf_weights = {1, 2}}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.invert = true, .output_mode = "count"}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.oov_method = "hash"}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.salt = {1}}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.vocabulary_dtype = "string"}), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({.vocabulary = tokens}).adapt(ids({1}, {1})), StateError);
  EXPECT_THROW(IntegerLookup({}).adapt(ids({}, {0, 3})), InvalidArgumentError);
  EXPECT_THROW(IntegerLookup({})(ids({1}, {1})), StateError);
  EXPECT_THROW(IntegerLookup({.output_mode = "count"})(Input({3}, {.dtype = "int64"})), StateError);
}

TEST(IntegerLookupLayer, NamesTokensThatItLacks) {
  const IntegerLookup layer({.num_oov_indices = 0, .vocabulary = {4, 5}});
  EXPECT_EQ(layer(ids({5, 4}, {2})).to_vector<int64_t>(), (std::vector<int64_t>{1, 0}));
  expect_error<NumericError>([&] { layer(ids({5, 6}, {2})); }, {"6 in row 1 is not in the vocabulary of 2"});
}

TEST(IntegerLookupLayer, KeepsTheLengthOfItsVectors) {
  const IntegerLookup layer({.output_mode = "count"});
  layer.set_vocabulary({7, 8});
  const Model model = Sequential({Input({2}, {.dtype = "int64"}), layer, Dense(1)});
  EXPECT_EQ(model(ids({7, 1}, {1, 2})).shape(), (Shape{1, 1}));
  EXPECT_THROW(layer.set_vocabulary({7, 8, 9}), StateError);
  EXPECT_EQ(layer.get_vocabulary(), (std::vector<int64_t>{-1, 7, 8}));
  layer.set_vocabulary({9, 8});
  EXPECT_EQ(layer.get_vocabulary(false), (std::vector<int64_t>{9, 8}));
  EXPECT_EQ(layer.vocabulary_size(), 3);
}

TEST(IntegerLookupLayer, TrainsOnReplicasAsOnOneDevice) {
  const auto trained = [](int replicas) {
    set_random_seed(3);
    configure_logical_devices("cpu", replicas);
    const Strategy strategy = mirrored(replicas);
    const auto scope = strategy.scope();
    const IntegerLookup lookup({.mask_token = 0});
    lookup.adapt(ids({10, 20, 30, 20, 10, 10}, {6}));
    const Model model = Sequential({Input({3}, {.dtype = "int64"}), lookup, Embedding(5, 4), Dense(1)});
    model.compile({.optimizer = "sgd", .loss = "mse"});
    const Tensor x = ids({10, 20, 0, 30, 30, 99, 20, 10, 10, 0, 0, 0, 7, 10, 20}, {5, 3});
    model.fit(x, Tensor::ones({5, 3, 1}), {.batch_size = 3, .epochs = 2, .verbose = 0});
    return model(x).to_vector<float>();
  };
  const std::vector<float> two = trained(2), one = trained(1);
  ASSERT_EQ(one.size(), two.size());
  for (size_t i = 0; i < one.size(); ++i) EXPECT_NEAR(one[i], two[i], 1e-6);
}

TEST(IntegerLookupLayer, RefusesAVocabularyOfNoNumbers) {
  const ScratchFolder folder("lookups");
  const IntegerLookup lookup({.name = "words"});
  lookup.adapt(ids({10, 20}, {2}));
  Sequential({Input({3}, {.dtype = "int64"}), lookup}).save(folder.file("good.keras"));
  const zip::Archive good(FileBytes::open(folder.file("good.keras")));
  zip::ArchiveWriter bad(folder.file("bad.keras"));
  for (const zip::Member& member : good.members()) {
    const auto bytes = good.read(member.name).bytes.bytes();
    const std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    bad.add(member.name, member.name.ends_with("vocabulary.txt") ? "-1\n10\ntwenty" : text);
  }
  bad.commit();
  EXPECT_EQ(load_model(folder.file("good.keras"))(ids({20, 10, 1}, {1, 3})).to_vector<int64_t>(),
            (std::vector<int64_t>{1, 2, 0}));
  expect_error<FileFormatError>([&] { load_model(folder.file("bad.keras")); },
                                {"bad.keras", "line 3 of its vocabulary.txt is no whole number"});
}

}  // namespace
}  // namespace nyala::lookup_layers_test
