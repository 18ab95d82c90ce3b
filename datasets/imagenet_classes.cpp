#include <nyala/datasets/imagenet_classes.h>

#include <fstream>

#include <nlohmann/json.hpp>

#include <nyala/backend/core/error.h>

namespace nyala::datasets {

std::vector<ImagenetClass> read_imagenet_classes(const std::filesystem::path& path) {
  constexpr size_t kClasses = 1000;
  std::ifstream file(path);
  if (!file) throw IoError(path.string() + ": cannot open the file");
  const nlohmann::json json = nlohmann::json::parse(file, nullptr, false);
  const auto fail = [&](const std::string& what) {
    throw FileFormatError(path.string() + ": expected the index of ImageNet's 1000 classes, received " +
                          what);
  };
  if (json.is_discarded() || !json.is_object()) fail("something that is no JSON object");
  std::vector<ImagenetClass> classes;
  for (size_t i = 0; i < kClasses; ++i) {
    const auto entry = json.find(std::to_string(i));
    if (entry == json.end() || !entry->is_array() || entry->size() != 2 || !entry->at(0).is_string() ||
        !entry->at(1).is_string())
      fail("no pair of id and name for class " + std::to_string(i));
    classes.push_back({entry->at(0).get<std::string>(), entry->at(1).get<std::string>()});
  }
  return classes;
}

}  // namespace nyala::datasets
