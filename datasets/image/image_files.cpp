// The order of files is Keras' (index_directory): folders sorted by name, then names in each. Shuffling
// follows NumPy's RandomState, so that a seed splits a folder as it does in Python: mt19937, numbers in a
// range by masking and refusing those too large, and Fisher and Yates' swaps from the end.
#include <nyala/datasets/image/image_files.h>

#include <algorithm>
#include <array>
#include <random>
#include <utility>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/base/folder.h>

namespace nyala {

using namespace nyala::detail;

namespace {

namespace fs = std::filesystem;

bool has_image_ending(const std::string& name) {
  static constexpr std::array<std::string_view, 5> kEndings = {".bmp", ".gif", ".jpeg", ".jpg", ".png"};
  const std::string lower = lower_case(name);
  return std::any_of(kEndings.begin(), kEndings.end(),
                     [&](std::string_view ending) { return lower.ends_with(ending); });
}

/// Walks through folders, remembering those above so that links cannot lead in a circle.
class Walk {
 public:
  explicit Walk(bool follow_links) : follow_links_(follow_links) {}

  void visit(const fs::path& folder) {
    std::error_code code;
    const fs::path real = fs::canonical(folder, code);
    if (code || std::find(above_.begin(), above_.end(), real) != above_.end()) return;
    above_.push_back(real);
    std::vector<std::string> names;
    for (const std::string& name : names_in_folder(folder.string())) {
      const fs::path path = folder / name;
      if (!fs::is_directory(path, code)) {
        if (has_image_ending(name)) names.push_back(name);
      } else if (follow_links_ || !fs::is_symlink(path, code)) {
        visit(path);
      }
    }
    std::sort(names.begin(), names.end());
    found_.emplace_back(folder.string(), std::move(names));
    above_.pop_back();
  }

  std::vector<fs::path> finish() {
    std::sort(found_.begin(), found_.end());
    std::vector<fs::path> out;
    for (const auto& [folder, names] : found_)
      for (const std::string& name : names) out.push_back(fs::path(folder) / name);
    return out;
  }

 private:
  bool follow_links_;
  std::vector<fs::path> above_;
  std::vector<std::pair<std::string, std::vector<std::string>>> found_;
};

/// NumPy's random_interval: a draw from 0 to `most`, both included.
size_t draw_up_to(std::mt19937& random, size_t most) {
  uint32_t mask = static_cast<uint32_t>(most);
  for (int shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
  for (;;)
    if (const uint32_t value = static_cast<uint32_t>(random()) & mask; value <= most) return value;
}

template <class T>
std::vector<T> part(const std::vector<T>& all, size_t begin, size_t end) {
  if (all.empty()) return {};
  return {all.begin() + static_cast<std::ptrdiff_t>(begin), all.begin() + static_cast<std::ptrdiff_t>(end)};
}

}  // namespace

std::vector<std::string> class_folders(const fs::path& directory) {
  (void)checked_path(directory.string());
  std::error_code code;
  if (!fs::is_directory(directory, code))
    throw NotFoundError(directory.string() + ": expected a directory, found " +
                        (fs::exists(directory, code) ? "something else" : "nothing"));
  std::vector<std::string> out;
  for (const std::string& name : names_in_folder(directory.string()))
    if (!name.starts_with(".") && fs::is_directory(directory / name, code)) out.push_back(name);
  std::sort(out.begin(), out.end());
  return out;
}

std::vector<fs::path> find_images(const fs::path& folder, bool follow_links) {
  Walk walk(follow_links);
  walk.visit(folder);
  return walk.finish();
}

void shuffle_as_numpy(ImageFiles& files, uint32_t seed) {
  std::mt19937 random(seed);
  for (size_t i = files.paths.size(); i-- > 1;) {
    const size_t j = draw_up_to(random, i);
    std::swap(files.paths[i], files.paths[j]);
    if (!files.labels.empty()) std::swap(files.labels[i], files.labels[j]);
  }
}

ImageFiles subset_of(const ImageFiles& files, double validation_share, Subset subset) {
  if (subset == Subset::all) return files;
  const size_t count = files.paths.size();
  const size_t border = count - static_cast<size_t>(validation_share * static_cast<double>(count));
  const size_t begin = subset == Subset::training ? 0 : border;
  const size_t end = subset == Subset::training ? border : count;
  return {part(files.paths, begin, end), part(files.labels, begin, end)};
}

}  // namespace nyala
