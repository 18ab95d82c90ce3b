// HDF5 File Format Specification 3.0, section IV.A.2.d. A type is told by the numbers of its bits, not by a
// name: float32 is 8 bits of exponent from bit 23 on with bias 127, and so on; bool is h5py's enumeration of
// a byte.
#include <array>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/metadata/datatype.h>

namespace nyala::hdf5 {
namespace {

using Kind = Datatype::Kind;

/// The fields in front of a type's own properties.
struct Head {
  uint8_t version;
  uint8_t type_class;
  uint32_t bits;
  uint64_t size;
};

Head read_head(Cursor& body) {
  const uint8_t first = body.u8();
  Head head{static_cast<uint8_t>(first >> 4), static_cast<uint8_t>(first & 15), 0, 0};
  if (head.version < 1 || head.version > 4)
    body.fail("a datatype of unknown version " + std::to_string(head.version));
  head.bits = static_cast<uint32_t>(body.uint(3));
  head.size = body.u32();
  if (head.size == 0) body.fail("a datatype of 0 bytes");
  if (head.size > body.image().size())
    body.fail("elements of " + std::to_string(head.size) + " bytes, more than the file has");
  return head;
}

Datatype read_integer(const Head& head, Cursor& body) {
  const uint64_t bit_offset = body.u16();
  const uint64_t precision = body.u16();
  const bool known_size = head.size == 1 || head.size == 2 || head.size == 4 || head.size == 8;
  if (!known_size || bit_offset != 0 || precision != 8 * head.size)
    body.fail("integers of " + std::to_string(precision) + " bits in " + std::to_string(head.size) +
              " bytes are not supported");
  Datatype type;
  type.size = head.size;
  type.is_big_endian = (head.bits & 1) != 0;
  type.is_signed = (head.bits & 8) != 0;
  return type;
}

/// The fields that tell floating-point formats apart.
struct FloatFormat {
  uint64_t size, sign_bit, precision, exponent_at, exponent_bits, fraction_bits, bias;
  bool operator==(const FloatFormat&) const = default;
};

constexpr FloatFormat kBfloat16{2, 15, 16, 7, 8, 7, 127};
constexpr std::array<FloatFormat, 3> kIeee{
    {{2, 15, 16, 10, 5, 10, 15}, {4, 31, 32, 23, 8, 23, 127}, {8, 63, 64, 52, 11, 52, 1023}}};

Datatype read_float(const Head& head, Cursor& body) {
  FloatFormat format{};
  format.size = head.size;
  format.sign_bit = (head.bits >> 8) & 255;
  const uint64_t bit_offset = body.u16();
  format.precision = body.u16();
  format.exponent_at = body.u8();
  format.exponent_bits = body.u8();
  const uint64_t fraction_at = body.u8();
  format.fraction_bits = body.u8();
  format.bias = body.u32();

  Datatype type;
  type.size = head.size;
  type.is_big_endian = (head.bits & 1) != 0;
  type.kind = format == kBfloat16 ? Kind::bfloat16 : Kind::floating;
  bool is_known = format == kBfloat16;
  for (const FloatFormat& known : kIeee) is_known = is_known || format == known;
  constexpr uint32_t kVaxOrder = 0x40, kNormalization = 0x30, kImpliedBit = 0x20;
  if (!is_known || bit_offset != 0 || fraction_at != 0 || (head.bits & kVaxOrder) != 0 ||
      (head.bits & kNormalization) != kImpliedBit)
    body.fail("a floating-point format of " + std::to_string(head.size) +
              " bytes that is none of float16, bfloat16, float32, float64");
  return type;
}

Datatype::Padding read_padding(uint32_t code, const Cursor& body) {
  if (code > 2) body.fail("strings of the unknown padding " + std::to_string(code));
  return static_cast<Datatype::Padding>(code);
}

Datatype read_fixed_string(const Head& head, const Cursor& body) {
  Datatype type;
  type.kind = Kind::fixed_string;
  type.size = head.size;
  type.padding = read_padding(head.bits & 15, body);
  return type;
}

Datatype read_variable(const Head& head, const Cursor& body) {
  if ((head.bits & 15) != 1) body.fail("sequences of variable length are not supported (only strings are)");
  Datatype type;
  type.kind = Kind::variable_string;
  type.size = head.size;
  if (head.size != 4 + static_cast<uint64_t>(body.image().offset_size) + 4)
    body.fail("a variable-length string of " + std::to_string(head.size) + " bytes");
  return type;
}

Datatype read_opaque(const Head& head, Cursor& body) {
  Datatype type;
  type.kind = Kind::opaque;
  type.size = head.size;
  type.tag = std::string(body.text(head.bits & 255));
  type.tag.resize(type.tag.find_last_not_of('\0') + 1);
  return type;
}

Datatype read_enum(const Head& head, Cursor& body) {
  const size_t count = head.bits & 0xffff;
  const Head base_head = read_head(body);
  if (base_head.type_class != 0) body.fail("an enum whose base is no integer");
  const Datatype base = read_integer(base_head, body);
  std::vector<std::string> names;
  for (size_t i = 0; i < count; ++i) {
    std::string name;
    for (char c = 0; (c = static_cast<char>(body.u8())) != 0;) name += c;
    const size_t stored = name.size() + 1;
    if (head.version < 3 && stored % 8 != 0) body.skip(8 - stored % 8);
    names.push_back(std::move(name));
  }
  const bool is_bool = names == std::vector<std::string>{"FALSE", "TRUE"} && base.size == 1 &&
                       head.size == 1 && body.u8() == 0 && body.u8() == 1;
  if (!is_bool) body.fail("enums other than the boolean FALSE = 0, TRUE = 1 are not supported");
  Datatype type;
  type.kind = Kind::boolean;
  type.size = 1;
  return type;
}

}  // namespace

Datatype read_datatype(Cursor body) {
  const Head head = read_head(body);
  constexpr std::array<const char*, 11> kNames{"integer",   "float",           "time",     "string",
                                               "bit field", "opaque",          "compound", "reference",
                                               "enum",      "variable length", "array"};
  switch (head.type_class) {
    case 0:
      return read_integer(head, body);
    case 1:
      return read_float(head, body);
    case 3:
      return read_fixed_string(head, body);
    case 5:
      return read_opaque(head, body);
    case 8:
      return read_enum(head, body);
    case 9:
      return read_variable(head, body);
    default:
      break;
  }
  const bool is_named = head.type_class < kNames.size();
  body.fail(is_named ? std::string("elements of type ") + kNames[head.type_class] + " are not supported"
                     : "a datatype of the unknown class " + std::to_string(head.type_class));
}

std::string Datatype::to_string() const {
  const std::string bits = std::to_string(8 * size);
  const std::string order = is_big_endian && size > 1 ? "big-endian " : "";
  switch (kind) {
    case Kind::integer:
      return order + (is_signed ? "int" : "uint") + bits;
    case Kind::floating:
      return order + "float" + bits;
    case Kind::bfloat16:
      return order + "bfloat16";
    case Kind::boolean:
      return "bool";
    case Kind::opaque:
      return "opaque of " + std::to_string(size) + " bytes, tag " + detail::in_quotes(tag);
    case Kind::fixed_string:
      return "string of " + std::to_string(size) + " bytes";
    case Kind::variable_string:
      return "string of variable length";
  }
  return "unknown";
}

}  // namespace nyala::hdf5
