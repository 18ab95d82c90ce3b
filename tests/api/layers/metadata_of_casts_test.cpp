// What a tensor carries stays with it where a layer or a model changes its dtype.
#include <gtest/gtest.h>

#include <nyala/api/layers/base/call_arguments.h>
#include <nyala/nyala.h>

namespace nyala::metadata_of_casts_test {

namespace {

const Tensor kMask = Tensor({{1, 1, 0, 0}}).astype("bool");

TEST(NotesOfCasts, MasksAndArgumentsOfCallsStay) {
  const Tensor x = Tensor::zeros({1, 4, 2});
  const auto arguments = std::make_shared<CallArguments>(CallArguments{.tensors = {"query"}, .flags = {}});
  const Tensor y =
      detail::cast_with_metadata(detail::with_call_arguments(given_mask(x, kMask), arguments), "float64");
  EXPECT_EQ(y.dtype(), DType::float64);
  EXPECT_TRUE(detail::has_given_mask(y));
  EXPECT_EQ(mask_of(y).to_vector<bool>(), kMask.to_vector<bool>());
  EXPECT_EQ(detail::call_arguments_of(y), arguments);
  EXPECT_FALSE(detail::has_given_mask(detail::cast_with_metadata(with_mask(x, kMask), "float64")));
  EXPECT_FALSE(detail::cast_with_metadata(x, "float64").metadata());
}

/// As in Keras: the layers that read a model's input see it, but not as one that their own calls are given,
/// which alone counts for a recurrent layer with states.
TEST(NotesOfCasts, AModelsInputKeepsAGivenMask) {
  const Tensor x = Input({4, 2});
  const Tensor h = Dense(3)(Flatten()(x));
  const Tensor steps = Tensor::arange(8).reshape({1, 4, 2});
  const auto run = [](const Model& model, const Tensor& given) { return model(given).to_vector<float>(); };
  const Model model(x, LSTM(3)(x)), with_states(x, LSTM(3)({x, h, h}));
  const std::vector<float> masked = run(model, given_mask(steps.astype("float32"), kMask));
  EXPECT_NE(masked, run(model, steps.astype("float32")));
  EXPECT_EQ(run(model, given_mask(steps.astype("float64"), kMask)), masked);
  EXPECT_EQ(run(model, given_mask(steps, kMask)), masked);
  EXPECT_EQ(run(with_states, given_mask(steps, kMask)), run(with_states, steps));
}

}  // namespace

}  // namespace nyala::metadata_of_casts_test
