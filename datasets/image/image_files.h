#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace nyala {

/// Files and, where there are labels, their class numbers.
struct ImageFiles {
  std::vector<std::filesystem::path> paths = {};
  std::vector<int64_t> labels = {};  // as many as paths, or none
};

/// The names of the folders in `directory`, sorted by their bytes, without hidden ones. Throws NotFoundError
/// for a directory that does not exist.
std::vector<std::string> class_folders(const std::filesystem::path& directory);

/// The pictures below `folder`: by folder, then by name, each in the order of their bytes, as Keras lists
/// them. Files count by their ending. `follow_links`: also in folders behind symbolic links (never in a
/// circle). Throws IoError for a folder that cannot be read.
std::vector<std::filesystem::path> find_images(const std::filesystem::path& folder, bool follow_links);

/// The order of NumPy's RandomState(seed).shuffle, which Keras shuffles files with: MT19937, Fisher-Yates
/// from the end, bounds by masking and drawing again.
void shuffle_as_numpy(ImageFiles& files, uint32_t seed);

enum class Subset : uint8_t { all, training, validation };

/// The last int(share * n) files are for validation, the others for training.
ImageFiles subset_of(const ImageFiles& files, double validation_share, Subset subset);

}  // namespace nyala
