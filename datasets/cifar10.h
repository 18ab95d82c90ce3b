#pragma once

#include <filesystem>

#include <nyala/datasets/base/arrays.h>

namespace nyala::datasets {

/// CIFAR-10 (Krizhevsky 2009): 50,000 and 10,000 colour images in ten classes (airplane, automobile, bird,
/// cat, deer, dog, frog, horse, ship, truck). x uint8 (rows, 32, 32, 3), 0..255; y int64 (rows, 1), as in
/// Keras. Taken from a data folder (NYALA_DATA_DIR, NYALA_HOME/datasets or ~/.nyala/datasets,
/// ~/.keras/datasets, /usr/share/datasets) or its subfolder cifar10, in the first of these forms: the folder
/// cifar-10-batches-bin (its .bin files may be gzip), Python's pickles in cifar-10-batches-py (as Keras
/// leaves them too), or an archive of one of them, cifar-10-binary.tar.gz, cifar-10-python.tar.gz or
/// cifar-10-batches-py.tar.gz. Otherwise the archive of pickles is downloaded and its SHA-256 checked.
/// Pickles are read as data: nothing in them can run. Throws IoError naming URL and folders when there is
/// nothing, FileFormatError naming file, expected and found for damaged files.
TrainTest cifar10();

/// One file of CIFAR-10, plain or gzip: binary records (a label byte, then 32x32 bytes each of red, green and
/// blue) or a pickle. Any number of rows; shapes and errors as above.
Arrays load_cifar10_batch(const std::filesystem::path& path);

}  // namespace nyala::datasets
