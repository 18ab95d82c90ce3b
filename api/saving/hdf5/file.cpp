#include <nyala/api/saving/hdf5/file.h>
#include <nyala/api/saving/hdf5/link_cache.h>
#include <nyala/api/saving/hdf5/superblock.h>

namespace nyala::hdf5 {

File File::open(const std::string& path) {
  const auto file = FileBytes::open(path);
  return inside(file, file->bytes(), path);
}

File File::inside(std::shared_ptr<const FileBytes> file, std::span<const std::byte> bytes,
                  std::string display_name) {
  auto image = std::make_shared<Image>();
  image->file = std::move(file);
  image->owner = image->file;
  image->bytes = bytes;
  image->name = std::move(display_name);
  return from_image(std::move(image));
}

File File::from_bytes(std::span<const std::byte> bytes, std::shared_ptr<const void> owner,
                      std::string display_name) {
  auto image = std::make_shared<Image>();
  image->owner = std::move(owner);
  image->bytes = bytes;
  image->name = std::move(display_name);
  return from_image(std::move(image));
}

File File::from_image(std::shared_ptr<Image> image) {
  image->links = std::make_shared<LinkCache>();
  at_object(*image, "/", [&] { read_superblock(*image); });
  std::string name = image->name;
  return File(Group(std::move(image)), std::move(name));
}

}  // namespace nyala::hdf5
