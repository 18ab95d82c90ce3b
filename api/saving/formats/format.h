#pragma once

#include <map>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/saving/arrays/stored_array.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

/// A model as a file holds it: texts and named tensors, no layer among them. What a format reads; parts that
/// the file lacks are null or absent. Weights lie in `file` or in `arrays`.
struct StoredModel {
  std::string name = {};                        // of the file, for messages
  Json config = {};                             // envelope of the model in the form of Keras 3
  Json compile_config = {};                     // in the form of Keras 3
  std::shared_ptr<const hdf5::File> file = {};  // the weights as groups of HDF5
  std::vector<std::shared_ptr<const hdf5::File>> more_files = {};  // where the groups lie in several
  StoredArrays arrays = {};                                        // the weights by variable path
  bool legacy = false;  // weights lie by layer name, as before Keras 3
  std::map<std::string, std::string> assets = {};  // texts by path: "layers/string_lookup/vocabulary.txt"
};

/// Reads one kind of file.
struct Format {
  const char* name;
  /// True if the content is of this kind.
  bool (*recognises)(const std::shared_ptr<const FileBytes>& file);
  /// Throws FileFormatError naming path, place and reason. A file of weights alone leaves the configs null.
  StoredModel (*read)(const std::shared_ptr<const FileBytes>& file);
};

/// Every format that load_model knows.
const std::vector<Format>& formats();
/// The members of a .keras archive as files of a folder.
StoredModel read_unzipped_archive(const std::string& folder);
/// Reads a file of whatever kind, or such a folder. Throws IoError, FileFormatError.
StoredModel read_stored_model(const std::string& path);

}  // namespace nyala
