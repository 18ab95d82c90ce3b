#include <nyala/datasets/cifar100.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/cifar_files.h>

namespace nyala::datasets {

using namespace nyala::detail;

namespace {

CifarSet cifar100_set(const Cifar100Config& config) {
  const bool fine = config.label_mode == "fine";
  if (!fine && config.label_mode != "coarse")
    throw InvalidArgumentError("cifar100: expected label_mode 'fine' or 'coarse', received '" +
                               config.label_mode + "'" + did_you_mean(config.label_mode, {"fine", "coarse"}));
  return {.folder = "cifar100",
          .binary_folder = "cifar-100-binary",
          .python_folder = "cifar-100-python",
          .binary_archive = "cifar-100-binary.tar.gz",
          .python_archive = "cifar-100-python.tar.gz",
          .python_url = "https://www.cs.toronto.edu/~kriz/cifar-100-python.tar.gz",
          .python_sha256 = "85cd44d02ba6437773c5bbd22e183051d648de2e7d6b014e1ef29b855ba677a7",
          .train = {{"train", 50000}},
          .test = {"test", 10000},
          .record_labels = 2,
          .record_label = fine ? 1 : 0,
          .label_key = config.label_mode + "_labels",
          .classes = fine ? 100 : 20};
}

}  // namespace

TrainTest cifar100(const Cifar100Config& config) { return load_cifar(cifar100_set(config)); }

Arrays load_cifar100_batch(const std::filesystem::path& path, const Cifar100Config& config) {
  return read_cifar_batch(cifar100_set(config), path);
}

}  // namespace nyala::datasets
