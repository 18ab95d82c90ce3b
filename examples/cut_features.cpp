// Features of a layer inside a pretrained network, and the rest of the network behind that layer: both are
// models that share their weights with the whole one. A cut model is saved and opened like any other.
//
//   cut_features [--weights none, imagenet or a file] [--layer block_6_expand] [--output features.keras]
#include <nyala/examples/support/arguments.h>
#include <nyala/nyala.h>

#include <cstdio>

using namespace nyala;

int main(int argc, char** argv) {
  const auto text = [&](const char* name, const char* otherwise) {
    return examples::text_argument(argc, argv, name, otherwise);
  };
  const std::string layer = text("--layer", "block_6_expand"), output = text("--output", "features.keras");
  const Model base = applications::MobileNetV2({.input_shape = {128, 128, 3},
                                                .alpha = 0.35,
                                                .include_top = false,
                                                .weights = text("--weights", "none")});
  // From the pictures to the layer, and from the layer to the end.
  const Model features(base.input(), base.get_layer(layer).output());
  const Model rest(base.get_layer(layer).output(), base.output());

  const Tensor pictures = ops::random_uniform({4, 128, 128, 3}, -1, 1, {.key = 1});
  const Tensor middle = features.predict(pictures, {.verbose = 0});
  const Tensor whole = base.predict(pictures, {.verbose = 0});
  const Tensor both = rest.predict(middle, {.verbose = 0});
  std::printf("%s gives %s\n", layer.c_str(), middle.shape().to_string().c_str());
  std::printf("cut in two it differs by %.1e\n", ops::max(ops::abs(whole - both)).item());

  features.save(output);
  const Tensor loaded = load_model(output).predict(pictures, {.verbose = 0});
  std::printf("from its file it differs by %.1e\n", ops::max(ops::abs(loaded - middle)).item());
  return 0;
}
