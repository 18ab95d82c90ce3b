// Constants that layers of a graph are called with: computed with, saved and read. The numbers are Keras' in
// tests/golden (layers_constants.py).
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::constants_in_calls_test {
namespace {

using testing::HasSubstr;

Tensor row(const std::vector<float>& values) {
  return Tensor::from(values, {1, static_cast<int64_t>(values.size())});
}

class ConstantsInCalls : public testing::Test {
 protected:
  /// What the model gives, which is what it gives when it was saved and read.
  std::vector<float> predicted(const Model& model, const Tensor& x) {
    const std::vector<float> before = model.predict(x, {.verbose = 0}).to_vector<float>();
    for (const char* name : {"m.keras", "m.h5"}) {
      model.save(folder_.file(name));
      EXPECT_EQ(load_model(folder_.file(name)).predict(x, {.verbose = 0}).to_vector<float>(), before) << name;
    }
    EXPECT_EQ(clone_model(model).predict(x, {.verbose = 0}).to_vector<float>(), before);
    return before;
  }
  const ScratchFolder folder_{"constants_in_calls"};
};

TEST_F(ConstantsInCalls, AreComputedWithOnEitherSide) {
  const Input x({2});
  const Tensor c = row({10, 20});
  EXPECT_EQ(predicted(Model(x, Subtract()({x, c})), row({1, 2})), (std::vector<float>{-9, -18}));
  EXPECT_EQ(predicted(Model(x, Subtract()({c, x})), row({1, 2})), (std::vector<float>{9, 18}));
  EXPECT_EQ(predicted(Model(x, Concatenate()({c, x, c})), row({1, 2})),
            (std::vector<float>{10, 20, 1, 2, 10, 20}));
  const Tensor whole = Tensor::from(std::vector<int64_t>{3, 4}, {1, 2});
  EXPECT_EQ(predicted(Model(x, Multiply()({x, ops::cast(whole, DType::float32)})), row({1, 2})),
            (std::vector<float>{3, 8}));
}

TEST_F(ConstantsInCalls, MasksAreGivenAndWritten) {
  const Input x({3, 1});
  const Tensor mask = Tensor::from(std::vector<uint8_t>{1, 0, 1}, {1, 3});
  const Model model(x, GlobalAveragePooling1D()(x, {.mask = ops::cast(mask, DType::bool_)}));
  EXPECT_EQ(predicted(model, Tensor::from(std::vector<float>{1, 50, 3}, {1, 3, 1})), (std::vector<float>{2}));
  EXPECT_THAT(model.to_json(),
              HasSubstr(R"("mask":{"class_name":"__numpy__","config":{"value":[[true,false,true]])"));
}

TEST_F(ConstantsInCalls, OneRowForEachOfTheBatchOnAnyNumberOfDevices) {
  const Tensor constant = Tensor::from(std::vector<float>{1, 2, 3, 4, 5}, {5, 1});
  const Tensor x = Tensor::from(std::vector<float>{10, 20, 30, 40, 50}, {5, 1});
  for (const int devices : {1, 2, 5}) {
    configure_logical_devices("cpu", devices);
    const Model model = mirrored(devices).scope([&] {
      const Input input({1});
      return Model(input, Add()({input, constant}));
    });
    EXPECT_EQ(model.predict(x, {.batch_size = 5, .verbose = 0}).to_vector<float>(),
              (std::vector<float>{11, 22, 33, 44, 55}))
        << devices;
  }
  configure_logical_devices("cpu", 1);
}

/// A part of one row would broadcast, and give numbers that one device does not.
TEST_F(ConstantsInCalls, OfOtherLayersAreRefusedWhereTheirRowsMayBeTheBatchs) {
  const Tensor constant = Tensor::from(std::vector<float>{1, 2}, {2, 1});
  const Tensor x = Tensor::from(std::vector<float>{10, 20, 30}, {3, 1});
  configure_logical_devices("cpu", 2);
  const auto make = [&] {
    const Input input({1});
    const Lambda sum([](const Tensors& in) { return in[0] + ops::sum(in[1], 0); }, {.name = "sums"});
    return Model(input, sum({input, constant}));
  };
  const Model model = mirrored(2).scope(make);
  EXPECT_EQ(make().predict(x, {.batch_size = 2, .verbose = 0}).to_vector<float>(),
            (std::vector<float>{13, 23, 33}));
  EXPECT_EQ(model.predict(x, {.batch_size = 3, .verbose = 0}).to_vector<float>(),
            (std::vector<float>{13, 23, 33}));
  try {
    model.predict(x, {.batch_size = 2, .verbose = 0});
    FAIL();
  } catch (const ShapeError& error) {
    EXPECT_THAT(error.what(), HasSubstr("layer 'sums' (Lambda) is called with a constant of shape (2, 1)"));
  }
  configure_logical_devices("cpu", 1);
}

TEST_F(ConstantsInCalls, InfinitiesAndBoundsOfIntegersComeBack) {
  const Input x({3});
  const Tensor c = Tensor::from(std::vector<float>{INFINITY, -INFINITY, 0.1f}, {1, 3});
  EXPECT_EQ(predicted(Model(x, Minimum()({x, c})), Tensor::from(std::vector<float>{1, 2, 3}, {1, 3})),
            (std::vector<float>{1, -INFINITY, 0.1f}));
}

}  // namespace
}  // namespace nyala::constants_in_calls_test
