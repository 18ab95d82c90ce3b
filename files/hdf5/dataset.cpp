// Reads a data set from its object header's messages. Large sizes are checked against the stored bytes (times
// the most that deflate can save) before memory is taken for them, so a damaged header cannot ask for any
// amount. Plain values are read straight to their place. Where they are converted or summed up (CRC-32C) this
// is done in pieces of 256 KiB, while these are in the cache.
#include <algorithm>
#include <cstring>

#include <nyala/backend/core/error.h>
#include <nyala/files/base/crc32c.h>
#include <nyala/files/hdf5/base/limits.h>
#include <nyala/files/hdf5/chunks/chunk_reader.h>
#include <nyala/files/hdf5/dataset.h>
#include <nyala/files/hdf5/metadata/elements.h>
#include <nyala/files/hdf5/metadata/fill_value.h>

namespace nyala::hdf5 {
namespace {

constexpr size_t kPiece = size_t{128} << 10;  // that are read at a time where more is done with them

}  // namespace

struct Dataset::State {
  State(ImagePtr file, std::string object_path, ObjectHeader object);

  uint64_t element_count() const { return space.count; }
  uint64_t stored_size() const { return space.count * type.size; }
  bool is_plain() const { return is_native(type) && is_contiguous(); }
  bool is_contiguous() const { return !layout.is_chunked && layout.address != kUndefined && layout.size > 0; }
  void check_place() const;
  uint64_t stored_bytes() const;
  void read_stored(std::span<std::byte> out, uint64_t element_size,
                   const ChunkReader::Convert& convert) const;
  void convert_contiguous(std::span<std::byte> out, uint64_t element_size,
                          const ChunkReader::Convert& convert) const;
  void read_plain(std::span<std::byte> out) const;
  std::optional<uint32_t> expected_checksum() const;
  void compare(const std::optional<uint32_t>& expected, uint32_t found) const;

  ImagePtr image;
  std::string path;
  ObjectHeader header;
  Dataspace space;
  Datatype type;
  Layout layout;
  FilterPipeline filters;
  std::vector<std::byte> fill;
  Shape shape;

 private:
  void recognize_bfloat16();
  void check_sizes() const;
};

namespace {

/// Writes `element` over and over.
void fill_with(std::span<const std::byte> element, std::span<std::byte> out) {
  for (size_t at = 0; at + element.size() <= out.size(); at += element.size())
    std::memcpy(out.data() + at, element.data(), element.size());
}

FilterPipeline read_filters(const ObjectHeader& header) {
  return header.has(MessageType::filters) ? FilterPipeline(header.body(MessageType::filters, "filters"))
                                          : FilterPipeline();
}

}  // namespace

Dataset::State::State(ImagePtr file, std::string object_path, ObjectHeader object)
    : image(std::move(file)),
      path(std::move(object_path)),
      header(std::move(object)),
      space(read_dataspace(header.body(MessageType::dataspace, "dataspace"))),
      type(read_datatype(header.body(MessageType::datatype, "datatype"))),
      layout(read_layout(header, type.size, space.is_null ? 0 : space.sizes.size())),
      filters(read_filters(header)),
      fill(read_fill_value(header, type.size)),
      shape(std::vector<int64_t>(space.sizes.begin(), space.sizes.end())) {
  if (type.kind == Datatype::Kind::opaque && type.size == 2) recognize_bfloat16();
  check_sizes();
}

void Dataset::State::recognize_bfloat16() {
  const Attributes attributes(image, path, header);
  if (!attributes.has("dtype")) return;
  const Attribute dtype = attributes.get("dtype");
  if (dtype.is_string() && dtype.string() == "bfloat16") type.kind = Datatype::Kind::bfloat16;
}

void Dataset::State::check_sizes() const {
  // Values in memory are at most 8 bytes each, or strings of 32: that must be countable, too.
  constexpr uint64_t kLargestInMemory = 32;
  checked_multiply(space.count, kLargestInMemory, "size of the dataset");
  const uint64_t declared = checked_multiply(space.count, type.size, "size of the dataset");
  uint64_t stored = 0;
  if (!layout.is_chunked) {
    stored = layout.address == kUndefined ? 0 : layout.size;
    if (layout.address != kUndefined && stored != declared)
      throw Fault{layout.address, "the dataset declares " + std::to_string(declared) + " bytes but stores " +
                                      std::to_string(stored)};
    check_place();
  } else if (declared > kMaxFreeBytes) {
    stored = ChunkReader(*image, space, layout, filters).stored_bytes();
  }
  const uint64_t ratio = declared > kBigBytes ? kMaxBigRatio : kMaxDeflateRatio;
  if (declared > kMaxFreeBytes && declared / ratio > stored)
    throw Fault{header.address(), "the dataset declares " + std::to_string(declared) +
                                      " bytes but stores only " + std::to_string(stored) + ": refused"};
}

uint64_t Dataset::State::stored_bytes() const {
  if (layout.is_chunked) return ChunkReader(*image, space, layout, filters).stored_bytes();
  return layout.address == kUndefined ? 0 : layout.size;
}

void Dataset::State::check_place() const {
  if (is_contiguous()) (void)Cursor(*image, layout.address, layout.size, "data of the dataset");
}

std::optional<uint32_t> Dataset::State::expected_checksum() const {
  if (!image->verifies_checksums) return std::nullopt;
  const Attributes attributes(image, path, header);
  if (!attributes.has(kChecksum)) return std::nullopt;
  const std::vector<int64_t> value = attributes.get(kChecksum).integers();
  if (value.size() != 1)
    throw Fault{header.address(), std::string("its attribute ") + kChecksum + " is no number"};
  return static_cast<uint32_t>(value[0]);
}

void Dataset::State::compare(const std::optional<uint32_t>& expected, uint32_t found) const {
  if (expected && *expected != found)
    throw Fault{
        layout.address,
        std::string(
            "its values are not those of its checksum: the file is damaged, or another program has "
            "changed them. To take them as they are: load_weights(path, {.verify_checksums = false}), "
            "or delete the dataset's attribute '") +
            kChecksum + "'"};
}

void Dataset::State::read_stored(std::span<std::byte> out, uint64_t element_size,
                                 const ChunkReader::Convert& convert) const {
  if (out.empty()) return;
  if (is_contiguous()) {
    if (convert) return convert_contiguous(out, element_size, convert);
    return image->bytes.read(layout.address, out);
  }
  std::vector<std::byte> element(element_size);
  convert ? convert(fill, element) : void(std::memcpy(element.data(), fill.data(), fill.size()));
  fill_with(element, out);
  if (layout.is_chunked) ChunkReader(*image, space, layout, filters).read(out, element_size, convert);
}

/// Sums up each piece while it is in the cache.
void Dataset::State::read_plain(std::span<std::byte> out) const {
  const std::optional<uint32_t> expected = expected_checksum();
  if (!expected) return image->bytes.read(layout.address, out);
  uint32_t sum = 0;
  for (size_t begin = 0; begin < out.size(); begin += kPiece) {
    const auto piece = out.subspan(begin, std::min(kPiece, out.size() - begin));
    image->bytes.read(layout.address + begin, piece);
    sum = crc32c(sum, piece);
  }
  compare(expected, sum);
}

void Dataset::State::convert_contiguous(std::span<std::byte> out, uint64_t element_size,
                                        const ChunkReader::Convert& convert) const {
  const uint64_t count = element_count(), step = std::max<uint64_t>(kPiece / type.size, 1);
  std::vector<std::byte> buffer;
  for (uint64_t i = 0; i < count; i += step) {
    const uint64_t elements = std::min(step, count - i);
    convert(image->bytes.bytes(layout.address + i * type.size, elements * type.size, buffer),
            out.subspan(i * element_size, elements * element_size));
  }
}

Dataset::Dataset(ImagePtr image, std::string path, ObjectHeader header) {
  // Copies go in: an exception still needs the image and the path.
  state_ =
      at_object(*image, path, [&] { return std::make_shared<const State>(image, path, std::move(header)); });
}

const std::string& Dataset::path() const { return state_->path; }
const Shape& Dataset::shape() const { return state_->shape; }
bool Dataset::is_string() const { return state_->type.is_string(); }
std::shared_ptr<const void> Dataset::owner() const { return state_; }
bool Dataset::waits_in_file() const { return state_->is_plain() && !state_->image->bytes.in_memory(); }

DType Dataset::dtype() const {
  return at_object(*state_->image, state_->path, [&] { return memory_dtype(state_->type); });
}

Attributes Dataset::attributes() const {
  return at_object(*state_->image, state_->path,
                   [&] { return Attributes(state_->image, state_->path, state_->header); });
}

size_t Dataset::byte_size() const { return state_->element_count() * size_of(dtype()); }

uint64_t Dataset::backed_bytes() const {
  const State& s = *state_;
  const uint64_t stored = at_object(*s.image, s.path, [&] { return s.stored_bytes(); });
  const bool is_backed = s.stored_size() / kMaxDeflateRatio <= stored && stored > 0;
  return is_backed ? s.element_count() * std::clamp<uint64_t>(s.type.size, 4, 8) : 0;
}

void Dataset::check_dtype(DType wanted) const {
  if (dtype() != wanted)
    throw DTypeError(state_->image->name + ": HDF5 dataset " + detail::in_quotes(state_->path) + " holds " +
                     std::string(name_of(dtype())) + ", asked for " + std::string(name_of(wanted)));
}

void Dataset::read(std::span<std::byte> out) const {
  const State& s = *state_;
  if (out.size() != byte_size())
    throw InvalidArgumentError(s.image->name + ": HDF5 dataset " + detail::in_quotes(s.path) + " needs " +
                               std::to_string(byte_size()) + " bytes, got room for " +
                               std::to_string(out.size()));
  if (s.is_plain()) return at_object(*s.image, s.path, [&] { s.read_plain(out); });
  ChunkReader::Convert convert;
  if (!is_native(s.type))
    convert = [&s](std::span<const std::byte> from, std::span<std::byte> to) {
      convert_elements(s.type, from, to);
    };
  at_object(*s.image, s.path, [&] {
    s.read_stored(out, size_of(memory_dtype(s.type)), convert);
    if (const auto expected = s.expected_checksum()) s.compare(expected, crc32c(0, out));
  });
}

std::optional<std::span<const std::byte>> Dataset::view() const {
  const State& s = *state_;
  if (!s.is_plain() || !s.image->bytes.in_memory()) return std::nullopt;
  return at_object(*s.image, s.path, [&] {
    const auto bytes = s.image->bytes.bytes(s.layout.address, s.layout.size);
    if (const auto expected = s.expected_checksum()) s.compare(expected, crc32c(0, bytes));
    return bytes;
  });
}

std::vector<std::string> Dataset::strings() const {
  const State& s = *state_;
  return at_object(*s.image, s.path, [&] {
    if (!s.type.is_string()) throw Fault{kNoOffset, "the elements are no strings but " + s.type.to_string()};
    // Elements of chunks exist only in memory: the cursor runs over a copy, the heap stays in the file.
    std::vector<std::byte> elements(s.stored_size());
    s.read_stored(elements, s.type.size, nullptr);
    Image copy = *s.image;
    copy.bytes = StoredBytes(elements);
    return read_strings(*s.image, s.type, Cursor(copy, 0, elements.size(), "strings"), s.element_count());
  });
}

}  // namespace nyala::hdf5
