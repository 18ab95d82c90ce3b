#pragma once

#include <map>
#include <memory>

#include <nyala/backend/core/mutex.h>
#include <nyala/files/hdf5/metadata/links.h>

namespace nyala::hdf5 {

/// The links of the groups of one file that were read so far: opening "/optimizer/vars/4711" must not read
/// all links of "/optimizer/vars" each time. Safe for threads.
class LinkCache {
 public:
  /// read_links(), once per group. Throws Fault.
  std::shared_ptr<const Links> links_of(const Image& image, const ObjectHeader& header);

 private:
  Mutex mutex_;
  std::map<uint64_t, std::shared_ptr<const Links>> known_;  ///< by address of the group's header
};

}  // namespace nyala::hdf5
