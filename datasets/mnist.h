#pragma once

#include <nyala/datasets/idx_arrays.h>

namespace nyala::datasets {

/// x has the shape (rows, 28, 28, 1) that Conv2D takes; Keras has (rows, 28, 28): `x.squeeze(-1)` gives that.
/// MNIST (LeCun, Cortes, Burges, CC BY-SA 3.0): 60,000 and 10,000 grey images of the ten digits.
/// x uint8, 0..255; y int64 (rows,).
/// Looked for below mnist/ in NYALA_DATA_DIR, ~/.nyala/datasets, ~/.keras/datasets and /usr/share/datasets,
/// as idx files, plain or gzip; else downloaded from the CVDF mirror (Keras' own copy is a NumPy archive).
/// Throws IoError when there is neither file nor network, FileFormatError for damaged files.
TrainTest mnist(const LoadOptions& options = {});

}  // namespace nyala::datasets
