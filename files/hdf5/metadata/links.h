#pragma once

#include <cstdint>
#include <map>
#include <string>

#include <nyala/files/hdf5/metadata/object_header.h>

namespace nyala::hdf5 {

/// What stands behind a name in a group. Only hard links can be followed.
struct Link {
  enum class Kind { hard, soft, external, user_defined };

  Kind kind = Kind::hard;
  uint64_t address = 0;  ///< of the object's header, for hard links
};

/// Sorted by name, byte by byte.
using Links = std::map<std::string, Link, std::less<>>;

/// The links of a group: old style (symbol table), new style compact (link messages) or dense (fractal heap).
/// Links that are not hard are listed, not followed. Throws Fault; also for names that are empty, contain '/'
/// or NUL, are "." or stand twice.
Links read_links(const Image& image, const ObjectHeader& header);

/// Adds one link; a Fault at `offset` for a bad or repeated name.
void add_link(Links& links, std::string name, const Link& link, uint64_t offset);

}  // namespace nyala::hdf5
