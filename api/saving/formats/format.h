#pragma once

#include <memory>
#include <span>
#include <string>
#include <vector>

#include <nyala/api/saving/file_bytes.h>
#include <nyala/api/saving/hdf5/file.h>
#include <nyala/api/saving/json/strict_json.h>

namespace nyala {

/// A model as a file holds it: texts and named tensors, no layer among them. What a format reads; parts that
/// the file lacks are null or absent.
struct StoredModel {
  std::string name = {};                   // of the file, for messages
  Json config = {};                        // envelope of the model in the form of Keras 3
  Json compile_config = {};                // in the form of Keras 3
  std::shared_ptr<const hdf5::File> file = {};  // the weights
  bool legacy = false;                          // weights lie by layer name, as before Keras 3
};

/// Reads one kind of file.
struct Format {
  const char* name;
  /// True if the content, of which these are the bytes, is of this kind.
  bool (*recognises)(const FileBytes& file);
  /// Throws FileFormatError naming path, place and reason. A file of weights alone leaves the configs null.
  StoredModel (*read)(const std::shared_ptr<const FileBytes>& file);
};

/// Every format that load_model knows. One line each.
const std::vector<Format>& formats();
/// Reads a file of whatever kind. Throws IoError, FileFormatError.
StoredModel read_stored_model(const std::string& path);
extern const Format kKerasArchive;
extern const Format kLegacyHdf5;

}  // namespace nyala
