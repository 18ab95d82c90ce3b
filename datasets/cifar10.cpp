#include <nyala/datasets/cifar10.h>

#include <algorithm>
#include <array>
#include <cstring>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/data_file.h>
#include <nyala/datasets/io/tar_reader.h>

namespace nyala::datasets {

namespace {

constexpr int64_t kPixels = 32 * 32, kChannels = 3, kRecord = 1 + kPixels * kChannels;
constexpr int64_t kRowsPerBatch = 10000, kTrainBatches = 5;
constexpr uint64_t kLargestFile = uint64_t{1} << 30;
const char* const kFolder = "cifar-10-batches-bin";
const char* const kArchive = "cifar-10-binary.tar.gz";
const char* const kUrl = "https://www.cs.toronto.edu/~kriz/cifar-10-binary.tar.gz";

Arrays make_arrays(int64_t rows) {
  return {Tensor::empty({rows, 32, 32, kChannels}, DType::uint8), Tensor::empty({rows, 1}, DType::int64)};
}

/// Decodes whole records into the rows from `first` on. `name` is the file for messages.
void decode(std::span<const uint8_t> bytes, const std::string& name, const Arrays& out, int64_t first) {
  uint8_t* pixels = out.x.raw_as<uint8_t>() + first * kPixels * kChannels;
  int64_t* labels = out.y.raw_as<int64_t>() + first;
  const int64_t rows = static_cast<int64_t>(bytes.size()) / kRecord;
  for (int64_t row = 0; row < rows; ++row) {
    const uint8_t* record = bytes.data() + row * kRecord;
    if (record[0] > 9)
      throw FileFormatError(name + ": expected labels from 0 to 9, found " + std::to_string(record[0]) +
                            " in record " + std::to_string(row));
    labels[row] = record[0];
    for (int64_t channel = 0; channel < kChannels; ++channel)
      for (int64_t pixel = 0; pixel < kPixels; ++pixel)
        pixels[(row * kPixels + pixel) * kChannels + channel] = record[1 + channel * kPixels + pixel];
  }
}

std::vector<uint8_t> read_whole(const std::filesystem::path& path) {
  ByteReader reader(path, kLargestFile);
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> piece(static_cast<size_t>(kRecord * 100));
  while (const size_t count = reader.read(piece))
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  return bytes;
}

/// Takes the six batch files by their published names, in any order.
class Collector {
 public:
  explicit Collector(std::string source) : source_(std::move(source)) {}

  static std::array<std::string, kTrainBatches + 1> names() {
    return {"data_batch_1.bin", "data_batch_2.bin", "data_batch_3.bin",
            "data_batch_4.bin", "data_batch_5.bin", "test_batch.bin"};
  }

  /// The place of a file among names(); nothing for other files.
  static std::optional<size_t> place_of(const std::string& file_name) {
    const auto all = names();
    const auto found = std::find(all.begin(), all.end(), file_name);
    if (found == all.end()) return std::nullopt;
    return static_cast<size_t>(found - all.begin());
  }

  void add(size_t place, std::span<const uint8_t> bytes, const std::string& name) {
    check_size(bytes.size(), name);
    if (place == kTrainBatches)
      decode(bytes, name, out_.test, 0);
    else
      decode(bytes, name, out_.train, static_cast<int64_t>(place) * kRowsPerBatch);
    seen_[place] = true;
  }

  static void check_size(uint64_t size, const std::string& name) {
    const uint64_t expected = kRowsPerBatch * kRecord;
    if (size != expected)
      throw FileFormatError(name + ": expected " + std::to_string(expected) + " bytes (" +
                            std::to_string(kRowsPerBatch) + " records of " + std::to_string(kRecord) +
                            "), found " + std::to_string(size));
  }

  TrainTest finish() {
    for (size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i])
        throw FileFormatError(source_ + ": expected a file " + names()[i] + " in it, found none");
    return std::move(out_);
  }

 private:
  std::string source_;
  TrainTest out_{make_arrays(kRowsPerBatch * kTrainBatches), make_arrays(kRowsPerBatch)};
  std::array<bool, kTrainBatches + 1> seen_{};
};

TrainTest read_folder(const std::filesystem::path& folder) {
  Collector collector(folder.string());
  const auto names = Collector::names();
  for (size_t i = 0; i < names.size(); ++i) {
    std::filesystem::path path = folder / names[i];
    if (!std::filesystem::exists(path)) path += ".gz";
    if (std::filesystem::exists(path)) collector.add(i, read_whole(path), path.string());
  }
  return collector.finish();
}

TrainTest read_archive(const std::filesystem::path& path) {
  ByteReader source(path, kLargestFile);
  TarReader tar(source);
  Collector collector(path.string());
  TarEntry entry;
  std::vector<uint8_t> bytes;
  while (tar.next(entry)) {
    const auto place = Collector::place_of(std::filesystem::path(entry.name).filename().string());
    if (!place) continue;
    const std::string name = path.string() + ": " + entry.name;
    Collector::check_size(entry.size, name);  // before the allocation
    bytes.resize(entry.size);
    tar.read(bytes);
    collector.add(*place, bytes, name);
  }
  return collector.finish();
}

}  // namespace

Arrays load_cifar10_batch(const std::filesystem::path& path) {
  const std::vector<uint8_t> bytes = read_whole(path);
  if (bytes.size() % kRecord != 0)
    throw FileFormatError(path.string() + ": expected records of " + std::to_string(kRecord) +
                          " bytes, found " + std::to_string(bytes.size()) + " bytes, which is no multiple");
  Arrays out = make_arrays(static_cast<int64_t>(bytes.size()) / kRecord);
  decode(bytes, path.string(), out, 0);
  return out;
}

TrainTest cifar10() {
  for (const std::filesystem::path& root : data_folders()) {
    for (const std::filesystem::path& folder : {root, root / "cifar10"}) {
      if (std::filesystem::is_directory(folder / kFolder)) return read_folder(folder / kFolder);
      if (std::filesystem::is_regular_file(folder / kArchive)) return read_archive(folder / kArchive);
    }
  }
  throw IoError(std::string("CIFAR-10 is not here and is not downloaded by itself: get ") + kUrl + " (" +
                search_hint("cifar10", kArchive) + ")");
}

}  // namespace nyala::datasets
