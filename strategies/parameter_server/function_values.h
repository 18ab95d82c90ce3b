#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/datasets/base/element.h>

/// What goes into a function that a worker carries out, and comes out of it, as bytes: tensors, numbers,
/// texts, batches, and lists, pairs, tuples and dictionaries of them. Each value begins with a letter for its
/// kind, so that programs which differ are noticed.
namespace nyala::detail {

class PerWorkerValues;

class ValueWriter {
 public:
  void kind(char kind) { bytes_.push_back(static_cast<std::byte>(kind)); }
  void raw(const void* from, size_t size);
  void count(size_t count);
  void text(const std::string& text);
  /// Its bytes on the host; an empty handle is one there, too. Throws StateError for a symbolic tensor.
  void tensor(const Tensor& tensor);
  void element(const Element& element);
  std::vector<std::byte> take() && { return std::move(bytes_); }

 private:
  std::vector<std::byte> bytes_;
};

/// Believes no length. Throws CommunicationError for bytes that are not what is asked for.
class ValueReader {
 public:
  /// `per_worker`: where values that lie in each worker are found; null: there are none.
  explicit ValueReader(std::span<const std::byte> bytes, PerWorkerValues* per_worker = nullptr)
      : bytes_(bytes), per_worker_(per_worker) {}

  void kind(char expected);
  void raw(void* to, size_t size);
  size_t count();
  std::string text();
  Tensor tensor();
  Element element();
  void expect_end() const;
  PerWorkerValues& per_worker() const;

 private:
  [[noreturn]] static void fail(const std::string& why);

  std::span<const std::byte> bytes_;
  PerWorkerValues* per_worker_;
};

/// How a type is written and read; not defined for those that cannot be.
template <class T>
struct FunctionValue;

template <class T>
concept CanTravel = requires(ValueWriter& out, ValueReader& in, const T& value) {
  FunctionValue<T>::write(out, value);
  { FunctionValue<T>::read(in) } -> std::convertible_to<T>;
};

template <class T>
requires std::is_arithmetic_v<T>
struct FunctionValue<T> {
  /// Whole numbers have 64 bits on their way, whatever they are here.
  using Wide = std::conditional_t<std::is_floating_point_v<T>, double, int64_t>;
  static constexpr char kKind = std::is_floating_point_v<T> ? 'd' : 'i';
  static void write(ValueWriter& out, T value) {
    const Wide wide = static_cast<Wide>(value);
    out.kind(kKind);
    out.raw(&wide, sizeof wide);
  }
  static T read(ValueReader& in) {
    Wide wide{};
    in.kind(kKind);
    in.raw(&wide, sizeof wide);
    return static_cast<T>(wide);
  }
};

template <>
struct FunctionValue<std::string> {
  static void write(ValueWriter& out, const std::string& value) { out.kind('s'), out.text(value); }
  static std::string read(ValueReader& in) { return in.kind('s'), in.text(); }
};

template <>
struct FunctionValue<Tensor> {
  static void write(ValueWriter& out, const Tensor& value) { out.kind('t'), out.tensor(value); }
  static Tensor read(ValueReader& in) { return in.kind('t'), in.tensor(); }
};

template <>
struct FunctionValue<Element> {
  static void write(ValueWriter& out, const Element& value) { out.kind('b'), out.element(value); }
  static Element read(ValueReader& in) { return in.kind('b'), in.element(); }
};

template <CanTravel T>
struct FunctionValue<std::vector<T>> {
  static void write(ValueWriter& out, const std::vector<T>& values) {
    out.kind('l');
    out.count(values.size());
    for (const T& value : values) FunctionValue<T>::write(out, value);
  }
  static std::vector<T> read(ValueReader& in) {
    in.kind('l');
    std::vector<T> values;
    for (size_t left = in.count(); left > 0; --left) values.push_back(FunctionValue<T>::read(in));
    return values;
  }
};

template <CanTravel T>
struct FunctionValue<std::map<std::string, T>> {
  static void write(ValueWriter& out, const std::map<std::string, T>& values) {
    out.kind('m');
    out.count(values.size());
    for (const auto& [name, value] : values) out.text(name), FunctionValue<T>::write(out, value);
  }
  static std::map<std::string, T> read(ValueReader& in) {
    in.kind('m');
    std::map<std::string, T> values;
    for (size_t left = in.count(); left > 0; --left) {
      std::string name = in.text();
      values.emplace(std::move(name), FunctionValue<T>::read(in));
    }
    return values;
  }
};

template <CanTravel... Ts>
struct FunctionValue<std::tuple<Ts...>> {
  static void write(ValueWriter& out, const std::tuple<Ts...>& values) {
    out.kind('u');
    std::apply([&out](const Ts&... each) { (FunctionValue<Ts>::write(out, each), ...); }, values);
  }
  static std::tuple<Ts...> read(ValueReader& in) {
    in.kind('u');
    return std::tuple<Ts...>{FunctionValue<Ts>::read(in)...};  // in order: between braces
  }
};

template <CanTravel A, CanTravel B>
struct FunctionValue<std::pair<A, B>> {
  using Tuple = FunctionValue<std::tuple<A, B>>;
  static void write(ValueWriter& out, const std::pair<A, B>& value) { Tuple::write(out, value); }
  static std::pair<A, B> read(ValueReader& in) {
    auto [first, second] = Tuple::read(in);
    return {std::move(first), std::move(second)};
  }
};

}  // namespace nyala::detail
