#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

#include <nyala/backend/core/half.h>

namespace nyala {

/// An element type: DType::int32, or its name in Keras wherever a DType is taken, x.astype("int32").
/// Ops take all of them. On the 16-bit floats they compute in float32 and round each result once, to the
/// nearest even: a long sum of bfloat16 does not stop at 256.
class DType {
 public:
  /// What `switch` compares, and the place in lists by dtype.
  enum class Code : uint8_t { float32, float64, int32, int64, uint8, bool_, bfloat16, float16 };
  static const DType float32, float64, int32, int64, uint8, bool_, bfloat16, float16;

  constexpr DType() = default;
  constexpr explicit DType(Code code) : code_(code) {}
  /// Throws InvalidArgumentError with the nearest name.
  template <class T>
  requires std::convertible_to<const T&, std::string_view> DType(const T& name)
      : DType(of(std::string_view(name))) {}

  constexpr operator Code() const { return code_; }
  constexpr size_t index() const { return static_cast<size_t>(code_); }
  friend constexpr bool operator==(DType a, DType b) { return a.code_ == b.code_; }

 private:
  static DType of(std::string_view name);

  Code code_ = Code::float32;
};

inline constexpr DType DType::float32{Code::float32};
inline constexpr DType DType::float64{Code::float64};
inline constexpr DType DType::int32{Code::int32};
inline constexpr DType DType::int64{Code::int64};
inline constexpr DType DType::uint8{Code::uint8};
inline constexpr DType DType::bool_{Code::bool_};
inline constexpr DType DType::bfloat16{Code::bfloat16};
inline constexpr DType DType::float16{Code::float16};

/// Bytes per element.
size_t size_of(DType dtype);

/// Keras' name: "float32", "bool".
std::string_view name_of(DType dtype);

/// The dtype that has Keras' name `name`. Throws InvalidArgumentError with the nearest name.
DType parse_dtype(std::string_view name);

/// float32, float64, bfloat16 or float16.
bool is_floating(DType dtype);

/// bfloat16 or float16.
constexpr bool is_half(DType dtype) { return dtype == DType::bfloat16 || dtype == DType::float16; }

/// What sums over many elements are kept in where their rounding would add up: statistics, and gradients of
/// weights. float32 for the 16-bit floats, else `dtype` itself.
constexpr DType dtype_of_sums(DType dtype) { return is_half(dtype) ? DType::float32 : dtype; }

/// Whether weights of dtype `weights` serve values of the floating dtype `values`: they have it, too, or they
/// are float32 beside 16-bit floats.
bool is_weight_dtype(DType weights, DType values);

/// The dtype of the C++ type T.
template <class T>
struct dtype_of_type;
template <>
struct dtype_of_type<float> {
  static constexpr DType value = DType::float32;
};
template <>
struct dtype_of_type<double> {
  static constexpr DType value = DType::float64;
};
template <>
struct dtype_of_type<int32_t> {
  static constexpr DType value = DType::int32;
};
template <>
struct dtype_of_type<int64_t> {
  static constexpr DType value = DType::int64;
};
template <>
struct dtype_of_type<uint8_t> {
  static constexpr DType value = DType::uint8;
};
template <>
struct dtype_of_type<bool> {
  static constexpr DType value = DType::bool_;
};
template <>
struct dtype_of_type<bfloat16> {
  static constexpr DType value = DType::bfloat16;
};
template <>
struct dtype_of_type<float16> {
  static constexpr DType value = DType::float16;
};

template <class T>
inline constexpr DType dtype_of = dtype_of_type<T>::value;

/// NumPy-like promotion as in Keras: bool < uint8 < int32 < int64 < float16/bfloat16 < float32 < float64.
DType promote(DType a, DType b);

namespace detail {

[[noreturn]] void throw_unsupported_dtype(DType dtype, std::string_view where);

/// Calls f(T{}) for the C++ type of a dtype that C++ computes with. Throws DTypeError naming `where` for
/// 16-bit floats, which dispatch() widens before a kernel sees them.
template <class F>
decltype(auto) dispatch_arithmetic(DType dtype, std::string_view where, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    case DType::int32:
      return f(int32_t{});
    case DType::int64:
      return f(int64_t{});
    case DType::uint8:
      return f(uint8_t{});
    case DType::bool_:
      return f(bool{});
    default:
      throw_unsupported_dtype(dtype, where);
  }
}

/// Calls f(T{}) for float or double. Throws DTypeError naming `where` otherwise.
template <class F>
decltype(auto) dispatch_real(DType dtype, std::string_view where, F&& f) {
  switch (dtype) {
    case DType::float32:
      return f(float{});
    case DType::float64:
      return f(double{});
    default:
      throw_unsupported_dtype(dtype, where);
  }
}

/// Calls f(T{}) for any dtype, the 16-bit floats as bfloat16{} and float16{}.
template <class F>
decltype(auto) dispatch_any(DType dtype, F&& f) {
  switch (dtype) {
    case DType::bfloat16:
      return f(bfloat16{});
    case DType::float16:
      return f(float16{});
    default:
      return dispatch_arithmetic(dtype, "dispatch", static_cast<F&&>(f));
  }
}

}  // namespace detail

}  // namespace nyala
