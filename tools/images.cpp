#include <nyala/tools/images.h>

#include <algorithm>
#include <sstream>

#include <nyala/api/training/state/compiled_training.h>
#include <nyala/files/base/file_bytes.h>

namespace nyala::tools {

using namespace nyala::detail;

namespace {

std::string color_mode_of(int64_t channels, const Shape& shape) {
  if (channels == 1) return "grayscale";
  if (channels == 4) return "rgba";
  if (channels == 3 || channels == None) return "rgb";
  throw InvalidArgumentError("the model takes " + shape.to_string() +
                             ": pictures have 1, 3 or 4 channels, which are the last axis");
}

int64_t one_size(int64_t of_model, int64_t given, const Shape& shape) {
  if (of_model == None && given == 0)
    throw InvalidArgumentError("the model takes pictures of any size, " + shape.to_string() +
                               ": say which with --size height,width");
  if (of_model != None && given != 0 && of_model != given)
    throw InvalidArgumentError("the model takes pictures of shape " + shape.to_string() +
                               ", --size says otherwise");
  return of_model == None ? given : of_model;
}

/// What stands behind the inputs, where that is known.
std::string first_layer(const Model& model) {
  for (const Layer& layer : model.layers())
    if (layer.class_name() != "InputLayer") return layer.class_name();
  return "";
}

}  // namespace

ImageInput image_input(const Model& model, const std::vector<int64_t>& size) {
  const Shapes shapes = model.model_node().input_shapes();
  if (shapes.size() != 1 || shapes[0].rank() != 4)
    throw InvalidArgumentError(
        "model " + in_quotes(model.name()) +
        " does not take pictures: expected one input (batch, height, width, channels)" +
        (shapes.size() == 1 ? ", it has " + shapes[0].to_string() : ""));
  const Shape& shape = shapes[0];
  const int64_t height = size.empty() ? 0 : size[0], width = size.size() > 1 ? size[1] : height;
  return {{one_size(shape[1], height, shape), one_size(shape[2], width, shape)},
          color_mode_of(shape[3], shape)};
}

int64_t output_units(const Model& model) {
  Call call;
  Tensors outputs;
  const Tensor x = Tensor::abstract(model.model_node().input_shapes().at(0), model.compute_dtype());
  if (model.node().takes_many())
    outputs = model.node().invoke(call, Inputs(&x, 1));
  else
    outputs = {model.node().invoke(call, x)};
  if (outputs.size() != 1 || outputs[0].rank() != 2 || outputs[0].shape()[1] == None)
    throw InvalidArgumentError("model " + in_quotes(model.name()) +
                               " is no classifier: expected one output (batch, classes)" +
                               (outputs.size() == 1 ? ", it has " + outputs[0].shape().to_string() : ""));
  return outputs[0].shape()[1];
}

std::string preprocessing(const std::string& name) {
  return name.empty() ? "none" : applications::preprocess_mode(name);
}

std::string preprocessing_hint(const Model& model) {
  const std::string first = first_layer(model);
  if (first == "Rescaling" || first == "Normalization" || first == "Resizing") return "";
  return "hint: the model got pixels from 0 to 255; one of keras.applications was trained on others: "
         "--preprocess mobilenet_v2 (or its own name)";
}

namespace {

/// How the model's loss wants the labels. Throws InvalidArgumentError where `classes` are not the output's.
std::string label_mode(const Model& model, const std::vector<std::string>& classes,
                       const std::string& folder) {
  const int64_t units = output_units(model), wanted = units == 1 ? 2 : units;
  if (std::ssize(classes) != wanted)
    throw InvalidArgumentError("'" + folder + "' has " + std::to_string(classes.size()) +
                               " folders of classes (" + quoted_list(classes) + "), the output of model " +
                               in_quotes(model.name()) + " is for " + std::to_string(wanted) +
                               "; make one for them: nyala new ... --classes " +
                               std::to_string(classes.size()));
  if (units == 1) return "binary";
  const PerOutput<Loss>& loss = model.model_node().compiled_training().config.loss;
  const std::string name = !loss.list().empty()    ? loss.list()[0].name()
                           : !loss.named().empty() ? loss.named().begin()->second.name()
                                                   : "";
  return name.find("sparse") != std::string::npos || name == "crossentropy" ? "int" : "categorical";
}

Dataset preprocessed(const Dataset& images, const std::string& mode) {
  if (mode == "none") return images;
  return images.map([mode](Element batch) {
    batch.x[0] = applications::preprocess_input(batch.x[0], mode);
    return batch;
  });
}

}  // namespace

ImageData read_image_folder(const Model& model, const ImageFolder& options) {
  const ImageInput input = image_input(model, options.size);
  const std::string mode = preprocessing(options.preprocess);
  ImageDatasetConfig config = {.color_mode = input.color_mode,
                               .batch_size = options.batch_size,
                               .image_size = input.size,
                               .shuffle = options.shuffle,
                               .seed = std::max<int64_t>(options.seed, 0),
                               .skip_broken = options.skip_broken};
  const std::vector<std::string> classes = image_dataset_from_directory(options.folder, config).class_names();
  config.label_mode = label_mode(model, classes, options.folder);
  if (options.validation_split == 0.0)
    return {preprocessed(image_dataset_from_directory(options.folder, config), mode), {}, classes};
  config.validation_split = options.validation_split;
  const TrainValidation parts = image_datasets_from_directory(options.folder, config);
  return {preprocessed(parts.train, mode), preprocessed(parts.validation, mode), classes};
}

std::vector<std::string> read_labels(const std::string& path, int64_t count) {
  const auto bytes = FileBytes::open(path);
  if (!bytes->in_memory())
    throw InvalidArgumentError("'" + path + "' has " + std::to_string(bytes->size()) +
                               " bytes: expected labels, one per line");
  const std::span<const std::byte> text = bytes->part(0, bytes->size());
  std::istringstream file(std::string(reinterpret_cast<const char*>(text.data()), text.size()));
  std::vector<std::string> labels;
  for (std::string line; std::getline(file, line);) {
    if (!line.empty() && line.back() == '\r') line.pop_back();
    labels.push_back(line);
  }
  while (!labels.empty() && labels.back().empty()) labels.pop_back();
  if (static_cast<int64_t>(labels.size()) != count)
    throw InvalidArgumentError("'" + path + "' has " + std::to_string(labels.size()) +
                               " labels, one per line, and the model " + std::to_string(count) + " classes");
  return labels;
}

}  // namespace nyala::tools
