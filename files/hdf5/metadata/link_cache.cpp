#include <nyala/files/hdf5/metadata/link_cache.h>

namespace nyala::hdf5 {

std::shared_ptr<const Links> LinkCache::links_of(const Image& image, const ObjectHeader& header) {
  const std::lock_guard lock(mutex_);
  std::shared_ptr<const Links>& known = known_[header.address()];
  if (!known) known = std::make_shared<const Links>(read_links(image, header));
  return known;
}

}  // namespace nyala::hdf5
