#include <algorithm>
#include <iostream>
#include <memory>
#include <limits>
#include <numeric>

#include <nyala/api/base/at_least_float32.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/datasets/image/load_img.h>
#include <nyala/tools/images.h>
#include <nyala/tools/options.h>

namespace nyala::tools {

namespace {

struct PredictOptions {
  std::string model, dtype_policy;
  std::vector<std::string> inputs, images;
  std::string output;
  int64_t batch_size = 32;
  std::string preprocess, labels, interpolation = "nearest";
  std::vector<int64_t> size;
  bool keep_aspect_ratio = false;
  int top = 5;
};

/// NumPy has no bfloat16: floats of 16 bits are written as float32.
void write(const Model& model, Tensors y, const std::string& path) {
  for (Tensor& output : y) output = nyala::detail::at_least_float32(output);
  if (y.size() == 1 && !path.ends_with(".npz")) {
    save_npy(path, y[0]);
    return;
  }
  const std::vector<std::string> names = output_names(model, y.size());
  NamedArrays named;
  for (size_t i = 0; i < y.size(); ++i) named.emplace_back(names.at(i), y[i]);
  save_npz(path, named);
}

void predict_arrays(const Model& model, const PredictOptions& options) {
  const Tensors x = load_arrays(options.inputs, input_names(model), "--input");
  if (const size_t outputs = output_names(model).size(); outputs > 1 && !options.output.ends_with(".npz"))
    throw InvalidArgumentError("predict: the model has " + std::to_string(outputs) +
                               " outputs: expected --output to end with .npz, received " +
                               detail::in_quotes(options.output));
  const Tensors y = naming_arrays({options.inputs}, [&] {
    return model.predict_all(x, {.batch_size = options.batch_size, .verbose = 0});
  });
  write(model, y, options.output);
}

Tensor load_images(const Model& model, const PredictOptions& options) {
  const ImageInput input = image_input(model, options.size);
  const std::string mode = preprocessing(options.preprocess);
  Tensors images;
  for (const std::string& path : options.images)
    images.push_back(load_img(path, {.color_mode = input.color_mode,
                                     .target_size = input.size,
                                     .interpolation = options.interpolation,
                                     .keep_aspect_ratio = options.keep_aspect_ratio}));
  return applications::preprocess_input(ops::stack(images, 0), mode);
}

struct Guess {
  std::string label;
  double score;
};

/// The best classes of each row; those of ImageNet by name where the list of them is to be had.
std::vector<std::vector<Guess>> best_guesses(const Tensor& scores, const PredictOptions& options) {
  const int64_t classes = scores.shape()[1];
  const std::vector<double> values = ops::cast(scores, DType::float64).to_vector<double>();
  std::vector<std::string> labels;
  std::vector<std::vector<Guess>> all;
  if (!options.labels.empty()) labels = read_labels(options.labels, classes);
  if (labels.empty() && classes == 1000) {
    try {
      for (const auto& of_row : applications::decode_predictions(scores, options.top)) {
        all.emplace_back();
        for (const auto& guess : of_row)
          all.back().push_back({guess.class_description + " (" + guess.class_name + ")", guess.score});
      }
      return all;
    } catch (const IoError& error) {
      std::cerr << "hint: no names of ImageNet's classes, their numbers instead: " << error.what() << "\n";
    }
  }
  for (size_t row = 0; row < values.size(); row += static_cast<size_t>(classes)) {
    std::vector<size_t> order(static_cast<size_t>(classes));
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return values[row + a] > values[row + b]; });
    order.resize(std::min(order.size(), static_cast<size_t>(options.top)));
    all.emplace_back();
    for (const size_t i : order)
      all.back().push_back({labels.empty() ? std::to_string(i) : labels[i], values[row + i]});
  }
  return all;
}

void predict_images(const Model& model, const PredictOptions& options) {
  output_units(model);  // before long work
  const Tensor scores = nyala::detail::at_least_float32(
      model.predict(load_images(model, options), {.batch_size = options.batch_size, .verbose = 0}));
  if (!options.output.empty()) write(model, {scores}, options.output);
  const std::vector<std::vector<Guess>> guesses = best_guesses(scores, options);
  for (size_t i = 0; i < guesses.size(); ++i) {
    std::cout << options.images[i] << "\n";
    for (const Guess& guess : guesses[i]) {
      const std::string score = nyala::detail::fixed_text(guess.score, 4);
      std::cout << "  " << std::string(score.size() < 8 ? 8 - score.size() : 0, ' ') << score << "  "
                << guess.label << "\n";
    }
  }
  if (!options.preprocess.empty()) return;
  if (const std::string hint = preprocessing_hint(model); !hint.empty()) std::cerr << hint << "\n";
}

void predict(const PredictOptions& options) {
  if (options.inputs.empty() == options.images.empty())
    throw InvalidArgumentError("predict: expected either --input (arrays) or --image (pictures)");
  if (options.images.empty() && options.output.empty())
    throw InvalidArgumentError("predict: --input needs --output, a .npy or .npz file to write");
  if (!options.output.empty()) check_output(options.output, {".npy", ".npz"});
  preprocessing(options.preprocess);  // a wrong name before long work
  if (!options.output.empty())
    check_reads_another("--output", options.output,
                        {{options.model, options.labels}, options.inputs, options.images});
  const Model model = load_model(options.model, {.compile = false, .dtype_policy = options.dtype_policy});
  if (options.images.empty())
    predict_arrays(model, options);
  else
    predict_images(model, options);
}

}  // namespace

void add_predict(CLI::App& app) {
  const auto options = std::make_shared<PredictOptions>();
  CLI::App* command = app.add_subcommand("predict", "Writes what the model gives for each row of its input.");
  command->add_option("model", options->model, "a .keras or whole-model .h5 file")->required();
  repeated(command->add_option("--input", options->inputs,
                               "X.npy, or name=X.npy; once per input, in the model's order"));
  command->add_option("--output", options->output, "Y.npy; an .npz by output name where there are several");
  repeated(command->add_option("--image", options->images,
                               "a JPEG, PNG, BMP or GIF to classify, instead of --input; may be repeated"));
  command->add_option("--preprocess", options->preprocess,
                      "how pixels become the model's numbers: the name of an architecture (mobilenet_v2, "
                      "ResNet50), tf, caffe, torch or none (0 to 255, the default)");
  command->add_option("--top", options->top, "classes to print for each picture")
      ->transform(whole_number(1, std::numeric_limits<int>::max()))
      ->capture_default_str();
  command->add_option("--labels", options->labels, "names of the classes, one per line");
  sizes(command->add_option("--size", options->size, "height,width of pictures, where the model takes any"),
        2);
  command
      ->add_option("--interpolation", options->interpolation,
                   "of pictures: nearest, bilinear, bicubic, lanczos, hamming or box")
      ->capture_default_str();
  command->add_flag("--keep-aspect-ratio", options->keep_aspect_ratio,
                    "take the middle of a picture instead of stretching it");
  command->add_option("--batch-size", options->batch_size, "rows at a time")
      ->transform(whole_number(1))
      ->capture_default_str();
  add_dtype_policy_option(*command, options->dtype_policy);
  only_with(*command, "--image",
            {"--preprocess", "--top", "--labels", "--size", "--interpolation", "--keep-aspect-ratio"});
  command->footer(
      "Examples:\n  nyala predict model.keras --input x.npy --output y.npy\n"
      "  nyala predict mobilenet.keras --image photo.jpg --preprocess mobilenet_v2 --top 3");
  command->callback([options] { predict(*options); });
}

}  // namespace nyala::tools
