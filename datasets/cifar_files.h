#pragma once

#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include <nyala/datasets/base/arrays.h>

namespace nyala::datasets {

/// One published file of a CIFAR set, without the ending ".bin" of the binary version.
struct CifarPart {
  std::string name = {};
  int64_t rows = 0;
};

/// How one of the two CIFAR sets is published: as binary records and as pickles of Python, both in a folder
/// and in an archive of that folder.
struct CifarSet {
  std::string folder = {};          // below each data folder: "cifar10"
  std::string binary_folder = {};   // "cifar-10-batches-bin"
  std::string python_folder = {};   // "cifar-10-batches-py"
  std::string binary_archive = {};  // "cifar-10-binary.tar.gz"
  std::string python_archive = {};  // "cifar-10-python.tar.gz"
  std::string python_url = {};
  std::string python_sha256 = {};  // as Keras has it
  std::vector<CifarPart> train = {};
  CifarPart test = {};
  int64_t record_labels = 1;   // bytes of labels in front of each binary record
  int64_t record_label = 0;    // which of these is meant
  std::string label_key = {};  // in the pickles
  int64_t classes = 10;
};

/// The set from the first data folder that has it in one of the forms, else downloaded as the archive of
/// pickles. x uint8 (rows, 32, 32, 3), y int64 (rows, 1). Throws IoError naming URL and folders when there is
/// nothing, FileFormatError naming file, expected and found for damaged files.
TrainTest load_cifar(const CifarSet& set);

/// One file of binary records, or a pickle: recognised by its first byte. Any number of rows.
Arrays read_cifar_batch(const CifarSet& set, std::span<const uint8_t> bytes, const std::string& name);
/// The same from a plain or gzip file.
Arrays read_cifar_batch(const CifarSet& set, const std::filesystem::path& path);

}  // namespace nyala::datasets
