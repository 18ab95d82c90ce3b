#include <nyala/api/saving/numpy.h>

#include <cstring>

#include <nyala/api/saving/atomic_file.h>
#include <nyala/api/saving/file_bytes.h>
#include <nyala/api/saving/stored_element.h>
#include <nyala/api/saving/zip/archive.h>
#include <nyala/api/saving/zip/archive_writer.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/transpose.h>

namespace nyala {

namespace {

constexpr char kMagic[] = "\x93NUMPY";
constexpr size_t kMagicSize = 6;

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

const StoredElement& element_of(const std::string& description, const Header& header) {
  const bool native = description.size() == 3 && (description[0] == '<' || description[0] == '|');
  const StoredElement* found = native ? find_stored_element(description.substr(1)) : nullptr;
  if (!found)
    header.fail("elements of type '" + description + "' are not read; save as float32, float64 or integers");
  return *found;
}

/// Sizes were written in columns: the first axis runs fastest.
Tensor from_fortran(const Tensor& columns) { return ops::transpose(columns); }

Tensor parse(std::span<const std::byte> bytes, const std::string& where) {
  const auto at = [&](size_t i) { return std::to_integer<size_t>(bytes[i]); };
  if (bytes.size() < 12 || std::memcmp(bytes.data(), kMagic, kMagicSize) != 0)
    throw FileFormatError(where + ": expected a .npy array, found something else");
  const size_t version = at(6), length_bytes = version == 1 ? 2 : 4;
  if (version < 1 || version > 3)
    throw FileFormatError(where + ": version " + std::to_string(version) + " of .npy is not known");
  size_t length = 0;
  for (size_t i = length_bytes; i-- > 0;) length = length << 8 | at(8 + i);
  const size_t begin = 8 + length_bytes;
  if (length > bytes.size() - begin) throw FileFormatError(where + ": the header reaches beyond the file");
  Header header({reinterpret_cast<const char*>(bytes.data()) + begin, length}, where);
  const StoredElement& element = element_of(header.text("descr"), header);
  const bool fortran = header.flag("fortran_order");
  Shape shape = header.shape("shape");
  int64_t wanted = static_cast<int64_t>(element.bytes);
  for (const int64_t size : shape)
    if (__builtin_mul_overflow(wanted, size, &wanted)) header.fail("the array is too large");
  const auto values = bytes.subspan(begin + length);
  if (static_cast<int64_t>(values.size()) != wanted)
    throw FileFormatError(where + ": an array of " + shape.to_string() + " takes " + std::to_string(wanted) +
                          " bytes, the file has " + std::to_string(values.size()));
  if (fortran) {
    Shape reversed;
    for (size_t i = shape.rank(); i-- > 0;) reversed.append(shape[i]);
    shape = reversed;
  }
  const Tensor out = copy_elements(element, values, shape);
  return fortran ? from_fortran(out) : out;
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
  const auto file = FileBytes::open(path);
  return parse(file->bytes(), path);
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
  return load_npz(FileBytes::open(path), names);
}

NamedArrays load_npz(const std::shared_ptr<const FileBytes>& file, const std::vector<std::string>& names) {
  const std::string& path = file->path();
  const zip::Archive archive(file);
  NamedArrays values;
  const auto read = [&](const std::string& name) {
    values.emplace_back(name.substr(0, name.size() - 4),
                        parse(archive.read(name).bytes, path + ": member '" + name + "'"));
  };
  for (const std::string& name : names) read(name + ".npy");
  if (!names.empty()) return values;
  for (const zip::Member& member : archive.members()) {
    if (!member.name.ends_with(".npy"))
      throw FileFormatError(path + ": member '" + member.name + "' is no .npy array");
    read(member.name);
  }
  return values;
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
