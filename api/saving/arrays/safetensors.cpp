// The format of Hugging Face's safetensors: eight bytes of length, JSON with dtype, shape and place of each
// tensor, then their bytes. As there every byte must be one tensor's, so that a file has one meaning, and
// dtypes are written widest first, which keeps each aligned.
#include <nyala/api/saving/arrays/safetensors.h>

#include <algorithm>
#include <cstdint>
#include <optional>

#include <nyala/api/saving/arrays/stored_array.h>
#include <nyala/api/saving/arrays/stored_element.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/base/atomic_file.h>
#include <nyala/files/base/file_bytes.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/files/json/json_text.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr size_t kLengthBytes = 8, kMaxHeader = 100'000'000, kAlignment = 8;
constexpr const char* kMetadata = "__metadata__";

struct ElementName {
  const char* name;  // in the header
  const char* code;  // of find_stored_element
};
constexpr ElementName kElements[] = {
    {"F32", "f4"}, {"F64", "f8"}, {"F16", "f2"}, {"BF16", "bf2"}, {"I8", "i1"},  {"I16", "i2"}, {"I32", "i4"},
    {"I64", "i8"}, {"U8", "u1"},  {"U16", "u2"}, {"U32", "u4"},   {"U64", "u8"}, {"BOOL", "b1"}};

uint64_t header_length(std::span<const std::byte> bytes) {
  uint64_t length = 0;
  for (size_t i = kLengthBytes; i-- > 0;) length = length << 8 | std::to_integer<uint64_t>(bytes[i]);
  return length;
}

const char* name_of_element(DType dtype) {
  for (const ElementName& element : kElements)
    if (const StoredElement* stored = find_stored_element(element.code);
        stored->dtype == dtype && stored->bytes == size_of(dtype))
      return element.name;
  throw DTypeError("safetensors has no " + std::string(name_of(dtype)));
}

/// Where a tensor's bytes lie behind the header.
struct Entry {
  std::string name;
  const StoredElement* element;
  Shape shape;
  uint64_t begin, end;
};

class Parser {
 public:
  Parser(const StoredBytes& bytes, const std::string& path) : bytes_(bytes), path_(path) {}

  std::vector<Entry> entries() {
    if (!looks_like_safetensors(bytes_)) fail("not a .safetensors file");
    const uint64_t length = header_length(bytes_.bytes(0, kLengthBytes));
    data_ = bytes_.part(kLengthBytes + length, bytes_.size() - kLengthBytes - length);
    const auto text = bytes_.bytes(kLengthBytes, length);
    const Json header = parse({reinterpret_cast<const char*>(text.data()), text.size()});
    std::vector<Entry> entries;
    for (const auto& [name, value] : header.items())
      if (name != kMetadata) entries.push_back(entry(name, value));
    check_places(entries);
    return entries;
  }
  StoredBytes bytes_of(const Entry& entry) const { return data_.part(entry.begin, entry.end - entry.begin); }

 private:
  [[noreturn]] void fail(const std::string& reason) const {
    throw FileFormatError(path_ + ": not a sound .safetensors file: " + reason);
  }
  [[noreturn]] void fail(const std::string& name, const std::string& reason) const {
    throw FileFormatError(path_ + ": tensor " + in_quotes(name) + ": " + reason);
  }

  Json parse(std::string_view text) const {
    const Json header =
        parse_json(text, path_ + ": header of a .safetensors file",
                   {.values = kFreeJsonValues + text.size() / 4, .depth = 3, .unique_keys = true});
    if (!header.is_object()) fail("the header is no object");
    return header;
  }

  Entry entry(const std::string& name, const Json& value) const {
    if (!value.is_object() || !value.contains("dtype") || !value["dtype"].is_string() ||
        !value.contains("shape") || !value.contains("data_offsets"))
      fail(name, "expected dtype, shape and data_offsets");
    const std::string type = value["dtype"].as_string();
    const StoredElement* element = nullptr;
    for (const ElementName& known : kElements)
      if (type == known.name) element = find_stored_element(known.code);
    if (!element) fail(name, "elements of dtype " + in_quotes(type) + " are not read");
    const std::vector<uint64_t> sizes = numbers(name, "shape", value["shape"]);
    const std::vector<uint64_t> place = numbers(name, "data_offsets", value["data_offsets"]);
    if (place.size() != 2 || place[0] > place[1] || place[1] > data_.size())
      fail(name,
           "its data_offsets lead out of the file's " + std::to_string(data_.size()) + " bytes of data");
    return {name, element, shape_of(name, sizes, {place[1] - place[0], element->bytes}), place[0], place[1]};
  }

  std::vector<uint64_t> numbers(const std::string& name, const char* key, const Json& list) const {
    std::vector<uint64_t> values;
    const bool is_list = list.is_array();
    for (const Json& item : is_list ? list : Json::array()) {
      if (!item.is_number_unsigned()) fail(name, std::string(key) + " holds something else than sizes");
      values.push_back(item.get<uint64_t>());
    }
    if (!is_list) fail(name, std::string(key) + " is no list");
    return values;
  }

  struct Room {
    uint64_t bytes, element;
  };
  Shape shape_of(const std::string& name, const std::vector<uint64_t>& sizes, const Room& room) const {
    if (sizes.size() > static_cast<size_t>(Shape::kMaxRank))
      fail(name, "it has more axes than " + std::to_string(Shape::kMaxRank));
    Shape shape;
    uint64_t bytes = room.element;
    for (const uint64_t size : sizes) {
      if (size > INT64_MAX || __builtin_mul_overflow(bytes, size, &bytes))
        fail(name, "its shape is too large");
      shape.append(static_cast<int64_t>(size));
    }
    if (bytes != room.bytes)
      fail(name, "its shape " + shape.to_string() + " takes " + std::to_string(bytes) +
                     " bytes, the file has " + std::to_string(room.bytes));
    return shape;
  }

  /// Every byte of the data must be one tensor's.
  void check_places(const std::vector<Entry>& entries) const {
    std::vector<const Entry*> in_order;
    for (const Entry& entry : entries) in_order.push_back(&entry);
    std::sort(in_order.begin(), in_order.end(), [](const Entry* a, const Entry* b) {
      return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
    });
    uint64_t position = 0;
    for (const Entry* entry : in_order) {
      if (entry->begin != position)
        fail(entry->name, entry->begin < position ? "its bytes are also those of another tensor"
                                                  : "there are bytes before it that are no tensor's");
      position = entry->end;
    }
    if (position != data_.size()) fail("there are bytes behind the last tensor");
  }

  StoredBytes bytes_, data_;
  const std::string& path_;
};

/// Wider dtypes first; `offsets` of the header follow.
NamedArrays in_file_order(const NamedArrays& values) {
  NamedArrays ordered = values;
  std::stable_sort(ordered.begin(), ordered.end(), [](const auto& a, const auto& b) {
    return size_of(a.second.dtype()) > size_of(b.second.dtype());
  });
  return ordered;
}

std::string header_of(const NamedArrays& values) {
  Json header = Json::object();
  uint64_t position = 0;
  for (const auto& [name, value] : values) {
    if (name == kMetadata || header.contains(name))
      throw InvalidArgumentError("save_safetensors: the name " + in_quotes(name) + " is taken");
    const uint64_t begin = position;
    position += value.bytes();
    header[name] = {{"dtype", name_of_element(value.dtype())},
                    {"shape", shape_to_json(value.shape())},
                    {"data_offsets", {begin, position}}};
  }
  std::string text = json_text(header, "save_safetensors");
  text.resize((text.size() + kAlignment - 1) / kAlignment * kAlignment, ' ');
  return text;
}

}  // namespace

bool detail::looks_like_safetensors(const StoredBytes& bytes) {
  if (bytes.size() < kLengthBytes + 2) return false;
  const auto begin = bytes.bytes(0, kLengthBytes + 1);
  const uint64_t length = header_length(begin);
  return begin[kLengthBytes] == std::byte{'{'} && length >= 2 && length <= kMaxHeader &&
         length <= bytes.size() - kLengthBytes;
}

NamedArrays load_safetensors(const std::string& path) {
  return naming_file(path, [&] { return read_all(stored_safetensors(FileBytes::open(path))); });
}

StoredArrays stored_safetensors(const std::shared_ptr<const FileBytes>& file) {
  Parser parser(StoredBytes(file), file->path());
  StoredArrays arrays;
  for (const Entry& entry : parser.entries()) {
    const StoredBytes bytes = parser.bytes_of(entry);
    StoredArray array{entry.name, entry.shape, entry.element->dtype,
                      [element = entry.element, shape = entry.shape, bytes] {
                        return read_elements(*element, bytes, shape);
                      }};
    if (!entry.element->widen) array.copy = [bytes](std::span<std::byte> out) { bytes.read(0, out); };
    arrays.push_back(std::move(array));
  }
  return arrays;
}

void save_safetensors(const std::string& path, const NamedArrays& values) {
  const NamedArrays ordered = in_file_order(values);
  const std::string header = header_of(ordered);
  std::byte length[kLengthBytes];
  for (size_t i = 0; i < kLengthBytes; ++i)
    length[i] = static_cast<std::byte>(header.size() >> (8 * i) & 0xff);
  AtomicFile file(path);
  file.write(length);
  file.write(std::as_bytes(std::span(header)));
  for (const auto& [name, value] : ordered) {
    const Tensor host = is_on_host(value.device()) ? value : value.to(Device(DeviceKind::cpu, 0));
    file.write({static_cast<const std::byte*>(host.raw()), host.bytes()});
  }
  file.commit();
}

}  // namespace nyala
