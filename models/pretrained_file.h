#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nyala::applications {

/// A file that Keras publishes for its applications.
struct PretrainedFile {
  std::string name = {};  // as it lies in a cache folder: "resnet50_weights_tf_dim_ordering_tf_kernels.h5"
  std::string url = {};
  /// MD5 (32 hexadecimal digits) or SHA-256 (64); empty where Keras publishes none (MobileNet, MobileNetV2).
  std::string hash = {};
};

/// Where such files are looked for, in this order: NYALA_HOME/models (NYALA_HOME is ~/.nyala unless it is
/// set) and ~/.keras/models. Downloads go to the first.
std::vector<std::filesystem::path> pretrained_folders();

/// The file from the first folder that has it, else downloaded there: resumed, its hash checked, renamed when
/// whole, with a progress bar on a terminal. Throws FileFormatError naming file and hashes where the bytes
/// are others than published, IoError naming URL, file and folders where it is neither there nor to be had.
std::filesystem::path find_pretrained(const PretrainedFile& file);

}  // namespace nyala::applications
