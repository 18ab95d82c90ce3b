#include <nyala/files/hdf5/file.h>
#include <nyala/files/hdf5/metadata/link_cache.h>
#include <nyala/files/hdf5/metadata/superblock.h>

namespace nyala::hdf5 {

File File::open(const std::string& path) { return from_bytes(StoredBytes(FileBytes::open(path)), path); }

File File::from_bytes(StoredBytes bytes, std::string display_name) {
  auto image = std::make_shared<Image>();
  image->bytes = std::move(bytes);
  image->name = display_name;
  image->links = std::make_shared<LinkCache>();
  at_object(*image, "/", [&] { read_superblock(*image); });
  return File(std::move(image), std::move(display_name));
}

File File::unverified() const {
  auto image = std::make_shared<Image>(*image_);
  image->links = std::make_shared<LinkCache>();
  image->verifies_checksums = false;
  return File(std::move(image), name_);
}

}  // namespace nyala::hdf5
