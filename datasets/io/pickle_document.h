#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>
#include <nyala/datasets/io/pickle_reader.h>

namespace nyala::datasets {

/// The objects of a pickle, referring to each other by number, so that circles are harmless.
struct PickleDocument {
  struct Object {
    PickleKind kind = PickleKind::none;
    int64_t integer = 0;  // also a boolean, and which of `arrays` (-1: it has no elements yet)
    double real = 0.0;
    std::string text = {};             // bytes, text, "module.name" of a function, "<f4" of a dtype
    std::vector<uint32_t> items = {};  // of a dict: key, value, key, value, ...
  };

  std::string name = {};
  std::vector<Object> objects = {};
  Tensors arrays = {};

  const Object& at(uint32_t index) const { return objects[index]; }
};

std::string_view name_of(PickleKind kind);

/// Objects that a pickle makes by calling a function of NumPy, without calling anything.
class PickleArrays {
 public:
  /// The arrays of `document` may take up to `max_bytes` bytes in all.
  PickleArrays(PickleDocument& document, uint64_t max_bytes) : document_(document), left_(max_bytes) {}

  /// Whether `name` ("module.name") is known.
  static bool knows(std::string_view name);

  /// The result of calling `function` with the items of a tuple.
  PickleDocument::Object call(const PickleDocument::Object& function,
                              const PickleDocument::Object& arguments);

  /// Gives an array or a dtype its state. Throws FileFormatError for any other object.
  void build(uint32_t object, const PickleDocument::Object& state);

 private:
  using Object = PickleDocument::Object;

  [[noreturn]] void fail(const std::string& what) const;
  const Object& argument(const Object& tuple, size_t index, PickleKind kind, std::string_view what) const;
  Object dtype(const Object& arguments) const;
  Object encoded(const Object& arguments);
  Object copied(const Object& arguments);
  Object from_buffer(const Object& arguments);
  Object scalar(const Object& arguments) const;
  void build_dtype(Object& dtype, const Object& state) const;
  void build_array(Object& array, const Object& state);
  Shape shape_of(const Object& tuple) const;
  std::vector<int> order_of(const Object& tuple, int rank) const;
  Tensor from_bytes(const Shape& shape, const std::string& dtype_name, const std::string& bytes);
  Object stored(Tensor array);
  void spend(uint64_t bytes);

  PickleDocument& document_;
  uint64_t left_;
};

}  // namespace nyala::datasets
