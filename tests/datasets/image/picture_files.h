#pragma once

#include <nyala/tests/datasets/test_files.h>

namespace nyala {

/// The small pictures that Pillow wrote for the golden tests.
inline std::filesystem::path picture(const std::string& name) {
  return std::filesystem::path(NYALA_SOURCE_DIR) / "tests/golden/data/pictures" / name;
}

inline datasets::Bytes picture_bytes(const std::string& name) { return datasets::read_file(picture(name)); }

}  // namespace nyala
