#pragma once

#include <nyala/datasets/idx_arrays.h>

namespace nyala::datasets {

/// x has the shape (rows, 28, 28, 1) that Conv2D takes; Keras has (rows, 28, 28): `x.squeeze(-1)` gives that.
/// Fashion-MNIST (Xiao, Rasul, Vollgraf 2017, MIT licence): 60,000 and 10,000 grey images of clothing in ten
/// classes (T-shirt/top, Trouser, Pullover, Dress, Coat, Sandal, Shirt, Sneaker, Bag, Ankle boot).
/// x uint8, 0..255; y int64 (rows,).
/// Looked for below fashion-mnist/ in NYALA_DATA_DIR, ~/.nyala/datasets, ~/.keras/datasets and the folder of
/// the Debian package dataset-fashion-mnist, as idx files, plain or gzip; else downloaded from where Keras
/// does. Throws IoError when there is neither file nor network, FileFormatError for damaged files.
TrainTest fashion_mnist(const LoadOptions& options = {});

}  // namespace nyala::datasets
