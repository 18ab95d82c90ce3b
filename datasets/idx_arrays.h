#pragma once

#include <string>

#include <nyala/datasets/base/arrays.h>
#include <nyala/datasets/io/fetch.h>

namespace nyala::datasets {

/// Options of all loaders that may have to download.
struct LoadOptions {
  FetchProgress progress = {};
};

namespace detail {

/// Images and labels from a pair of idx files, plain or gzip: x uint8 (rows, height, width, 1), y int64
/// (rows,). Throws FileFormatError naming file, expected and found for damaged files, for pairs that differ
/// in their rows and for a label outside 0..num_classes-1.
Arrays load_idx_arrays(const std::filesystem::path& images, const std::filesystem::path& labels,
                       int num_classes = 10);

}  // namespace detail

/// Where a data set in the layout of MNIST is published: four gzip files below `url`.
struct MnistLikeSet {
  std::string folder = {};  // its folder below the data folders
  std::string url = {};     // with a closing slash
  std::string train_images_sha256 = {}, train_labels_sha256 = {};
  std::string test_images_sha256 = {}, test_labels_sha256 = {};
};

namespace detail {

/// Finds or downloads the four files: 60,000 and 10,000 images of 28x28. Errors as find_or_fetch and
/// load_idx_arrays; FileFormatError for another number or size of images.
TrainTest load_mnist_like(const MnistLikeSet& set, const LoadOptions& options);

}  // namespace detail

}  // namespace nyala::datasets
