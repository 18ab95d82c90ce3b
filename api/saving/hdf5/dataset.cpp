#include <algorithm>
#include <cstring>

#include <nyala/api/saving/hdf5/chunk_reader.h>
#include <nyala/api/saving/hdf5/dataset.h>
#include <nyala/api/saving/hdf5/elements.h>
#include <nyala/api/saving/hdf5/fill_value.h>
#include <nyala/api/saving/hdf5/limits.h>
#include <nyala/backend/core/error.h>

namespace nyala::hdf5 {

struct Dataset::State {
  State(ImagePtr file, std::string object_path, ObjectHeader object);

  uint64_t element_count() const { return space.count; }
  uint64_t stored_size() const { return space.count * type.size; }
  std::span<const std::byte> stored_range() const;
  uint64_t stored_bytes() const;
  void read_stored(std::span<std::byte> out, uint64_t element_size,
                   const ChunkReader::Convert& convert) const;

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
    stored_range();
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

std::span<const std::byte> Dataset::State::stored_range() const {
  if (layout.address == kUndefined || layout.size == 0) return {};
  return Cursor(*image, layout.address, layout.size, "data of the dataset").bytes(layout.size);
}

void Dataset::State::read_stored(std::span<std::byte> out, uint64_t element_size,
                                 const ChunkReader::Convert& convert) const {
  if (image->file) image->file->check_present();
  if (out.empty()) return;
  const auto convert_or_copy = [&](std::span<const std::byte> from, std::span<std::byte> to) {
    convert ? convert(from, to) : void(std::memcpy(to.data(), from.data(), from.size()));
  };
  const auto stored = layout.is_chunked ? std::span<const std::byte>{} : stored_range();
  if (!stored.empty() && !convert && image->file) return image->file->read(stored, out);
  if (!stored.empty()) return convert_or_copy(stored, out);
  std::vector<std::byte> element(element_size);
  convert_or_copy(fill, element);
  fill_with(element, out);
  if (layout.is_chunked) ChunkReader(*image, space, layout, filters).read(out, element_size, convert);
}

Dataset::Dataset(ImagePtr image, std::string path, ObjectHeader header) {
  // Copies go in: an exception still needs the image and the path.
  state_ =
      at_object(*image, path, [&] { return std::make_shared<const State>(image, path, std::move(header)); });
}

const std::string& Dataset::path() const { return state_->path; }
const Shape& Dataset::shape() const { return state_->shape; }
bool Dataset::is_string() const { return state_->type.is_string(); }
std::shared_ptr<const void> Dataset::owner() const { return state_->image; }

bool Dataset::is_mapped() const { return state_->image->file && state_->image->file->is_mapped(); }

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
    throw DTypeError(state_->image->name + ": HDF5 dataset '" + printable(state_->path) + "' holds " +
                     std::string(name_of(dtype())) + ", asked for " + std::string(name_of(wanted)));
}

void Dataset::read(std::span<std::byte> out) const {
  const State& s = *state_;
  if (out.size() != byte_size())
    throw InvalidArgumentError(s.image->name + ": HDF5 dataset '" + printable(s.path) + "' needs " +
                               std::to_string(byte_size()) + " bytes, got room for " +
                               std::to_string(out.size()));
  ChunkReader::Convert convert;
  if (!is_native(s.type))
    convert = [&s](std::span<const std::byte> from, std::span<std::byte> to) {
      convert_elements(s.type, from, to);
    };
  at_object(*s.image, s.path, [&] { s.read_stored(out, size_of(memory_dtype(s.type)), convert); });
}

std::optional<std::span<const std::byte>> Dataset::view() const {
  const State& s = *state_;
  if (s.layout.is_chunked || !is_native(s.type) || s.layout.address == kUndefined) return std::nullopt;
  if (s.image->file) s.image->file->check_present();
  return at_object(*s.image, s.path, [&] { return s.stored_range(); });
}

void Dataset::forget() const noexcept {
  const State& s = *state_;
  if (!s.image->file || s.layout.is_chunked || s.layout.address == kUndefined) return;
  s.image->file->forget(s.image->bytes.subspan(s.layout.address, s.layout.size));
}

std::vector<std::string> Dataset::strings() const {
  const State& s = *state_;
  return at_object(*s.image, s.path, [&] {
    if (!s.type.is_string()) throw Fault{kNoOffset, "the elements are no strings but " + s.type.to_string()};
    // Elements of chunks exist only in memory: the cursor runs over a copy, the heap stays in the file.
    std::vector<std::byte> elements(s.stored_size());
    s.read_stored(elements, s.type.size, nullptr);
    Image copy = *s.image;
    copy.bytes = elements;
    return read_strings(*s.image, s.type, Cursor(copy, 0, elements.size(), "strings"), s.element_count());
  });
}

}  // namespace nyala::hdf5
