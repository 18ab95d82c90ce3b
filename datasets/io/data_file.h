#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include <nyala/datasets/io/fetch.h>

namespace nyala::datasets {

/// A file of a published data set.
struct DataFile {
  std::string folder = {};  // of the set, below each data folder: "fashion-mnist"
  std::string name = {};    // as published: "train-images-idx3-ubyte.gz"
  std::string url = {};
  std::string sha256 = {};  // of the published file
};

/// The folders that hold data sets, in the order of the search: the environment variable NYALA_DATA_DIR
/// (where set), NYALA_HOME/datasets (NYALA_HOME is ~/.nyala unless it is set), ~/.keras/datasets, and
/// /usr/share/datasets of Debian's packages.
std::vector<std::filesystem::path> data_folders();

/// Where downloads go: NYALA_DATA_DIR where set, else NYALA_HOME/datasets.
std::filesystem::path download_folder();

/// The first data folder's `folder`/`name`, or the same without the ending ".gz" (an unpacked copy).
std::optional<std::filesystem::path> find_data_file(const std::string& folder, const std::string& name);

/// Finds the file or downloads it. Throws IoError naming URL, file, the folders that were searched and
/// where to put the file by hand; FileFormatError when the downloaded bytes are not the published ones.
std::filesystem::path find_or_fetch(const DataFile& file, const FetchProgress& progress = {});

/// "looked for x in: a, b, c; put it into a by hand": the end of an error message about a missing file.
std::string search_hint(const std::string& folder, const std::string& name);

}  // namespace nyala::datasets
