#pragma once

#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// NumPy's arrays in files: `.npy` holds one, `.npz` (a ZIP archive of them) several by name. Tensors are on
/// the host. int8 and int16 become int32, uint16 int32, uint32 and uint64 int64; Fortran order is turned
/// round. Object arrays, which would run code, text and complex numbers are refused. Throw IoError, and
/// FileFormatError naming path, place and reason.
Tensor load_npy(const std::string& path);
/// Written beside and renamed.
void save_npy(const std::string& path, const Tensor& value);

using NamedArrays = std::vector<std::pair<std::string, Tensor>>;
/// In the order of the archive, names without ".npy". With `names` only those, in their order: the others may
/// be of kinds that are refused.
NamedArrays load_npz(const std::string& path, const std::vector<std::string>& names = {});
void save_npz(const std::string& path, const NamedArrays& values);

}  // namespace nyala
