#include <nyala/api/saving/weights/weights_tree.h>

#include <algorithm>

namespace nyala {

bool WeightsTree::has_group(const std::string& path) const {
  return std::any_of(roots_.begin(), roots_.end(),
                     [&](const hdf5::Group& root) { return root.has_group(path); });
}

size_t WeightsTree::count(const std::string& path) const {
  size_t count = 0;
  for (const hdf5::Group& root : roots_)
    if (root.has_group(path)) count += root.group(path).names().size();
  return count;
}

hdf5::Dataset WeightsTree::dataset(const std::string& path) const {
  for (const hdf5::Group& root : roots_)
    if (root.has_dataset(path)) return root.dataset(path);
  return roots_.front().dataset(path);  // throws, naming what is there
}

std::vector<std::string> WeightsTree::dataset_paths() const {
  std::vector<std::string> all;
  for (const hdf5::Group& root : roots_)
    for (std::string& path : root.dataset_paths()) all.push_back(std::move(path));
  std::sort(all.begin(), all.end());
  return all;
}

}  // namespace nyala
