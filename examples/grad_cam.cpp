// Where does the network look? Grad-CAM (Selvaraju et al. 2017): the channels of the last convolution, each
// weighted by the mean gradient of the best class' score by that channel.
//
// The pretrained weights are MobileNet's (alpha 0.25, 224 pixels), from ../shared/data by default.
//
//   grad_cam [--weights file] [--photo file] [--layer conv_pw_13_relu] [--output grad_cam.png]
#include <nyala/examples/support/arguments.h>
#include <nyala/nyala.h>

#include <algorithm>
#include <cstdio>

using namespace nyala;

constexpr int64_t kSize = 224;

/// The parts of the picture that speak for the class, (1, height, width, 1) between 0 and 1.
Tensor heat_map(const Model& model, const Tensor& image, const std::string& layer, int64_t label) {
  const Model cam(model.input(), {model.get_layer(layer).output(), model.output()});
  GradientTape tape;
  const Tensors out = cam.call_all({image});
  const Tensor score = ops::slice(out[1], {0, label}, {1, 1});
  const Tensor gradient = tape.gradient(score, out[0]);
  const Tensor heat = ops::relu(ops::sum(out[0] * ops::mean(gradient, {1, 2}, true), {3}, true));
  return heat / (ops::max(heat).item() + 1e-9);
}

/// Grey where the heat is 0, yellow to red where it is 1.
Tensor painted(const Tensor& photo, const Tensor& heat) {
  const Tensor warm = ops::resize_images(heat, kSize, kSize);
  std::vector<float> pixels = photo.to_vector<float>();
  const std::vector<float> heats = warm.to_vector<float>();
  for (size_t i = 0; i < heats.size(); ++i) {
    float* pixel = &pixels[3 * i];
    const float grey = (pixel[0] + pixel[1] + pixel[2]) / 3, share = 0.6f * heats[i];
    const float colour[] = {255, 255 * (1 - heats[i]), 0};
    for (int c = 0; c < 3; ++c) pixel[c] = (1 - share) * grey + share * colour[c];
  }
  return Tensor::from(pixels, {kSize, kSize, 3});
}

int main(int argc, char** argv) {
  const auto text = [&](const char* name, const char* otherwise) {
    return examples::text_argument(argc, argv, name, otherwise);
  };
  const std::string data = "../shared/data/";
  try {
    const Model model = applications::MobileNet(
        {.alpha = 0.25,
         .weights =
             text("--weights", (data + "weights/mobilenet_v1_0.25_224_imagenet_keras2.8.h5").c_str())});
    const Tensor photo = load_img(text("--photo", (data + "imagenet/photos/parrot.jpg").c_str()),
                                  {.target_size = {kSize, kSize}, .interpolation = "bilinear"});
    const Tensor image = applications::mobilenet::preprocess_input(ops::expand_dims(photo, 0));
    const Tensor scores = model.predict(image, {.verbose = 0});
    const auto label = static_cast<int64_t>(ops::argmax(scores, 1).item());
    const Tensor heat = heat_map(model, image, text("--layer", "conv_pw_13_relu"), label);
    const std::string output = text("--output", "grad_cam.png");
    save_img(output, painted(photo, heat), {.scale = false});
    std::printf("class %lld, score %.3f; the heat map is %s\n", static_cast<long long>(label),
                ops::max(scores).item(), heat.shape().to_string().c_str());
    std::printf("saved %s\n", output.c_str());
  } catch (const IoError& missing) {
    std::printf("skipped: %s\n", missing.what());
  }
  return 0;
}
