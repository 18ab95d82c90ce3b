// What NumPy's pickles call: _reconstruct makes an empty array whose state follows, _frombuffer (protocol 5)
// a whole one, dtype and scalar the rest. Each is a case here, none is looked up. Column-major bytes are read
// with the axes reversed and transposed; the other byte order is turned element by element.
#include <algorithm>
#include <array>
#include <bit>
#include <cstring>
#include <limits>
#include <optional>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/transpose.h>
#include <nyala/datasets/io/pickle_document.h>

namespace nyala::datasets {

using namespace nyala::detail;

namespace {

enum class Function : uint8_t { reconstruct, from_buffer, ndarray, dtype, scalar, encode, bytes, byte_array };

/// All names that a pickle may contain. Python 2 and 3, NumPy 1 and 2 spell some of them differently.
constexpr std::array<std::pair<std::string_view, Function>, 14> kFunctions = {
    {{"numpy.core.multiarray._reconstruct", Function::reconstruct},
     {"numpy._core.multiarray._reconstruct", Function::reconstruct},
     {"numpy.core.numeric._frombuffer", Function::from_buffer},
     {"numpy._core.numeric._frombuffer", Function::from_buffer},
     {"numpy.ndarray", Function::ndarray},
     {"numpy.dtype", Function::dtype},
     {"numpy.core.multiarray.scalar", Function::scalar},
     {"numpy._core.multiarray.scalar", Function::scalar},
     {"_codecs.encode", Function::encode},
     {"__builtin__.bytes", Function::bytes},
     {"builtins.bytes", Function::bytes},
     {"__builtin__.bytearray", Function::byte_array},
     {"builtins.bytearray", Function::byte_array},
     {"__builtin__.str", Function::bytes}}};

std::optional<Function> function_of(std::string_view name) {
  for (const auto& [known, function] : kFunctions)
    if (known == name) return function;
  return std::nullopt;
}

bool is_order(char sign) { return sign == '<' || sign == '>' || sign == '|' || sign == '='; }

/// The element type of "<f4" and the like; the sign in front says the byte order.
std::optional<DType> element_type(std::string_view name) {
  static constexpr std::array<std::pair<std::string_view, DType>, 7> kTypes = {{{"b1", DType::bool_},
                                                                                {"u1", DType::uint8},
                                                                                {"i4", DType::int32},
                                                                                {"i8", DType::int64},
                                                                                {"f2", DType::float16},
                                                                                {"f4", DType::float32},
                                                                                {"f8", DType::float64}}};
  if (name.size() == 3 && is_order(name[0])) name.remove_prefix(1);
  for (const auto& [known, dtype] : kTypes)
    if (known == name) return dtype;
  return std::nullopt;
}

/// Copies `count` elements of `size` bytes, reversed where the file's byte order is not the machine's.
void copy_elements(std::string_view bytes, size_t size, char order, void* to) {
  auto* out = static_cast<char*>(to);
  std::memcpy(out, bytes.data(), bytes.size());
  const bool big = order == '>', machine_is_big = std::endian::native == std::endian::big;
  if (size == 1 || order == '=' || order == '|' || big == machine_is_big) return;
  for (size_t i = 0; i < bytes.size(); i += size) std::reverse(out + i, out + i + size);
}

/// Column-major bytes lie in `reversed`'s order of axes; the result has them the other way around.
Tensor from_columns(const Tensor& reversed) {
  std::vector<int> order;
  for (int axis = reversed.rank(); axis-- > 0;) order.push_back(axis);
  return ops::transpose(reversed, order);
}

Shape reversed(const Shape& shape) {
  Shape out;
  for (int axis = shape.rank(); axis-- > 0;) out.append(shape[axis]);
  return out;
}

/// Text whose characters are below 256 as one byte each; nothing for other text.
std::optional<std::string> latin1_of(std::string_view utf8) {
  std::string out;
  for (size_t i = 0; i < utf8.size(); ++i) {
    const auto lead = static_cast<unsigned char>(utf8[i]);
    if (lead < 0x80) {
      out.push_back(utf8[i]);
    } else if ((lead == 0xc2 || lead == 0xc3) && i + 1 < utf8.size()) {
      out.push_back(static_cast<char>((lead & 3) << 6 | (static_cast<unsigned char>(utf8[++i]) & 0x3f)));
    } else {
      return std::nullopt;
    }
  }
  return out;
}

/// Bytes of an array, or nothing where even its sizes other than 0 do not fit into 63 bits.
std::optional<uint64_t> checked_bytes(const Shape& shape, size_t element) {
  uint64_t bytes = element;
  bool empty = false;
  for (const int64_t size : shape) {
    empty = empty || size == 0;
    if (size == 0) continue;
    if (bytes > static_cast<uint64_t>(INT64_MAX / size)) return std::nullopt;
    bytes *= static_cast<uint64_t>(size);
  }
  return empty ? 0 : bytes;
}

}  // namespace

void PickleArrays::fail(const std::string& what) const {
  throw FileFormatError(document_.name + ": the pickle is damaged: " + what);
}

void PickleArrays::spend(uint64_t bytes) {
  if (bytes > left_) fail("its arrays are larger than itself");
  left_ -= bytes;
}

bool PickleArrays::knows(std::string_view name) { return function_of(name).has_value(); }

const PickleDocument::Object& PickleArrays::argument(const Object& tuple, size_t index, PickleKind kind,
                                                     std::string_view what) const {
  if (index >= tuple.items.size()) fail("expected " + std::string(what) + ", found nothing");
  const Object& object = document_.at(tuple.items[index]);
  const bool text_for_bytes = kind == PickleKind::bytes && object.kind == PickleKind::text;
  if (object.kind != kind && !text_for_bytes)
    fail("expected " + std::string(what) + " of kind " + std::string(name_of(kind)) + ", found " +
         std::string(name_of(object.kind)));
  return object;
}

PickleDocument::Object PickleArrays::call(const Object& function, const Object& arguments) {
  if (function.kind != PickleKind::function || arguments.kind != PickleKind::tuple)
    fail("expected a function and a tuple to call it with, found " + std::string(name_of(function.kind)) +
         " and " + std::string(name_of(arguments.kind)));
  switch (*function_of(function.text)) {
    case Function::reconstruct:
      return {.kind = PickleKind::array, .integer = -1};  // no elements yet: they come with its state
    case Function::from_buffer:
      return from_buffer(arguments);
    case Function::dtype:
      return dtype(arguments);
    case Function::scalar:
      return scalar(arguments);
    case Function::encode:
      return encoded(arguments);
    case Function::bytes:
      if (!arguments.items.empty()) fail("expected an empty bytes()");
      return {.kind = PickleKind::bytes};
    case Function::byte_array:
      return copied(arguments);
    default:
      fail("'" + function.text + "' cannot be called");
  }
}

PickleDocument::Object PickleArrays::dtype(const Object& arguments) const {
  const std::string& name = argument(arguments, 0, PickleKind::bytes, "the name of a dtype").text;
  if (!element_type(name))
    fail("expected a dtype of bool, uint8, int32, int64, float16, float32 or float64, found '" +
         name.substr(0, 20) + "'");
  return {.kind = PickleKind::dtype, .text = name};
}

/// How protocols 0 to 2 write Python 3's bytes: _codecs.encode(text, "latin1").
PickleDocument::Object PickleArrays::encoded(const Object& arguments) {
  const std::string& text = argument(arguments, 0, PickleKind::text, "text to encode").text;
  const std::string& encoding = argument(arguments, 1, PickleKind::bytes, "an encoding").text;
  std::optional<std::string> bytes = latin1_of(text);
  if (encoding != "latin1" || !bytes) fail("expected text in latin1, found encoding '" + encoding + "'");
  spend(bytes->size());
  return {.kind = PickleKind::bytes, .text = std::move(*bytes)};
}

/// bytearray() or bytearray(bytes): how protocols 0 to 4 write one.
PickleDocument::Object PickleArrays::copied(const Object& arguments) {
  if (arguments.items.empty()) return {.kind = PickleKind::bytes};
  if (arguments.items.size() != 1) fail("expected the bytes of a bytearray, found several arguments");
  const Object& bytes = document_.at(arguments.items[0]);
  if (bytes.kind != PickleKind::bytes)
    fail("expected the bytes of a bytearray, found " + std::string(name_of(bytes.kind)));
  spend(bytes.text.size());
  return {.kind = PickleKind::bytes, .text = bytes.text};
}

/// (bytes, dtype, shape, "C", "F" or "K", order of the axes in memory for "K"): arrays of protocol 5.
PickleDocument::Object PickleArrays::from_buffer(const Object& arguments) {
  const std::string& bytes = argument(arguments, 0, PickleKind::bytes, "the bytes of an array").text;
  const std::string& name = argument(arguments, 1, PickleKind::dtype, "the dtype of an array").text;
  const Shape shape = shape_of(argument(arguments, 2, PickleKind::tuple, "the shape of an array"));
  const std::string& order = argument(arguments, 3, PickleKind::bytes, "the order of an array's axes").text;
  if (order == "C") return stored(from_bytes(shape, name, bytes));
  if (order == "F") return stored(from_columns(from_bytes(reversed(shape), name, bytes)));
  if (order != "K")
    fail("expected an order C, F or K of an array's axes, found " + in_quotes(order.substr(0, 20)));
  const Object& axes = argument(arguments, 4, PickleKind::tuple, "the axes of an array in memory");
  return stored(ops::transpose(from_bytes(shape, name, bytes), order_of(axes, shape.rank())));
}

/// A permutation of the axes.
std::vector<int> PickleArrays::order_of(const Object& tuple, int rank) const {
  std::vector<int> order;
  for (size_t i = 0; i < tuple.items.size(); ++i) {
    const int64_t axis = argument(tuple, i, PickleKind::integer, "an axis").integer;
    if (axis < 0 || axis >= rank || std::ranges::find(order, axis) != order.end())
      fail("expected each axis of an array once, found " + std::to_string(axis));
    order.push_back(static_cast<int>(axis));
  }
  if (std::ssize(order) != rank)
    fail("expected " + std::to_string(rank) + " axes, found " + std::to_string(order.size()));
  return order;
}

PickleDocument::Object PickleArrays::stored(Tensor array) {
  document_.arrays.push_back(std::move(array));
  return {.kind = PickleKind::array, .integer = static_cast<int64_t>(document_.arrays.size()) - 1};
}

PickleDocument::Object PickleArrays::scalar(const Object& arguments) const {
  const std::string& name = argument(arguments, 0, PickleKind::dtype, "the dtype of a scalar").text;
  const std::string& bytes = argument(arguments, 1, PickleKind::bytes, "the bytes of a scalar").text;
  const DType dtype = *element_type(name);
  if (bytes.size() != size_of(dtype))
    fail("expected a scalar of dtype " + in_quotes(name) + ", found " + std::to_string(bytes.size()) +
         " bytes");
  Object out;
  dispatch_any(dtype, [&]<class T>(T value) {
    if constexpr (std::is_same_v<T, bool>) {
      out.kind = PickleKind::boolean;
      out.integer = bytes[0] != 0;
      return;
    }
    copy_elements(bytes, bytes.size(), name[0], &value);
    if constexpr (std::is_integral_v<T>) {
      out.kind = PickleKind::integer;
      out.integer = static_cast<int64_t>(value);
    } else {
      out.kind = PickleKind::real;
      out.real = static_cast<double>(static_cast<float>(value));
      if constexpr (std::is_same_v<T, double>) out.real = value;
    }
  });
  return out;
}

void PickleArrays::build(uint32_t index, const Object& state) {
  Object& object = document_.objects[index];
  if (state.kind != PickleKind::tuple)
    fail("expected a tuple as a state, found " + std::string(name_of(state.kind)));
  if (object.kind == PickleKind::dtype) return build_dtype(object, state);
  if (object.kind == PickleKind::array && object.integer < 0) return build_array(object, state);
  fail("expected a new array or dtype that is given a state, found " + std::string(name_of(object.kind)));
}

/// (version, byte order, None, None, None, ...); other than None: an array within an element, or fields.
void PickleArrays::build_dtype(Object& dtype, const Object& state) const {
  const std::string order = argument(state, 1, PickleKind::bytes, "the byte order of a dtype").text;
  for (size_t i = 2; i < 5; ++i) argument(state, i, PickleKind::none, "a dtype without parts");
  if (order.size() != 1 || !is_order(order[0])) fail("expected a byte order, found '" + order + "'");
  const bool has_order = dtype.text.size() == 3;
  dtype.text = order + (has_order ? dtype.text.substr(1) : dtype.text);
}

Shape PickleArrays::shape_of(const Object& tuple) const {
  std::vector<int64_t> sizes;
  if (tuple.items.size() > Shape::kMaxRank)
    fail("expected at most " + std::to_string(Shape::kMaxRank) + " axes, found " +
         std::to_string(tuple.items.size()));
  for (size_t i = 0; i < tuple.items.size(); ++i) {
    sizes.push_back(argument(tuple, i, PickleKind::integer, "the size of an axis").integer);
    if (sizes.back() < 0) fail("expected the size of an axis, found " + std::to_string(sizes.back()));
  }
  return Shape(sizes);
}

/// (version, shape, dtype, whether column-major, bytes); old pickles lack the version.
void PickleArrays::build_array(Object& array, const Object& state) {
  constexpr size_t kWithoutVersion = 4;
  if (state.items.size() != kWithoutVersion && state.items.size() != kWithoutVersion + 1)
    fail("expected the state of an array to have 5 parts, found " + std::to_string(state.items.size()));
  const size_t first = state.items.size() - kWithoutVersion;
  const Shape shape = shape_of(argument(state, first, PickleKind::tuple, "the shape of an array"));
  const std::string& name = argument(state, first + 1, PickleKind::dtype, "the dtype of an array").text;
  const Object& columns = document_.at(state.items[first + 2]);
  const std::string& bytes = argument(state, first + 3, PickleKind::bytes, "the bytes of an array").text;
  if (columns.kind != PickleKind::boolean && columns.kind != PickleKind::integer)
    fail("expected whether an array is column-major, found " + std::string(name_of(columns.kind)));
  array = stored(columns.integer != 0 ? from_columns(from_bytes(reversed(shape), name, bytes))
                                      : from_bytes(shape, name, bytes));
}

Tensor PickleArrays::from_bytes(const Shape& shape, const std::string& dtype_name, const std::string& bytes) {
  const DType dtype = *element_type(dtype_name);
  if (checked_bytes(shape, size_of(dtype)) != bytes.size())
    fail("expected the bytes of an array of shape " + shape.to_string() + " and dtype " +
         in_quotes(dtype_name) + ", found " + std::to_string(bytes.size()) + " bytes");
  spend(bytes.size());
  const Tensor out = Tensor::empty(shape, dtype);
  const char order = dtype_name.size() == 3 ? dtype_name[0] : '=';
  if (!bytes.empty()) copy_elements(bytes, size_of(dtype), order, out.raw());
  if (dtype == DType::bool_)  // a byte that is neither 0 nor 1 is no bool in C++
    for (size_t i = 0; i < bytes.size(); ++i) out.raw_as<bool>()[i] = bytes[i] != 0;
  return out;
}

}  // namespace nyala::datasets
