// A layer of one's own that reads the mask of its input: the program of docs/custom.md.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>

namespace nyala {
namespace {

using ::testing::ElementsAre;

struct LargestStep : LayerNode {
  std::string class_name() const override { return "LargestStep"; }
  bool uses_mask() const override { return true; }
  Tensor call(Call&, const Tensor& x) const override {
    const Tensor kept = mask_of(x);  // (batch, time), true where a step counts; undefined: there is none
    const Tensor seen = kept.defined() ? ops::where(ops::expand_dims(kept, -1), x, -1e9) : x;
    return ops::max(seen, 1);
  }
};

Model largest(bool masked) {
  const Tensor ids = Input({3}, {.dtype = "int32"});
  const Tensor steps = Embedding(4, 1, {.mask_zero = masked})(ids);
  return Model(ids, make_layer<LargestStep>()(Dense(1)(steps)));
}

TEST(MaskReading, StepsThatDoNotCountAreLeftOut) {
  configure_logical_devices("cpu", 2);
  const Tensor ids = Tensor::from(std::vector<int32_t>{1, 0, 0, 2, 3, 0}, {2, 3});
  for (const int devices : {1, 2}) {
    MirroredStrategyConfig config;
    for (int i = 0; i < devices; ++i) config.devices.push_back("cpu:" + std::to_string(i));
    const auto predicted = [&](bool masked) {
      const Model model = MirroredStrategy(config).scope([&] { return largest(masked); });
      model.set_weights({Tensor::from(std::vector<float>{9, 1, 2, 3}, {4, 1}), Tensor::ones({1, 1}),
                         Tensor::zeros({1})});
      return model.predict(ids, {.verbose = 0}).to_vector<float>();
    };
    EXPECT_THAT(predicted(true), ElementsAre(1, 3));
    EXPECT_THAT(predicted(false), ElementsAre(9, 9));
  }
  configure_logical_devices("cpu", 1);
}

}  // namespace
}  // namespace nyala
