#include <nyala/datasets/cifar_files.h>

#include <algorithm>
#include <cstring>
#include <optional>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/data_file.h>
#include <nyala/datasets/io/pickle_reader.h>
#include <nyala/datasets/io/tar_reader.h>

namespace nyala::datasets {

namespace {

namespace fs = std::filesystem;
using Bytes = std::span<const uint8_t>;

constexpr int64_t kPixels = 32 * 32, kChannels = 3, kImage = kPixels * kChannels;
constexpr uint64_t kLargestFile = uint64_t{1} << 30;
constexpr const char* kBinaryEnding = ".bin";

Arrays make_arrays(int64_t rows) {
  return {Tensor::empty({rows, 32, 32, kChannels}, DType::uint8), Tensor::empty({rows, 1}, DType::int64)};
}

/// Planes of red, green and blue as pixels.
void copy_image(const uint8_t* planes, uint8_t* pixels) {
  for (int64_t channel = 0; channel < kChannels; ++channel)
    for (int64_t pixel = 0; pixel < kPixels; ++pixel)
      pixels[pixel * kChannels + channel] = planes[channel * kPixels + pixel];
}

void check_label(const CifarSet& set, int64_t label, int64_t row, const std::string& name) {
  if (label < 0 || label >= set.classes)
    throw FileFormatError(name + ": expected labels from 0 to " + std::to_string(set.classes - 1) +
                          ", found " + std::to_string(label) + " in record " + std::to_string(row));
}

int64_t record_bytes(const CifarSet& set) { return set.record_labels + kImage; }

Arrays from_records(const CifarSet& set, Bytes bytes, const std::string& name) {
  const int64_t record = record_bytes(set), size = static_cast<int64_t>(bytes.size());
  if (size == 0 || size % record != 0)
    throw FileFormatError(name + ": expected records of " + std::to_string(record) + " bytes, found " +
                          std::to_string(size) + " bytes, which is none, or no multiple");
  Arrays out = make_arrays(size / record);
  for (int64_t row = 0; row < size / record; ++row) {
    const uint8_t* from = bytes.data() + row * record;
    check_label(set, from[set.record_label], row, name);
    out.y.raw_as<int64_t>()[row] = from[set.record_label];
    copy_image(from + set.record_labels, out.x.raw_as<uint8_t>() + row * kImage);
  }
  return out;
}

Arrays from_pickle(const CifarSet& set, Bytes bytes, const std::string& name) {
  const PickleValue batch = read_pickle(bytes, {.name = name});
  const Tensor data = batch.at("data").array();
  const PickleValue labels = batch.at(set.label_key);
  if (data.dtype() != DType::uint8 || data.rank() != 2 || data.shape()[1] != kImage)
    throw FileFormatError(name + ": expected 'data' uint8 (rows, " + std::to_string(kImage) + "), found " +
                          std::string(nyala::name_of(data.dtype())) + " " + data.shape().to_string());
  const int64_t rows = data.shape()[0];
  if (labels.size() != static_cast<size_t>(rows))
    throw FileFormatError(name + ": expected " + std::to_string(rows) + " " +
                          detail::in_quotes(set.label_key) + " as there are images, found " +
                          std::to_string(labels.size()));
  Arrays out = make_arrays(rows);
  for (int64_t row = 0; row < rows; ++row) {
    const int64_t label = labels.item(static_cast<size_t>(row)).integer();
    check_label(set, label, row, name);
    out.y.raw_as<int64_t>()[row] = label;
    copy_image(data.raw_as<uint8_t>() + row * kImage, out.x.raw_as<uint8_t>() + row * kImage);
  }
  return out;
}

std::vector<uint8_t> read_whole(const fs::path& path) {
  ByteReader reader(path, kLargestFile);
  std::vector<uint8_t> bytes;
  std::vector<uint8_t> piece(size_t{1} << 18);
  while (const size_t count = reader.read(piece))
    bytes.insert(bytes.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(count));
  return bytes;
}

/// Takes the files of a set in any order.
class Collector {
 public:
  Collector(const CifarSet& set, std::string source) : set_(set), source_(std::move(source)) {
    parts_ = set.train;
    parts_.push_back(set.test);
    seen_.assign(parts_.size(), false);
    int64_t rows = 0;
    for (const CifarPart& part : set.train) rows += part.rows;
    out_ = {make_arrays(rows), make_arrays(set.test.rows)};
  }

  const std::vector<CifarPart>& parts() const { return parts_; }

  /// Which part a file is by its name; nothing for other files.
  std::optional<size_t> place_of(const std::string& file_name) const {
    for (size_t i = 0; i < parts_.size(); ++i)
      if (file_name == parts_[i].name || file_name == parts_[i].name + kBinaryEnding) return i;
    return std::nullopt;
  }

  /// Before a file is read. Pickles hold file names and the like besides their images.
  void check_size(size_t place, uint64_t size, const std::string& name, bool binary) const {
    const auto rows = static_cast<uint64_t>(parts_[place].rows);
    const uint64_t expected = rows * static_cast<uint64_t>(record_bytes(set_));
    if (binary && size != expected)
      throw FileFormatError(name + ": expected " + std::to_string(expected) + " bytes (" +
                            std::to_string(rows) + " records of " + std::to_string(record_bytes(set_)) +
                            "), found " + std::to_string(size));
    if (!binary && size > 2 * expected)
      throw FileFormatError(name + ": expected a pickle of at most " + std::to_string(2 * expected) +
                            " bytes, found " + std::to_string(size));
  }

  void add(size_t place, Bytes bytes, const std::string& name, bool binary) {
    check_size(place, bytes.size(), name, binary);
    const Arrays rows = binary ? from_records(set_, bytes, name) : from_pickle(set_, bytes, name);
    const int64_t expected = parts_[place].rows, found = rows.y.shape()[0];
    if (found != expected)
      throw FileFormatError(name + ": expected " + std::to_string(expected) + " images, found " +
                            std::to_string(found));
    const bool test = place == set_.train.size();
    int64_t first = 0;
    for (size_t i = 0; !test && i < place; ++i) first += parts_[i].rows;
    const Arrays& target = test ? out_.test : out_.train;
    std::memcpy(target.x.raw_as<uint8_t>() + first * kImage, rows.x.raw(), rows.x.bytes());
    std::memcpy(target.y.raw_as<int64_t>() + first, rows.y.raw(), rows.y.bytes());
    seen_[place] = true;
  }

  TrainTest finish(bool binary) {
    for (size_t i = 0; i < seen_.size(); ++i)
      if (!seen_[i])
        throw FileFormatError(source_ + ": expected a file " + parts_[i].name +
                              (binary ? kBinaryEnding : "") + " in it, found none");
    return std::move(out_);
  }

 private:
  const CifarSet& set_;
  std::string source_;
  std::vector<CifarPart> parts_;
  std::vector<bool> seen_;
  TrainTest out_;
};

TrainTest read_folder(const CifarSet& set, const fs::path& folder, bool binary) {
  Collector collector(set, folder.string());
  for (size_t i = 0; i < collector.parts().size(); ++i) {
    fs::path path = folder / (collector.parts()[i].name + (binary ? kBinaryEnding : ""));
    if (!fs::exists(path)) path += ".gz";
    if (fs::exists(path)) collector.add(i, read_whole(path), path.string(), binary);
  }
  return collector.finish(binary);
}

TrainTest read_archive(const CifarSet& set, const fs::path& path) {
  ByteReader source(path, kLargestFile);
  TarReader tar(source);
  Collector collector(set, path.string());
  TarEntry entry;
  std::vector<uint8_t> bytes;
  bool binary = false;
  while (tar.next(entry)) {
    const fs::path file = fs::path(entry.name).filename();
    const std::optional<size_t> place = collector.place_of(file.string());
    if (!place) continue;
    binary = file.extension() == kBinaryEnding;
    const std::string name = path.string() + ": " + entry.name;
    collector.check_size(*place, entry.size, name, binary);  // before the allocation
    bytes.resize(entry.size);
    tar.read(bytes);
    collector.add(*place, bytes, name, binary);
  }
  return collector.finish(binary);
}

/// The set in any of its forms directly in `folder`; nothing when it has none.
std::optional<TrainTest> find_in(const CifarSet& set, const fs::path& folder) {
  if (fs::is_directory(folder / set.binary_folder)) return read_folder(set, folder / set.binary_folder, true);
  // Keras 3 unpacks into a folder "-target" and keeps its download as "-target_archive".
  const std::string target = set.python_folder + "-target";
  for (const fs::path& python :
       {fs::path(target) / set.python_folder, fs::path(set.python_folder) / set.python_folder,
        fs::path(set.python_folder)})
    if (fs::is_directory(folder / python)) return read_folder(set, folder / python, false);
  for (const std::string& archive :
       {set.binary_archive, set.python_archive, set.python_folder + ".tar.gz", target + "_archive"})
    if (fs::is_regular_file(folder / archive)) return read_archive(set, folder / archive);
  return std::nullopt;
}

}  // namespace

TrainTest load_cifar(const CifarSet& set) {
  for (const fs::path& root : data_folders())
    for (const fs::path& folder : {root, root / set.folder})
      if (std::optional<TrainTest> found = find_in(set, folder)) return std::move(*found);
  return read_archive(set,
                      find_or_fetch({set.folder, set.python_archive, set.python_url, set.python_sha256}));
}

Arrays read_cifar_batch(const CifarSet& set, Bytes bytes, const std::string& name) {
  // Pickles begin with a protocol's number, a mark or an empty dict; a record with a label below those.
  const bool pickle = !bytes.empty() && (bytes[0] == 0x80 || bytes[0] == '(' || bytes[0] == '}');
  if (pickle) return from_pickle(set, bytes, name);
  return from_records(set, bytes, name);
}

Arrays read_cifar_batch(const CifarSet& set, const fs::path& path) {
  return read_cifar_batch(set, read_whole(path), path.string());
}

}  // namespace nyala::datasets
