#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/files/hdf5/metadata/attribute.h>
#include <nyala/files/hdf5/metadata/object_header.h>

namespace nyala::hdf5 {

/// The attributes of one group or dataset, wherever the file keeps them (in the header or in a heap).
class Attributes {
 public:
  /// Throws Fault.
  Attributes(ImagePtr image, std::string object_path, const ObjectHeader& header);

  /// Sorted byte by byte.
  std::vector<std::string> names() const;
  bool has(std::string_view name) const { return parts_.find(name) != parts_.end(); }
  /// Throws NotFoundError naming the nearest attribute there is.
  Attribute get(std::string_view name) const;

  std::string string(std::string_view name) const { return get(name).string(); }
  std::vector<std::string> strings(std::string_view name) const { return get(name).strings(); }

 private:
  void add(Cursor message);
  void read_dense(Cursor info);

  ImagePtr image_;
  std::string object_path_;
  std::map<std::string, AttributeParts, std::less<>> parts_;
};

}  // namespace nyala::hdf5
