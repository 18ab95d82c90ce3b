#pragma once

#include <string>

#include <nyala/api/saving/arrays/numpy.h>

namespace nyala {

class StoredBytes;

/// Arrays by name in a `.safetensors` file (https://github.com/huggingface/safetensors): a JSON header that
/// says dtype, shape and place of each, then the bytes. Nothing in such a file can run.
///
/// In the order of the header. int8 and int16 become int32, uint16 int32, uint32 and uint64 int64;
/// `__metadata__` is passed over. Throws IoError, and FileFormatError naming path, tensor and reason for a
/// header that is not as the format says: longer than 100 MB or than the file, not sound JSON, two tensors of
/// one name, dtypes that are not known, sizes that do not fit the shape, bytes that two tensors share or none
/// owns.
NamedArrays load_safetensors(const std::string& path);
/// Written beside and renamed, without a copy of the values. Wider dtypes come first, so that every array is
/// aligned; else the order is kept. Throws InvalidArgumentError for two arrays of one name, a name that is
/// not UTF-8 or is `__metadata__`.
void save_safetensors(const std::string& path, const NamedArrays& values);

namespace detail {

/// True if the bytes begin as such a file does.
bool looks_like_safetensors(const StoredBytes& bytes);

}  // namespace detail

}  // namespace nyala
