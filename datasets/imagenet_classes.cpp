#include <nyala/datasets/imagenet_classes.h>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/json/strict_json.h>

namespace nyala::datasets {

std::vector<ImagenetClass> read_imagenet_classes(const std::filesystem::path& path) {
  constexpr size_t kClasses = 1000;
  const auto file = FileBytes::open(path.string());
  const auto bytes = file->part(0, file->size());
  const Json json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, path.string());
  const auto fail = [&](const std::string& what) {
    throw FileFormatError(path.string() + ": expected the index of ImageNet's 1000 classes, received " +
                          what);
  };
  if (!json.is_object()) fail("something that is no JSON object");
  std::vector<ImagenetClass> classes;
  for (size_t i = 0; i < kClasses; ++i) {
    const Json* const entry = json.find(std::to_string(i));
    if (!entry || !entry->is_array() || entry->size() != 2 || !entry->at(0).is_string() ||
        !entry->at(1).is_string())
      fail("no pair of id and name for class " + std::to_string(i));
    classes.push_back({entry->at(0).as_string(), entry->at(1).as_string()});
  }
  return classes;
}

}  // namespace nyala::datasets
