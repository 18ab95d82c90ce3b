#pragma once

#include <cstdint>
#include <string>

#include <nyala/backend/core/dtype.h>
#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// How an element is stored. Only what Keras files hold; read_datatype refuses the rest by name.
struct Datatype {
  enum class Kind { integer, floating, bfloat16, boolean, opaque, fixed_string, variable_string };
  enum class Padding : uint8_t { null_terminated = 0, null_padded = 1, space_padded = 2 };

  Kind kind = Kind::integer;
  uint64_t size = 0;  ///< bytes per element: at least 1, at most those of the file
  bool is_big_endian = false;
  bool is_signed = false;
  Padding padding = Padding::null_terminated;
  std::string tag;  ///< of an opaque type

  bool is_string() const { return kind == Kind::fixed_string || kind == Kind::variable_string; }
  bool is_number() const { return !is_string() && kind != Kind::opaque; }
  /// "big-endian int16", "opaque of 3 bytes": for messages.
  std::string to_string() const;
};

/// Parses a datatype message, versions 1 to 4: integers of 8 to 64 bits, IEEE floats of 16, 32 and 64 bits,
/// bfloat16, opaque, h5py's boolean enum, strings. Throws Fault.
Datatype read_datatype(Cursor body);

}  // namespace nyala::hdf5
