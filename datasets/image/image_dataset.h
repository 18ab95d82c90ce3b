#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include <nyala/datasets/base/dataset.h>
#include <nyala/datasets/image/image_size.h>

namespace nyala {

class BrokenImages;

/// Where labels come from: "inferred" (from the folders' names), std::nullopt (there are none), or a list
/// with one class number per file.
class ImageLabels {
 public:
  ImageLabels() = default;
  ImageLabels(const char* rule) : rule_(rule) {}
  ImageLabels(std::string rule) : rule_(std::move(rule)) {}
  ImageLabels(std::nullopt_t) : rule_() {}
  ImageLabels(std::vector<int64_t> list) : rule_(), list_(std::move(list)) {}
  ImageLabels(std::initializer_list<int64_t> list) : rule_(), list_(std::vector<int64_t>(list)) {}

  const std::optional<std::string>& rule() const { return rule_; }
  const std::optional<std::vector<int64_t>>& list() const { return list_; }

 private:
  std::optional<std::string> rule_ = "inferred";
  std::optional<std::vector<int64_t>> list_ = {};
};

struct ImageDatasetConfig {
  ImageLabels labels = {};
  /// "int": int32 (batch); "categorical": one-hot float32 (batch, classes); "binary": float32 (batch, 1), for
  /// two classes; std::nullopt: no targets.
  std::optional<std::string> label_mode = "int";
  std::vector<std::string> class_names = {};  // folders in the order of their numbers; nothing: all, sorted
  std::string color_mode = "rgb";             // "rgba", "grayscale"
  std::optional<int64_t> batch_size = 32;     // std::nullopt: single images
  ImageSize image_size = {256, 256};
  bool shuffle = true;
  std::optional<int64_t> seed = {};        // 0 to 2^32 - 1; nothing: from set_random_seed
  double validation_split = 0;             // the share of files, 0 to 1, that is the subset "validation"
  std::string subset = {};                 // "training" or "validation", together with validation_split
  std::string interpolation = "bilinear";  // "nearest", "bicubic", "area", "lanczos3", "lanczos5"
  bool follow_links = false;               // into folders behind symbolic links
  bool crop_to_aspect_ratio = false;       // cuts out the middle in the target's proportions first
  bool pad_to_aspect_ratio = false;        // fits the whole image into the middle, zeros beside it
  bool skip_broken = false;                // leaves out pictures that cannot be decoded, with a warning each
};

/// A Dataset of pictures that knows its classes and files.
class ImageDataset : public Dataset {
 public:
  /// What an ImageDataset is made of.
  struct Parts {
    Dataset dataset = {};
    std::vector<std::string> class_names = {};
    std::vector<std::filesystem::path> file_paths = {};
    std::vector<int64_t> labels = {};
    std::shared_ptr<const BrokenImages> broken = {};
  };

  ImageDataset() = default;
  explicit ImageDataset(Parts parts);

  /// The classes by number; empty without labels.
  const std::vector<std::string>& class_names() const { return parts_.class_names; }
  /// The files in the order of an iteration that does not shuffle.
  const std::vector<std::filesystem::path>& file_paths() const { return parts_.file_paths; }
  /// Their class numbers; empty without labels.
  const std::vector<int64_t>& labels() const { return parts_.labels; }
  /// The files that iterations have left out so far, each once (skip_broken).
  std::vector<std::filesystem::path> broken_files() const;

 private:
  Parts parts_;
};

/// The pictures (.bmp .gif .jpeg .jpg .png, in upper or lower case) below `directory`, whose subfolders are
/// classes: as Keras' image_dataset_from_directory, with its order of files, its shuffling by `seed` and thus
/// its validation split. Batches of x float32 (batch, height, width, channels), 0..255, not rescaled, resized
/// as tf.image.resize without antialiasing. Batched and prefetched already; decoding runs on as many threads
/// as there are cores. Files are read when they are iterated. Shuffled, an iteration also draws from a buffer
/// of 8 batches (1024 without batches), in another order each time. A file that cannot be read or decoded
/// throws IoError or FileFormatError naming its path where the element is asked for, unless `skip_broken`:
/// then the cardinality is unknown and batches close up. Throws InvalidArgumentError for options that
/// contradict each other or a directory without pictures, NotFoundError for a directory that does not exist,
/// or class_names that are not its folders.
ImageDataset image_dataset_from_directory(const std::filesystem::path& directory,
                                          const ImageDatasetConfig& config = {});

/// Keras' subset = "both".
struct TrainValidation {
  ImageDataset train = {};
  ImageDataset validation = {};
};
/// Both parts of one split; the validation part is not shuffled between iterations. Needs validation_split;
/// `subset` must be empty or "both".
TrainValidation image_datasets_from_directory(const std::filesystem::path& directory,
                                              const ImageDatasetConfig& config);

/// The same from a list of files with their class numbers (none: no targets), in that order unless shuffled.
/// `labels`, `validation_split`, `subset` and `follow_links` of the config do not apply and must be as they
/// are by default; `class_names` names the classes (nothing: "0", "1", ... up to the largest label).
ImageDataset image_dataset_from_files(const std::vector<std::filesystem::path>& paths,
                                      const std::vector<int64_t>& labels,
                                      const ImageDatasetConfig& config = {});

}  // namespace nyala
