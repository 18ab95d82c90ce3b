// Whole numbers and truth values as data: every kind of model takes them as Keras does, in the dtype of its
// Input.
#include <cmath>
#include <filesystem>
#include <functional>
#include <limits>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala::input_dtypes_test {

namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

const std::vector<DType> kNotFloating = {DType::int32, DType::int64, DType::uint8, DType::bool_};

Tensor numbers(const Shape& shape, DType dtype) {
  std::vector<int32_t> values(static_cast<size_t>(shape.num_elements()));
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<int32_t>(i * 7 % 5 % 3);
  return ops::cast(Tensor::from(values, shape), dtype);
}

struct LayerCase {
  std::function<Layer()> make;
  Shape row;
};

std::vector<LayerCase> layers() {
  const Shape image{6, 6, 2}, row{4}, series{4, 2};
  return {{[] { return Dense(3); }, row},
          {[] { return Conv2D(2, 3); }, image},
          {[] { return BatchNormalization(); }, row},
          {[] { return Flatten(); }, image},
          {[] { return Reshape({8}); }, series},
          {[] { return Permute({2, 1}); }, series},
          {[] { return MaxPooling2D(2); }, image},
          {[] { return AveragePooling2D(2); }, image},
          {[] { return GlobalMaxPooling2D(); }, image},
          {[] { return ZeroPadding2D(1); }, image},
          {[] { return UpSampling2D(2); }, image},
          {[] { return Resizing(3, 3); }, image},
          {[] { return Dropout(0.5); }, row},
          {[] { return GaussianNoise(0.1); }, row},
          {[] { return ReLU(); }, row},
          {[] { return Softmax(); }, row},
          {[] { return UnitNormalization(); }, row},
          {[] { return Masking(); }, series},
          {[] { return LSTM(3); }, series},
          {[] { return Embedding(5, 2); }, row}};
}

Shape rows_of(int64_t rows, const Shape& row) {
  Shape shape{rows};
  for (const int64_t size : row) shape.append(size);
  return shape;
}

/// For data of `dtype` the model gives what it gives for the same numbers in float32.
void expect_same_as_floats(const Model& model, const Shape& row, const std::string& what) {
  const Tensor floats = numbers(rows_of(3, row), DType::float32);
  for (const DType dtype : kNotFloating) {
    const Tensor given = numbers(rows_of(3, row), dtype);
    const Tensor same = ops::cast(given, DType::float32);  // a bool says less than the number
    const Tensor expected = model.predict(same, {.verbose = 0}), found = model.predict(given, {.verbose = 0});
    const std::string where = what + " of " + std::string(name_of(dtype));
    ASSERT_EQ(found.dtype(), expected.dtype()) << where;
    EXPECT_EQ(found.to_vector<float>(), expected.to_vector<float>()) << where;
    EXPECT_EQ(model(given).dtype(), expected.dtype()) << where;
  }
}

TEST(WholeNumbersAsData, OfEveryLayerInEveryKindOfModel) {
  for (const LayerCase& of : layers()) {
    const Layer in_sequential = of.make(), without_input = of.make(), in_functional = of.make();
    const std::string name = in_sequential.class_name();
    expect_same_as_floats(Sequential({Input(of.row), in_sequential}), of.row, "Sequential, " + name);
    expect_same_as_floats(Sequential({without_input}), of.row, "without an Input, " + name);
    const Tensor x = Input(of.row);
    expect_same_as_floats(Model(x, in_functional(x)), of.row, "functional, " + name);
    const Tensor y = Input(of.row);
    expect_same_as_floats(Model(y, Sequential({of.make()})(y)), of.row, "model in a model, " + name);
  }
}

struct Subclassed : ModelNode {
  Dense first = track("first", Dense(3, {.activation = "relu"})), second = track("second", Dense(2));
  using ModelNode::call;
  Tensor call(Call& c, const Tensor& x) const override { return second(c, first(c, x)); }
};

TEST(WholeNumbersAsData, OfASubclassedModel) {
  expect_same_as_floats(make_model<Subclassed>(), {4}, "subclassed");
}

class SeveralInputs : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 2); }
  void TearDown() override { configure_logical_devices("cpu", 1); }
};

/// Inputs of several dtypes by position and by name; data of any.
TEST_P(SeveralInputs, TakeEveryDtypeByPositionAndByName) {
  mirrored(GetParam()).scope([] {
    const Tensor number = Input({2}, {.name = "number"}), id = Input({2}, {.dtype = "int32", .name = "id"}),
                 flag = Input({2}, {.dtype = "bool", .name = "flag"});
    const Tensor rows = Flatten()(Embedding(4, 2, {.embeddings_initializer = "ones"})(id));
    const Model model(
        {.inputs = {number, id, flag},
         .outputs = {Concatenate()({number * 2.0, rows, ops::cast(flag, DType::float32)}), id + 1}});
    const Tensors floats = {numbers({5, 2}, DType::float32), numbers({5, 2}, DType::int32),
                            numbers({5, 2}, DType::bool_)};
    const Tensors expected = model.predict_all(floats, {.verbose = 0});
    for (const DType first : kNotFloating)
      for (const DType second : {DType::int32, DType::int64, DType::uint8})
        for (const DType third : kNotFloating) {
          const Tensors found = model.predict_all(
              {ops::cast(floats[0], first), ops::cast(floats[1], second), ops::cast(floats[1], third)},
              {.verbose = 0});
          if (first != DType::bool_) {
            EXPECT_EQ(found[0].to_vector<float>(), expected[0].to_vector<float>());
          }
          EXPECT_EQ(found[1].dtype(), DType::int32);
          EXPECT_EQ(found[1].to_vector<int32_t>(), expected[1].to_vector<int32_t>());
        }
  });
}

const int64_t kTooBig = (int64_t{1} << 32) + 3;

Tensor ids_with(int64_t value) {
  std::vector<int64_t> ids(12);
  ids[7] = value;
  return Tensor::from(ids, {6, 2});
}

Model of_ids(const std::string& dtype) {
  const Tensor id = Input({2}, {.dtype = dtype, .name = "ids"});
  const Model model(id, Dense(1, {.kernel_initializer = "ones"})(Flatten()(Embedding(8, 2)(id))),
                    {.name = "m"});
  model.compile({.optimizer = "sgd", .loss = "mse"});
  return model;
}

TEST_P(SeveralInputs, ANumberThatTheInputDoesNotHoldIsNamed) {
  mirrored(GetParam()).scope([] {
    const Model model = of_ids("int32");
    const Tensor wrong = ids_with(kTooBig), y = Tensor::zeros({6, 1});
    const auto names = AllOf(HasSubstr("model 'm', input 0 ('ids')"), HasSubstr("that int32 holds"),
                             HasSubstr("received 4294967299 at [3, 1]"), HasSubstr("int64"));
    const std::vector<float> before = model.weights()[0].value().to_vector<float>();
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model(wrong); }), names);
    EXPECT_THAT(
        error_text<InvalidArgumentError>([&] { model.predict(wrong, {.batch_size = 2, .verbose = 0}); }),
        names);
    EXPECT_THAT(
        error_text<InvalidArgumentError>([&] { model.evaluate(wrong, y, {.batch_size = 2, .verbose = 0}); }),
        names);
    EXPECT_THAT(
        error_text<InvalidArgumentError>([&] { model.fit(wrong, y, {.batch_size = 2, .verbose = 0}); }),
        names);
    EXPECT_THAT(
        error_text<InvalidArgumentError>([&] {
          model.fit(ids_with(1), y, {.batch_size = 2, .verbose = 0, .validation_data = Arrays{wrong, y}});
        }),
        names);
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.train_on_batch(wrong, y); }), names);
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.predict_on_batch(wrong); }), names);
    const Dataset batches = Dataset::from_tensor_slices(wrong, y).batch(2);
    EXPECT_THAT(error_text<InvalidArgumentError>([&] { model.fit(batches, {.verbose = 0}); }),
                HasSubstr("received 4294967299 at [1, 1] of its batch"));
    EXPECT_THAT(error_text<InvalidArgumentError>(
                    [&] { model.predict(ids_with(INT32_MIN - int64_t{1}), {.verbose = 0}); }),
                HasSubstr("received -2147483649 at [3, 1]"));
    EXPECT_EQ(of_ids("int64").weights().size(), 3u);
    EXPECT_THAT(
        error_text<InvalidArgumentError>([&] { of_ids("uint8").predict(ids_with(-1), {.verbose = 0}); }),
        HasSubstr("that uint8 holds, 0 to 255, received -1 at [3, 1]"));
  });
}

TEST_P(SeveralInputs, NumbersThatFitTrainAsThoseOfTheInput) {
  mirrored(GetParam()).scope([] {
    const auto trained = [](DType dtype, bool as_dataset) {
      set_random_seed(4);
      const Model model = of_ids("int32");
      const Tensor x = numbers({6, 2}, dtype), y = Tensor::ones({6, 1});
      if (as_dataset)
        model.fit(Dataset::from_tensor_slices(x, y).batch(3), {.epochs = 2, .verbose = 0});
      else
        model.fit(x, y, {.batch_size = 3, .epochs = 2, .verbose = 0, .shuffle = false});
      return model.predict(x, {.verbose = 0}).to_vector<float>();
    };
    const std::vector<float> expected = trained(DType::int32, false);
    EXPECT_EQ(trained(DType::int64, false), expected);
    EXPECT_EQ(trained(DType::int64, true), expected);
    EXPECT_EQ(trained(DType::uint8, false), expected);
  });
}

/// As Keras casts data; what does not fit is an error here.
TEST_P(SeveralInputs, FloatsAreCutForWholeNumbers) {
  mirrored(GetParam()).scope([] {
    const Tensor ids = numbers({6, 2}, DType::int32), y = Tensor::ones({6, 1});
    for (const char* dtype : {"float32", "float64"}) {
      const Tensor floats = ids.astype(dtype) + 0.9;
      const Model model = of_ids("int32");
      EXPECT_EQ(model.predict(floats, {.verbose = 0}).to_vector<float>(),
                model.predict(ids, {.verbose = 0}).to_vector<float>());
      EXPECT_EQ(model(floats).to_vector<float>(), model(ids).to_vector<float>());
      EXPECT_EQ(model.evaluate(floats, y, {.verbose = 0})["loss"],
                model.evaluate(ids, y, {.verbose = 0})["loss"]);
      const auto trained = [&](const Tensor& x) {
        set_random_seed(4);
        const Model fresh = of_ids("int32");
        fresh.fit(x, y, {.batch_size = 3, .epochs = 2, .verbose = 0, .shuffle = false});
        return fresh.predict(ids, {.verbose = 0}).to_vector<float>();
      };
      EXPECT_EQ(trained(floats), trained(ids));
    }
    const Tensor x = Input({1}, {.dtype = "int32"});
    const Model same(x, x + 0);
    EXPECT_EQ(same.predict(Tensor({{1.9}, {-1.9}}), {.verbose = 0}).to_vector<int32_t>(),
              (std::vector<int32_t>{1, -1}));
    EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                  same.predict(Tensor({{1}, {3e9}}), {.verbose = 0});
                }),
                HasSubstr("received 3000000000 at [1, 0]"));
    EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                  same.predict(Tensor({{1}, {NAN}}), {.verbose = 0});
                }),
                HasSubstr("received nan at [1, 0]"));
    const Tensor wide = Input({1}, {.dtype = "int64"});
    const Model large(wide, wide + 0);
    for (const double wrong : {double{NAN}, double{INFINITY}, -1e30, 0x1p63})
      EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                    large.predict(Tensor({{1.0}, {wrong}}), {.verbose = 0});
                  }),
                  HasSubstr("expected whole numbers that int64 holds"));
    EXPECT_EQ(large.predict(Tensor({{0x1p62}, {-0x1p62}}), {.verbose = 0}).to_vector<int64_t>(),
              (std::vector<int64_t>{int64_t{1} << 62, -(int64_t{1} << 62)}));
  });
}

INSTANTIATE_TEST_SUITE_P(Replicas, SeveralInputs, ::testing::Values(1, 2));

// Keras 3.15 gives these, NaN among them.
TEST(TruthValuesAsData, AreWhatIsNotZero) {
  const std::vector<double> given = {NAN, 0.0, -0.0, INFINITY, -2.5, 0.25, -NAN};
  const std::vector<float> expected = {1, 0, 0, 1, 1, 1, 1};
  const auto count = static_cast<int64_t>(given.size());
  const Tensor x = Input({count}, {.dtype = "bool"});
  const Layer dense = Dense(1, {.use_bias = false, .kernel_initializer = "ones"});
  const std::pair<const char*, Model> models[] = {
      {"functional", Model(x, ops::cast(x, DType::float32))},
      {"nested", Model(x, Model(x, ops::cast(x, DType::float32))(x))},
  };
  for (const DType dtype : {DType::float32, DType::float64, DType::float16, DType::bfloat16}) {
    const Tensor data = ops::cast(Tensor::from(given, {1, count}), dtype);
    for (const auto& [what, model] : models) {
      EXPECT_EQ(model.predict(data, {.verbose = 0}).to_vector<float>(), expected) << what;
      EXPECT_EQ(model.predict_on_batch(data).to_vector<float>(), expected) << what;
      EXPECT_EQ(Tensor(model(data)).to_vector<float>(), expected) << what;
    }
    const Sequential summed({Input({count}, {.dtype = "bool"}), dense});
    EXPECT_EQ(summed.predict(data, {.verbose = 0}).item(), 5.0);
    summed.compile({.optimizer = SGD(0.0), .loss = "mse"});
    const Tensor five = Tensor::full({1, 1}, 5.0);
    EXPECT_EQ(summed.evaluate(data, five, {.verbose = 0})["loss"], 0.0);
    EXPECT_EQ(summed.fit(data, five, {.verbose = 0})["loss"][0], 0.0);
  }
}

TEST(TruthValuesAsData, KeepEveryBitOfWholeNumbers) {
  const Tensor x = Input({4}, {.dtype = "bool"});
  const Model model(x, ops::cast(x, DType::float32));
  const std::vector<float> expected = {1, 0, 1, 1};
  EXPECT_EQ(model.predict(Tensor::from(std::vector<int64_t>{int64_t{1} << 32, 0, -1, INT64_MIN}, {1, 4}),
                          {.verbose = 0})
                .to_vector<float>(),
            expected);
  EXPECT_EQ(
      model.predict(Tensor::from(std::vector<int32_t>{256, 0, -1, 1 << 16}, {1, 4}), {.verbose = 0})
          .to_vector<float>(),
      expected);
}

/// Without a model's Input in front: no bit of an id is lost on the way to its Embedding, or to one that
/// Inputs hide.
TEST(WholeNumbersAsData, IdsKeepTheirBitsThroughModelsInModels) {
  const int64_t id = (int64_t{1} << 24) + 1;
  const Layer table = Embedding(id + 1, 1);
  const Tensor x = Input({1});
  const Model model(x, Sequential({Input({1}), table})(x));
  EXPECT_EQ(model(Tensor::from(std::vector<int64_t>{id}, {1, 1})).item(),
            table.weights()[0].value()[id].item());
}

}  // namespace

}  // namespace nyala::input_dtypes_test
