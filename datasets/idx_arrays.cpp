#include <nyala/datasets/idx_arrays.h>

#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/data_file.h>
#include <nyala/datasets/io/idx_file.h>

namespace nyala::datasets {

using namespace nyala::datasets::detail;

namespace {

Tensor read_labels(IdxFile& file, int num_classes) {
  std::vector<uint8_t> bytes(static_cast<size_t>(file.shape().num_elements()));
  file.read(bytes);
  const Tensor labels = Tensor::empty(file.shape(), DType::int64);
  const auto out = labels.data<int64_t>();
  for (size_t i = 0; i < bytes.size(); ++i) {
    if (bytes[i] >= num_classes)
      throw FileFormatError(file.path().string() + ": expected labels from 0 to " +
                            std::to_string(num_classes - 1) + ", found " + std::to_string(bytes[i]) +
                            " in row " + std::to_string(i));
    out[i] = bytes[i];
  }
  return labels;
}

Arrays load_half(const MnistLikeSet& set, const std::string& prefix, bool train, const LoadOptions& options) {
  const auto find = [&](const std::string& kind, const std::string& sha256) {
    const std::string name = prefix + kind;
    return find_or_fetch({.folder = set.folder, .name = name, .url = set.url + name, .sha256 = sha256},
                         options.progress);
  };
  const auto images = find("-images-idx3-ubyte.gz", train ? set.train_images_sha256 : set.test_images_sha256);
  const auto labels = find("-labels-idx1-ubyte.gz", train ? set.train_labels_sha256 : set.test_labels_sha256);
  Arrays arrays = load_idx_arrays(images, labels);
  const Shape expected{train ? 60000 : 10000, 28, 28, 1};
  if (arrays.x.shape() != expected)
    throw FileFormatError(images.string() + ": expected images of shape " + expected.to_string() +
                          ", found " + arrays.x.shape().to_string());
  return arrays;
}

}  // namespace

Arrays detail::load_idx_arrays(const std::filesystem::path& images, const std::filesystem::path& labels,
                       int num_classes) {
  IdxFile image_file(images, 3), label_file(labels, 1);
  const int64_t rows = image_file.shape().front();
  if (rows != label_file.shape().front())
    throw FileFormatError(labels.string() + ": expected " + std::to_string(rows) +
                          " labels as there are images in " + images.string() + ", found " +
                          std::to_string(label_file.shape().front()));
  Shape shape = image_file.shape();
  shape.append(1);
  const Tensor x = Tensor::empty(shape, DType::uint8);
  image_file.read(x.data<uint8_t>());
  return {x, read_labels(label_file, num_classes)};
}

TrainTest detail::load_mnist_like(const MnistLikeSet& set, const LoadOptions& options) {
  return {load_half(set, "train", true, options), load_half(set, "t10k", false, options)};
}

}  // namespace nyala::datasets
