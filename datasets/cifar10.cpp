#include <nyala/datasets/cifar10.h>

#include <nyala/datasets/cifar_files.h>

namespace nyala::datasets {

namespace {

CifarSet cifar10_set() {
  constexpr int64_t kRows = 10000;
  CifarSet set = {.folder = "cifar10",
                  .binary_folder = "cifar-10-batches-bin",
                  .python_folder = "cifar-10-batches-py",
                  .binary_archive = "cifar-10-binary.tar.gz",
                  .python_archive = "cifar-10-python.tar.gz",
                  .python_url = "https://www.cs.toronto.edu/~kriz/cifar-10-python.tar.gz",
                  .python_sha256 = "6d958be074577803d12ecdefd02955f39262c83c16fe9348329d7fe0b5c001ce",
                  .test = {"test_batch", kRows},
                  .label_key = "labels",
                  .classes = 10};
  for (int i = 1; i <= 5; ++i) set.train.push_back({"data_batch_" + std::to_string(i), kRows});
  return set;
}

}  // namespace

TrainTest cifar10() { return load_cifar(cifar10_set()); }

Arrays load_cifar10_batch(const std::filesystem::path& path) { return read_cifar_batch(cifar10_set(), path); }

}  // namespace nyala::datasets
