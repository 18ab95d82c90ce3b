#pragma once

#include <filesystem>

#include <nyala/datasets/arrays.h>

namespace nyala::datasets {

/// CIFAR-10 (Krizhevsky 2009): 50,000 and 10,000 colour images in ten classes (airplane, automobile, bird,
/// cat, deer, dog, frog, horse, ship, truck). x uint8 (rows, 32, 32, 3), 0..255; y int64 (rows, 1), as in
/// Keras. Read from the binary version placed by hand: the folder cifar-10-batches-bin (its .bin files may be
/// gzip) or the archive cifar-10-binary.tar.gz, in a data folder (NYALA_DATA_DIR, ~/.nyala/datasets,
/// ~/.keras/datasets, /usr/share/datasets) or its subfolder cifar10. Throws IoError naming URL and folders
/// when there is neither, FileFormatError naming file, expected and found for damaged files.
TrainTest cifar10();

/// One file of CIFAR-10's binary records, plain or gzip: a label byte, then 32x32 bytes each of red, green
/// and blue. Any number of rows; shapes and errors as above.
Arrays load_cifar10_batch(const std::filesystem::path& path);

}  // namespace nyala::datasets
