#pragma once

#include <string>
#include <vector>

#include <nyala/datasets/image/image_dataset.h>
#include <nyala/tools/command.h>

namespace nyala::tools {

/// The pictures that a model takes.
struct ImageInput {
  ImageSize size;
  std::string color_mode;
};

/// Of a model with one input (height, width, channels). `size` (height, width, or one number for both; empty:
/// the model's) says what the model leaves open. Throws InvalidArgumentError for a model without such an
/// input and where the sizes are open or differ.
ImageInput image_input(const Model& model, const std::vector<int64_t>& size);

/// Numbers of the model's output for a row. Throws InvalidArgumentError unless it has one output (rows,
/// units).
int64_t output_units(const Model& model);

/// The mode of preprocess_input() for what --preprocess names; "none" for "".
std::string preprocessing(const std::string& name);

/// A line to say where --preprocess was not given and the model does not scale pixels itself; else "".
std::string preprocessing_hint(const Model& model);

/// What `nyala fit --data` says about a folder of class folders.
struct ImageFolder {
  std::string folder;
  double validation_split = 0.0;
  int64_t batch_size = 32;
  int64_t seed = -1;  // below 0: 0 for the split and the shuffle
  bool shuffle = true;
  bool skip_broken = false;
  std::string preprocess;
  std::vector<int64_t> size;
};

struct ImageData {
  Dataset train = {};
  Dataset validation = {};  // an empty handle without a split
  std::vector<std::string> class_names = {};
};

/// Batches of pictures and labels for a compiled model. Throws InvalidArgumentError where the folder has
/// another number of classes than the model's output.
ImageData read_image_folder(const Model& model, const ImageFolder& options);

/// Names of classes, one per line, of a regular file up to FileBytes::kMaxCopied bytes. Throws IoError,
/// InvalidArgumentError where there are not `count`.
std::vector<std::string> read_labels(const std::string& path, int64_t count);

}  // namespace nyala::tools
