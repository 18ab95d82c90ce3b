#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nyala::datasets {

/// One of the 1000 classes of ImageNet's challenge.
struct ImagenetClass {
  std::string id;    // WordNet's, "n02123045"
  std::string name;  // "tabby"
};

/// The classes in their order, from Keras' imagenet_class_index.json: `{"0": ["n01440764", "tench"], ...}`.
/// Throws IoError for a file that cannot be read, FileFormatError for one that holds anything else.
std::vector<ImagenetClass> read_imagenet_classes(const std::filesystem::path& path);

}  // namespace nyala::datasets
