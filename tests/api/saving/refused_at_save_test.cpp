#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

/// What could not be loaded is not saved.
class RefusedAtSave : public testing::Test {
 protected:
  template <class Function>
  void expect_refused(const std::string& path, Function save) const {
    EXPECT_THROW(save(path), InvalidArgumentError);
    EXPECT_FALSE(std::filesystem::exists(path));
  }
  ScratchFolder folder_{"refused"};
};

TEST_F(RefusedAtSave, NamesThatAnArchiveCannotHave) {
  const std::string path = folder_.file("a.npz");
  const Tensor one = ops::ones({1});
  for (const std::string& name :
       {std::string("../x"), std::string("a/../b"), std::string("/x"), std::string("c:x"),
        std::string("a\0b", 3), std::string("a\\b"), std::string(70000, 'x')})
    expect_refused(path, [&](const std::string& p) { save_npz(p, {{name, one}}); });
  expect_refused(path, [&](const std::string& p) { save_npz(p, {{"a", one}, {"b", one}, {"a", one}}); });
  save_npz(path, {{"a", one}, {"b/c", one}, {"..d", one}});
  EXPECT_EQ(load_npz(path).size(), 3u);
}

TEST_F(RefusedAtSave, PositionsBeforeTheBeginning) {
  const Sequential model({Input({2}), Dense(1)});
  for (const TrainingPosition& position : {TrainingPosition{.epoch = -5}, TrainingPosition{.batch = -1}})
    expect_refused(folder_.file("c.weights.h5"),
                   [&](const std::string& p) { Checkpoint(model).save(p, position); });
}

/// Keras 3 raises ValueError at construction: "cannot contain character `/`".
TEST_F(RefusedAtSave, NamesOfLayersWithoutSlashes) {
  EXPECT_THROW(Dense(2, {.name = "a/b"}), InvalidArgumentError);
  EXPECT_THROW(Input({2}, {.name = "/"}), InvalidArgumentError);
  EXPECT_THROW(Sequential({Input({2}), Dense(1)}, {.name = "a/b"}), InvalidArgumentError);
  const Tensor x = Input({2});
  EXPECT_THROW(Model({.inputs = {x}, .outputs = {Dense(1)(x)}, .name = "a/b"}), InvalidArgumentError);
  EXPECT_EQ(error_text<InvalidArgumentError>([] { Dense(2, {.name = "a/b"}); }),
            "Dense: expected a name without '/', received 'a/b'");
}

/// Errors name the file and the layer.
TEST_F(RefusedAtSave, NamesOfLayersThatHdf5CannotHold) {
  using testing::AllOf;
  using testing::HasSubstr;
  const auto refusal = [&](const std::string& name, const std::string& file) {
    const Model model = Sequential({Input({2}), Dense(1, {.name = name}), Dense(1)});
    return error_text<InvalidArgumentError>([&] {
      file.ends_with(".weights.h5") ? model.save_weights(folder_.file(file)) : model.save(folder_.file(file));
    });
  };
  for (const char* file : {"m.keras", "m.h5", "m.weights.h5"})
    EXPECT_THAT(refusal(std::string("a\0b", 3), file),
                AllOf(HasSubstr(folder_.file(file) + ": "), HasSubstr(R"(layer 'a\x00b' (Dense): )"),
                      HasSubstr("contains a NUL character")))
        << file;
  EXPECT_THAT(refusal(".", "m.h5"), AllOf(HasSubstr(folder_.file("m.h5") + ": layer '.' (Dense): "),
                                          HasSubstr("the path contains '.'")));
}

/// Keras cannot read a shape with -1 there.
TEST_F(RefusedAtSave, BroadcastingToAnUnknownNumberOfRows) {
  const Tensor x = Input({1}), y = Input({3});
  const Model model({x, y}, {Dense(1)(ops::broadcast_to(x, y.shape()))});
  EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.save(folder_.file("m.keras")); }),
              testing::HasSubstr("'broadcast_to' between layers cannot be saved"));
}

/// Its operations go into files with the mask of the layer that takes it.
TEST(MaskOfConcatenate, IsWrittenAsKerasReadsIt) {
  const Tensor words = Input({6}, {.dtype = "int32"});
  const Tensor x = Embedding(9, 2, {.mask_zero = true})(words);
  const Tensor y = Embedding(9, 3, {.mask_zero = true})(words);
  const Tensor z = Embedding(9, 4)(words);
  const std::string json = Model(words, LSTM(3)(Concatenate()({x, y, z}))).to_json();
  for (const char* name : {"NotEqual", "ExpandDims", "FullLike", "LogicalOr", "Any"})
    EXPECT_THAT(json, testing::HasSubstr("\"class_name\":\"" + std::string(name) + "\""));
  EXPECT_THAT(json, testing::Not(testing::HasSubstr("BroadcastTo")));
}

/// Where a file does not have them, Keras makes them anew as it reads it, under names that are taken.
TEST(MaskOfConcatenate, IsWrittenForTheCallOfAModel) {
  const Tensor words = Input({6}, {.dtype = "int32"});
  const Embedding embedding(9, 2, {.mask_zero = true});
  const Tensor x = Concatenate()({embedding(words), embedding(words)});
  const Sequential inner({Input({6, 4}), LSTM(3)});
  const std::string json = Model(words, inner(x)).to_json();
  EXPECT_THAT(json, testing::HasSubstr("\"class_name\":\"Any\""));
  EXPECT_THAT(json, testing::HasSubstr("\"kwargs\":{\"mask\":{\"class_name\":\"__keras_tensor__\""));
}

}  // namespace
}  // namespace nyala
