#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nyala/backend/core/shape.h>
#include <nyala/files/hdf5/base/cursor.h>

namespace nyala::hdf5 {

/// The parts of an attribute message, not yet looked into.
struct AttributeParts {
  std::string name;
  Cursor datatype;
  Cursor dataspace;
  Cursor data;
};

/// Parses an attribute message, versions 1 to 3. Throws Fault.
AttributeParts read_attribute_message(Cursor body);

/// A named value of a group or dataset. Values are read when asked for, so that an attribute of an
/// unsupported type disturbs nobody who does not want it. All readers throw FileFormatError naming file,
/// object and attribute where the bytes are damaged or of another kind than asked for.
class Attribute {
 public:
  Attribute(ImagePtr image, std::string object_path, AttributeParts parts);

  const std::string& name() const { return parts_.name; }
  /// () for a scalar, (0) for an attribute without any element.
  Shape shape() const;
  /// True for fixed and variable-length strings.
  bool is_string() const;

  /// The one element as text. Fixed-length text comes without its padding.
  std::string string() const;
  /// All elements as text, row by row. Without elements this is empty whatever the type: Keras stores an
  /// empty list of names as an empty float64 array.
  std::vector<std::string> strings() const;
  /// All elements, row by row.
  std::vector<double> numbers() const;
  /// All elements, row by row; the stored type must be an integer or boolean.
  std::vector<int64_t> integers() const;

 private:
  template <class F>
  auto guarded(F&& read) const;

  ImagePtr image_;
  std::string place_;  ///< "<object path>@<name>"
  AttributeParts parts_;
};

}  // namespace nyala::hdf5
