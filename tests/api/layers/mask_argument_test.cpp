// Keras' argument `mask=` of a call: layer(x, {.mask = mask}). Numbers of Keras 3.15 for x = 0.0, 0.1,
// ..., 1.1 of shape (2, 3, 2), kernels of 0.5 and recurrent kernels of 0.25.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/layers/base/mask.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using ::testing::FloatNear;
using ::testing::HasSubstr;
using ::testing::Pointwise;
using Floats = std::vector<float>;

const Tensor kX =
    Tensor::from(Floats{0, 0.1f, 0.2f, 0.3f, 0.4f, 0.5f, 0.6f, 0.7f, 0.8f, 0.9f, 1, 1.1f}, {2, 3, 2});
const Tensor kMask = Tensor::from(Floats{1, 0, 1, 0, 1, 1}, {2, 3}).astype(DType::bool_);
const Floats kLastOfLstm = {0.168397918f, 0.168397918f, 0.610560894f, 0.610560894f};
const Floats kOfModel = {0.460925251f, 0, 0.539074659f, 0, 0.421761513f, 0.578238428f};

void expect_near(const Tensor& got, const Floats& wanted) {
  EXPECT_THAT(got.to_vector<float>(), Pointwise(FloatNear(2e-6f), wanted));
}

LSTM lstm(int64_t units = 2, bool sequences = false) {
  return LSTM(units, {.kernel_initializer = Constant(0.5),
                      .recurrent_initializer = Constant(0.25),
                      .return_sequences = sequences});
}

TEST(MaskArgument, OfLayersThatLookAtOne) {
  expect_near(lstm()(kX, {.mask = kMask}), kLastOfLstm);
  expect_near(GRU(2, {.kernel_initializer = Constant(0.5),
                      .recurrent_initializer = Constant(0.25),
                      .return_sequences = true})(kX, {.mask = kMask}),
              {0.0243548341f, 0.0243548341f, 0.0243548341f, 0.0243548341f, 0.180359393f, 0.180359393f, 0, 0,
               0.206928924f, 0.206928924f, 0.351713002f, 0.351713002f});
  expect_near(Bidirectional(lstm())(kX, {.mask = kMask}),
              {0.168397918f, 0.168397918f, 0.136066899f, 0.136066899f, 0.610560894f, 0.610560894f,
               0.588998735f, 0.588998735f});
  expect_near(Softmax()(kX(slice(), slice(), 0), {.mask = kMask}),
              {0.401312351f, 0, 0.598687649f, 0, 0.450165987f, 0.549834013f});
  expect_near(GlobalAveragePooling1D()(kX, {.mask = kMask}), {0.2f, 0.3f, 0.9f, 1.0f});
}

TEST(MaskArgument, WithValuesBesideASymbolicTensor) {
  const Input x({3});
  const Tensor mask = Tensor::from(std::vector<uint8_t>{1, 0, 1}, {1, 3}).astype(DType::bool_);
  const Tensor rows = kX(slice(), slice(), 0).rows(0, 1);
  expect_near(Model(x, Softmax()(x, {.mask = mask}))(rows), {0.401312351f, 0, 0.598687649f});
  const Tensor symbolic_mask = Input({3}, {.dtype = "bool"});
  EXPECT_NO_THROW(Softmax()(x, {.mask = symbolic_mask}));
}

TEST(MaskArgument, WithStates) {
  const Tensor h = Tensor::from(Floats{0.1f, 0.2f, 0.3f, 0.4f}, {2, 2});
  const Floats wanted = {0.237063855f, 0.269050032f, 0.703383803f, 0.715282857f};
  expect_near(lstm()({kX, h, h}, {.mask = kMask}), wanted);
  expect_near(lstm().call_all({kX, h, h}, {.mask = kMask}).at(0), wanted);
}

TEST(MaskArgument, ComesBeforeTheMaskOfTheTensorAndWithoutOneItCounts) {
  const Tensor other = with_mask(kX, Tensor::ones({2, 3}).astype(DType::bool_));
  expect_near(lstm()(other, {.mask = kMask}), kLastOfLstm);
  expect_near(lstm()(with_mask(kX, kMask), LayerCall{}), kLastOfLstm);
}

/// LSTM and Softmax with the mask of an Input.
Model in_a_graph() {
  const Input sequence({3, 2}), kept({3}, {.dtype = "bool"});
  const Tensor steps = lstm(3, true)(sequence, {.mask = kept});
  const Tensor weights = Softmax()(steps(slice(), slice(), 0), {.mask = kept});
  return Model({.inputs = {sequence, kept}, .outputs = {weights}});
}

TEST(MaskArgument, InAGraphAndItsFile) {
  const Model model = in_a_graph();
  expect_near(model.predict_all({kX, kMask}, {.verbose = 0})[0], kOfModel);
  const std::string json = model.to_json();
  EXPECT_THAT(json, HasSubstr(R"("kwargs":{"mask":{"class_name":"__keras_tensor__")"));
  const ScratchFolder folder("mask_argument");
  model.save(folder.file("m.keras"));
  expect_near(load_model(folder.file("m.keras")).predict_all({kX, kMask}, {.verbose = 0})[0], kOfModel);
}

TEST(MaskArgument, OnTwoReplicasTheRowsKeepTheirs) {
  configure_logical_devices("cpu", 2);
  const MirroredStrategy strategy({.devices = {"cpu:0", "cpu:1"}});
  const Model model = strategy.scope([] { return in_a_graph(); });
  expect_near(model.predict_all({kX, kMask}, {.verbose = 0})[0], kOfModel);
}

struct MaskedInside : LayerNode {
  LSTM steps = track("steps", lstm());
  std::string class_name() const override { return "MaskedInside"; }
  bool takes_many() const override { return true; }
  Outputs call(Call& c, Inputs in) const override { return {steps(c, in[0], {.mask = in[1]})}; }
};

TEST(MaskArgument, InsideALayerAndOfAModel) {
  const Input sequence({3, 2}), kept({3}, {.dtype = "bool"});
  const Model model({.inputs = {sequence, kept}, .outputs = {make_layer<MaskedInside>()({sequence, kept})}});
  expect_near(model.predict_all({kX, kMask}, {.verbose = 0})[0], kLastOfLstm);
  const Sequential inner({Input({3, 2}), lstm()});
  expect_near(inner(kX, {.mask = kMask}), kLastOfLstm);
  const Model outer({.inputs = {sequence, kept}, .outputs = {inner(sequence, {.mask = kept})}});
  expect_near(outer.predict_all({kX, kMask}, {.verbose = 0})[0], kLastOfLstm);
}

std::string refused(const std::function<void()>& call) {
  try {
    call();
  } catch (const InvalidArgumentError& error) {
    return error.what();
  }
  return "";
}

TEST(MaskArgument, IsRefusedWhereNobodyLooksAtIt) {
  EXPECT_THAT(refused([] { Dense(2, {.name = "d"})(kX, {.mask = kMask}); }),
              HasSubstr("layer 'd' (Dense): expected a call without a mask"));
  EXPECT_THAT(refused([] { Dropout(0.5)(kX, {.mask = kMask}); }), HasSubstr("uses_mask()"));
}

}  // namespace
}  // namespace nyala
