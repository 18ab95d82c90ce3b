// Layers that stand in several places of a model, also in models within it.
#include <gtest/gtest.h>

#include <nyala/api/layers/core/dense.h>
#include <nyala/api/layers/core/input.h>
#include <nyala/api/model/model.h>
#include <nyala/api/model/sequential.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::shared_layers_test {
namespace {

void expect_same_after_files(const Model& model, const Tensors& x) {
  const ScratchFolder folder;
  const Tensors expected = model.predict_all(x, {.verbose = 0});
  for (const char* name : {"model.keras", "model.h5"}) {
    SCOPED_TRACE(name);
    model.save(folder.file(name));
    const Model again = load_model(folder.file(name));
    EXPECT_EQ(again.count_params(), model.count_params());
    const Tensors received = again.predict_all(x, {.verbose = 0});
    ASSERT_EQ(received.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i)
      EXPECT_EQ(received[i].to_vector<float>(), expected[i].to_vector<float>());
  }
}

// One number in the file for the layer, or each place would have weights of its own, which no file holds.
TEST(SharedLayers, OfAModelWithinTheModel) {
  const Tensor image = Input({4});
  const Tensor features = Dense(5)(image);
  const Model whole(image, Dense(2)(features));
  const Model cut(image, features, {.name = "cut"});
  const Model both(whole.inputs(), {whole.outputs()[0], cut(whole.inputs()[0])});
  expect_same_after_files(both, {Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 4})});
  const Model copy = clone_model(both);
  EXPECT_EQ(copy.count_params(), both.count_params());
}

TEST(SharedLayers, CallsOfOneModelAmongTheOutputs) {
  const Tensor x = Input({4});
  const Model core(x, Dense(4, {.activation = "tanh"})(x), {.name = "core"});
  const Sequential head({Input({4}), Dense(4)});
  const Tensor a = Input({4}), b = Input({4});
  const Tensor second = core(head(a));
  const Model model({a, b}, {core(b), second, head(second), core(head(second))});
  expect_same_after_files(model, {Tensor::from(std::vector<float>{1, 2, 3, 4, 5, 6, 7, 8}, {2, 4}),
                                  Tensor::from(std::vector<float>{-1, 2, -3, 4, -5, 6, -7, 8}, {2, 4})});
}

}  // namespace
}  // namespace nyala::shared_layers_test
