#pragma once

#include <filesystem>
#include <string>

#include <nyala/datasets/base/arrays.h>

namespace nyala::datasets {

struct Cifar100Config {
  std::string label_mode = "fine";  // 100 classes; "coarse": the 20 superclasses
};

/// CIFAR-100 (Krizhevsky 2009): 50,000 and 10,000 colour images. x uint8 (rows, 32, 32, 3), 0..255; y int64
/// (rows, 1), as in Keras. Found, or downloaded, as cifar10() says, by the names cifar-100-binary,
/// cifar-100-python, cifar-100-binary.tar.gz and cifar-100-python.tar.gz and the subfolder cifar100. Throws
/// InvalidArgumentError for another label_mode.
TrainTest cifar100(const Cifar100Config& config = {});

/// One file of CIFAR-100, plain or gzip: binary records (a byte of the coarse label, one of the fine label,
/// then the image as in CIFAR-10) or a pickle.
Arrays load_cifar100_batch(const std::filesystem::path& path, const Cifar100Config& config = {});

}  // namespace nyala::datasets
