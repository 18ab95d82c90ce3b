#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include <nyala/backend/core/tensor.h>

namespace nyala::datasets {

/// Kinds of Python's objects. `function` and `dtype` are names out of NumPy that only make arrays.
enum class PickleKind : uint8_t {
  none,
  boolean,
  integer,
  real,
  bytes,  // bytearray and Python 2's str too
  text,   // UTF-8
  list,
  tuple,
  dict,
  array,
  function,
  dtype
};

struct PickleDocument;

/// One object of a pickle: a small handle that keeps the whole document alive. Accessors throw
/// FileFormatError naming the file, what was expected and what is there, for objects of another kind.
class PickleValue {
 public:
  PickleValue(std::shared_ptr<const PickleDocument> document, uint32_t index)
      : document_(std::move(document)), index_(index) {}

  PickleKind kind() const;
  bool boolean() const;
  int64_t integer() const;
  double real() const;
  std::string_view string() const;  // of bytes or text
  Tensor array() const;             // on the host

  size_t size() const;  // items of a list or tuple, pairs of a dict
  PickleValue item(size_t index) const;
  /// The value under a key of bytes or text; nothing when the dict lacks it.
  std::optional<PickleValue> find(std::string_view key) const;
  /// The same; throws FileFormatError naming the key when the dict lacks it.
  PickleValue at(std::string_view key) const;

 private:
  std::shared_ptr<const PickleDocument> document_;
  uint32_t index_;
};

struct PickleConfig {
  std::string name = "pickle";      // in messages: a path
  uint32_t max_objects = 1u << 21;  // of 100 bytes or so, besides their contents
};

/// Reads a pickle of Python 2 or 3, protocols 0 to 5, of None, bools, 64-bit integers, floats, bytes, str,
/// lists, tuples, dicts and NumPy arrays (bool, uint8, int32, int64, float16, float32, float64; either byte
/// order). Nothing is ever executed: the only names that it knows are NumPy's for making arrays and scalars,
/// and those for bytes. Anything else, such as os.system, throws FileFormatError naming it, as do unknown or
/// wrong opcodes, objects cut off, and more than `max_objects`. What is read needs memory in proportion to
/// the bytes, also where a small file refers to one object many times. Nothing recurses, whatever the
/// nesting.
PickleValue read_pickle(std::span<const uint8_t> bytes, const PickleConfig& config = {});

}  // namespace nyala::datasets
