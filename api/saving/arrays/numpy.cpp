// NumPy's format (numpy/lib/format.py): a magic, a version, a Python dict as text, then the numbers. Of the
// dict three keys are looked for, nothing is evaluated; the size that they say must be the file's to the
// byte. Written as version 1, padded so that the numbers begin at a multiple of 64.
#include <nyala/api/saving/arrays/numpy.h>

#include <bit>
#include <cstring>
#include <string_view>

#include <nyala/api/saving/arrays/stored_array.h>
#include <nyala/api/saving/arrays/stored_element.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/zip/archive.h>
#include <nyala/files/zip/archive_writer.h>

namespace nyala {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6, kFixedHeader = 12;

/// The literal of a Python dict that stands before the numbers.
class Header {
 public:
  Header(std::string text, const std::string& where) : text_(std::move(text)), where_(where) {}

  std::string text(const char* key) {
    const size_t begin = find(key);
    if (text_[begin] != '\'' && text_[begin] != '"') fail(std::string(key) + " is no text");
    const size_t end = text_.find(text_[begin], begin + 1);
    if (end == std::string::npos) fail(std::string(key) + " does not end");
    return text_.substr(begin + 1, end - begin - 1);
  }
  bool flag(const char* key) {
    const size_t begin = find(key);
    if (text_.compare(begin, 4, "True") == 0) return true;
    if (text_.compare(begin, 5, "False") == 0) return false;
    fail(std::string(key) + " is neither True nor False");
  }
  Shape shape(const char* key) {
    size_t at = find(key);
    if (text_[at] != '(') fail("the shape is no tuple");
    Shape shape;
    for (++at; at < text_.size() && text_[at] != ')';) {
      if (text_[at] == ' ' || text_[at] == ',') {
        ++at;
        continue;
      }
      int64_t size = 0;
      const size_t begin = at;
      for (; at < text_.size() && text_[at] >= '0' && text_[at] <= '9'; ++at)
        if (__builtin_mul_overflow(size, int64_t{10}, &size) ||
            __builtin_add_overflow(size, int64_t{text_[at] - '0'}, &size))
          fail("a size is too large");
      if (at == begin) fail("the shape is no list of numbers");
      if (shape.rank() == Shape::kMaxRank)
        fail("there are more axes than " + std::to_string(Shape::kMaxRank));
      shape.append(size);
    }
    if (at == text_.size()) fail("the shape does not end");
    return shape;
  }
  [[noreturn]] void fail(const std::string& reason) const {
    throw FileFormatError(where_ + ": not a sound .npy header: " + reason);
  }

 private:
  /// The place of a value; there is at least one character.
  size_t find(const char* key) {
    for (const char* quote : {"'", "\""}) {
      const std::string name = quote + std::string(key) + quote;
      size_t at = text_.find(name);
      if (at == std::string::npos) continue;
      at = text_.find(':', at + name.size());
      if (at != std::string::npos) at = text_.find_first_not_of(' ', at + 1);
      if (at != std::string::npos) return at;
    }
    fail(std::string("there is no ") + key);
  }

  std::string text_;
  const std::string& where_;
};

/// What a header says, and where the numbers begin.
struct Layout {
  const StoredElement* element;
  ByteOrder order;
  bool in_columns;
  Shape shape;
  uint64_t begin;
};

void read_description(const std::string& description, const Header& header, Layout& layout) {
  constexpr char kOther = std::endian::native == std::endian::little ? '>' : '<';
  const bool known =
      description.size() == 3 && std::string_view("<>|=").find(description[0]) != std::string::npos;
  layout.element = known ? find_stored_element(description.substr(1)) : nullptr;
  if (!layout.element)
    header.fail("elements of type " + detail::in_quotes(description) +
                " are not read; save as float32, float64 or integers");
  layout.order = description[0] == kOther ? ByteOrder::swapped : ByteOrder::native;
}

/// `bytes` begin as the array does, which takes `size` bytes; more of them than the header is not looked at.
Layout read_layout(const StoredBytes& bytes, uint64_t size, const std::string& where) {
  if (bytes.size() < kFixedHeader || std::memcmp(bytes.bytes(0, kMagicSize).data(), kMagic, kMagicSize) != 0)
    throw FileFormatError(where + ": expected a .npy array, found something else");
  const auto fixed = bytes.bytes(0, kFixedHeader);
  const auto at = [&](size_t i) { return std::to_integer<size_t>(fixed[i]); };
  const size_t version = at(6), length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3)
    throw FileFormatError(where + ": version " + std::to_string(version) + " of .npy is not known");
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | at(8 + i);
  const size_t text_begin = 8 + length_bytes;
  if (length > bytes.size() - text_begin)
    throw FileFormatError(where + ": the header reaches beyond the file");
  const auto text = bytes.bytes(text_begin, length);
  Header header({reinterpret_cast<const char*>(text.data()), text.size()}, where);
  Layout layout{nullptr, ByteOrder::native, false, {}, text_begin + length};
  read_description(header.text("descr"), header, layout);
  layout.in_columns = header.flag("fortran_order");
  layout.shape = header.shape("shape");
  int64_t wanted = static_cast<int64_t>(layout.element->bytes);
  for (const int64_t axis : layout.shape)
    if (__builtin_mul_overflow(wanted, axis, &wanted)) header.fail("the array is too large");
  if (size - layout.begin != static_cast<uint64_t>(wanted))
    throw FileFormatError(where + ": an array of " + layout.shape.to_string() + " takes " +
                          std::to_string(wanted) + " bytes, the file has " +
                          std::to_string(size - layout.begin));
  return layout;
}

/// Of all bytes of the array.
Tensor read_values(const Layout& layout, const StoredBytes& bytes) {
  const StoredBytes values = bytes.part(layout.begin, bytes.size() - layout.begin);
  if (!layout.in_columns) return read_elements(*layout.element, values, layout.shape, layout.order);
  Shape reversed;  // the first axis runs fastest
  for (size_t i = layout.shape.rank(); i-- > 0;) reversed.append(layout.shape[i]);
  return ops::transpose(read_elements(*layout.element, values, reversed, layout.order));
}

std::string description_of(DType dtype) {
  switch (dtype) {
    case DType::float32:
      return "<f4";
    case DType::float64:
      return "<f8";
    case DType::float16:
      return "<f2";
    case DType::int32:
      return "<i4";
    case DType::int64:
      return "<i8";
    case DType::uint8:
      return "|u1";
    case DType::bool_:
      return "|b1";
    default:
      throw DTypeError("NumPy has no " + std::string(name_of(dtype)) + "; cast to float32 first");
  }
}

std::string header_of(const Tensor& value) {
  std::string shape = "(";
  for (const int64_t size : value.shape()) shape += std::to_string(size) + ", ";
  if (value.rank() > 1) shape.resize(shape.size() - 2);
  if (value.rank() == 1) shape.resize(shape.size() - 1);
  std::string text =
      "{'descr': '" + description_of(value.dtype()) + "', 'fortran_order': False, 'shape': " + shape + "), }";
  const size_t total = (kMagicSize + 4 + text.size() + 1 + 63) / 64 * 64;
  text.append(total - kMagicSize - 4 - text.size() - 1, ' ');
  text += '\n';
  std::string out(kMagic, kMagicSize);
  out += std::string("\x01\x00", 2);
  out += static_cast<char>(text.size() & 0xff);
  out += static_cast<char>(text.size() >> 8);
  return out + text;
}

}  // namespace

Tensor load_npy(const std::string& path) {
  return naming_file(path, [&] {
    const StoredBytes bytes(FileBytes::open(path));
    return read_values(read_layout(bytes, bytes.size(), path), bytes);
  });
}

void save_npy(const std::string& path, const Tensor& value) {
  const Tensor host = value.to(Device("cpu:0"));
  const std::string header = header_of(host);
  AtomicFile file(path);
  file.write(std::as_bytes(std::span(header)));
  file.write({static_cast<const std::byte*>(host.raw()), host.bytes()});
  file.commit();
}

NamedArrays load_npz(const std::string& path, const std::vector<std::string>& names) {
  return naming_file(path, [&] { return read_all(stored_npz(FileBytes::open(path), names)); });
}

namespace {

StoredArray stored_member(const std::shared_ptr<const zip::Archive>& archive, const std::string& path,
                          bool in_memory, const zip::Member& member) {
  constexpr uint64_t kLongestHeader = 65536;  // of version 1, and all that one sees
  const std::string where = path + ": member " + detail::in_quotes(member.name);
  if (!member.name.ends_with(".npy")) throw FileFormatError(where + " is no .npy array");
  const uint64_t size = member.size;
  const Layout layout =
      read_layout(archive->beginning(member.name, kFixedHeader + kLongestHeader), size, where);
  StoredArray array{member.name.substr(0, member.name.size() - 4), layout.shape, layout.element->dtype,
                    [=, name = member.name] { return read_values(layout, archive->read(name).bytes); }};
  array.reads_ahead = in_memory;
  if (layout.element->widen || layout.in_columns || layout.order != ByteOrder::native) return array;
  array.copy = [=, name = member.name](std::span<std::byte> out) {
    archive->read_to(name, layout.begin, out);
  };
  if (!member.deflated)
    array.read = [copy = array.copy, shape = layout.shape, dtype = array.dtype] {
      const Tensor values = Tensor::empty(shape, dtype, Device("cpu:0"));
      copy({static_cast<std::byte*>(values.raw()), values.bytes()});
      return values;
    };
  return array;
}

}  // namespace

StoredArrays stored_npz(const std::shared_ptr<const FileBytes>& file, const std::vector<std::string>& names) {
  const auto archive = std::make_shared<const zip::Archive>(file);
  StoredArrays arrays;
  for (const std::string& name : names)
    arrays.push_back(stored_member(archive, file->path(), file->in_memory(), archive->member(name + ".npy")));
  if (!names.empty()) return arrays;
  for (const zip::Member& member : archive->members())
    arrays.push_back(stored_member(archive, file->path(), file->in_memory(), member));
  return arrays;
}

void save_npz(const std::string& path, const NamedArrays& values) {
  zip::ArchiveWriter archive(path);
  for (const auto& [name, value] : values) {
    const Tensor host = value.to(Device("cpu:0"));
    const std::string header = header_of(host);
    archive.add(name + ".npy", [&](const zip::ArchiveWriter::Sink& sink) {
      sink(std::as_bytes(std::span(header)));
      sink({static_cast<const std::byte*>(host.raw()), host.bytes()});
    });
  }
  archive.commit();
}

}  // namespace nyala
