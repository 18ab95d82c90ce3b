#pragma once

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <iosfwd>
#include <iterator>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>

namespace nyala {

class JsonItem;
struct JsonMember;

/// A value of JSON that is of another kind than what is asked for, or a member or place that is not there.
/// Values come from files.
class JsonError : public FileFormatError {
 public:
  using FileFormatError::FileFormatError;
};

/// Goes over the values of a list or an object.
template <class Value, class Member>
class JsonIterator {
 public:
  using iterator_category = std::forward_iterator_tag;
  using value_type = std::remove_const_t<Value>;
  using difference_type = std::ptrdiff_t;
  using pointer = Value*;
  using reference = Value&;

  JsonIterator() = default;
  JsonIterator(Value* item, Member* member) : item_(item), member_(member) {}

  Value& operator*() const { return member_ ? member_->value : *item_; }
  Value* operator->() const { return &**this; }
  JsonIterator& operator++() {
    if (member_)
      ++member_;
    else
      ++item_;
    return *this;
  }
  JsonIterator operator++(int) {
    const JsonIterator before = *this;
    ++*this;
    return before;
  }
  friend bool operator==(const JsonIterator&, const JsonIterator&) = default;

 private:
  Value* item_ = nullptr;     // of a list
  Member* member_ = nullptr;  // of an object
};

/// A value of JSON: null, a truth value, a number (int64, uint64 or double), text, a list or an object, whose
/// members keep their order and are found in constant time. Copies are deep. What is asked of a value of
/// another kind throws JsonError, which says the kinds.
///
/// In braces a list is written as in JSON; one of pairs that begin with a text is an object:
///   Json config = {{"name", "dense"}, {"units", 3}, {"shape", {nullptr, 4}}};
class Json {
 public:
  using value_type = Json;
  using iterator = JsonIterator<Json, JsonMember>;
  using const_iterator = JsonIterator<const Json, const JsonMember>;

  Json() noexcept = default;
  Json(std::nullptr_t) noexcept {}
  template <std::same_as<bool> T>
  Json(T value) noexcept : kind_(Kind::boolean), held_{.boolean = value} {}
  template <std::signed_integral T>
  Json(T value) noexcept : kind_(Kind::whole), held_{.whole = value} {}
  template <std::unsigned_integral T>
  requires(!std::same_as<T, bool>) Json(T value)
  noexcept : kind_(Kind::natural), held_{.natural = value} {}
  template <std::floating_point T>
  Json(T value) noexcept : kind_(Kind::real), held_{.real = value} {}
  Json(std::string text);
  Json(std::string_view text) : Json(std::string(text)) {}
  Json(const char* text) : Json(std::string(text)) {}
  template <class T>
  Json(const std::vector<T>& items) : Json(array()) {
    for (const auto& item : items) push_back(Json(item));
  }
  Json(std::initializer_list<JsonItem> items);
  Json(const Json& other);
  Json(Json&& other) noexcept : Json() { swap(other); }
  Json& operator=(Json other) noexcept {
    swap(other);
    return *this;
  }
  ~Json();

  static Json array();
  static Json array(std::initializer_list<JsonItem> items);
  static Json object();
  static Json object(std::initializer_list<JsonItem> members);

  bool is_null() const { return kind_ == Kind::null; }
  bool is_boolean() const { return kind_ == Kind::boolean; }
  bool is_number() const { return is_number_integer() || is_number_float(); }
  bool is_number_integer() const { return kind_ == Kind::whole || kind_ == Kind::natural; }
  /// Text's numbers without a sign are such.
  bool is_number_unsigned() const { return kind_ == Kind::natural; }
  bool is_number_float() const { return kind_ == Kind::real; }
  bool is_string() const { return kind_ == Kind::text; }
  bool is_array() const { return kind_ == Kind::list; }
  bool is_object() const { return kind_ == Kind::object; }
  bool is_structured() const { return is_array() || is_object(); }
  /// "null", "boolean", "number", "string", "array" or "object".
  const char* type_name() const;

  /// The value as bool, std::string, a number, a vector of these or a copy. Numbers become each other,
  /// fractions are cut off; one that T cannot hold is an error.
  template <class T>
  T get() const {
    if constexpr (std::same_as<T, Json>) {
      return *this;
    } else if constexpr (std::same_as<T, bool>) {
      return as_boolean();
    } else if constexpr (std::same_as<T, std::string>) {
      return as_string();
    } else if constexpr (std::floating_point<T>) {
      return static_cast<T>(as_real());
    } else if constexpr (std::unsigned_integral<T>) {
      return static_cast<T>(as_integer<uint64_t>(0, std::numeric_limits<T>::max()));
    } else if constexpr (std::signed_integral<T>) {
      return static_cast<T>(
          as_integer<int64_t>(std::numeric_limits<T>::min(), std::numeric_limits<T>::max()));
    } else {
      T items;
      for (const Json& item : as_array()) items.push_back(item.template get<typename T::value_type>());
      return items;
    }
  }
  const std::string& as_string() const;
  const std::vector<Json>& as_array() const;

  /// Of a list or an object; 0 of null and 1 of others.
  size_t size() const;
  bool empty() const { return size() == 0; }
  /// Null and what is no list or object have none.
  iterator begin();
  iterator end();
  const_iterator begin() const;
  const_iterator end() const;
  /// An object's members in their order, with `key` and `value`; none of others.
  const std::vector<JsonMember>& items() const;

  /// False, and null, for what is no object.
  bool contains(std::string_view key) const { return find(key) != nullptr; }
  const Json* find(std::string_view key) const;
  Json* find(std::string_view key) { return const_cast<Json*>(std::as_const(*this).find(key)); }
  const Json& at(std::string_view key) const;
  Json& at(std::string_view key) { return const_cast<Json&>(std::as_const(*this).at(key)); }
  const Json& at(size_t place) const;
  Json& at(size_t place) { return const_cast<Json&>(std::as_const(*this).at(place)); }
  const Json& operator[](std::string_view key) const { return at(key); }
  /// Adds a null where there is no such member; null becomes an object. References to other members hold
  /// until one is added.
  Json& operator[](std::string_view key);
  const Json& operator[](size_t place) const { return at(place); }
  Json& operator[](size_t place) { return at(place); }
  /// The member's value, or `otherwise`.
  template <class T>
  T value(std::string_view key, T otherwise) const {
    const Json* const found = find(key);
    return found ? found->get<T>() : std::move(otherwise);
  }
  std::string value(std::string_view key, const char* otherwise) const {
    return value<std::string>(key, otherwise);
  }
  /// The first value of a list or object, the last of a list.
  const Json& front() const;
  const Json& back() const { return at(size() - 1); }

  /// Null becomes a list.
  Json& push_back(Json item);
  /// How many members were removed: 0 or 1.
  size_t erase(std::string_view key);
  /// A list or object without items.
  void clear();

  /// The text on one line, with null for NaN and infinity (json_text() writes their names). Throws
  /// InvalidArgumentError for what is not UTF-8.
  std::string dump() const;

  void swap(Json& other) noexcept;
  /// Numbers are equal by value, whatever their kinds; members of objects in the same order.
  friend bool operator==(const Json& a, const Json& b);
  /// As dump(), with U+FFFD for what is not UTF-8.
  friend std::ostream& operator<<(std::ostream& out, const Json& json);

 private:
  enum class Kind : unsigned char { null, boolean, whole, natural, real, text, list, object };
  struct Object;

  [[noreturn]] void fail(const char* expected) const;
  bool as_boolean() const;
  double as_real() const;
  template <class T>
  T as_integer(T least, T most) const;  // of int64_t and uint64_t

  union Held {
    bool boolean;
    int64_t whole;
    uint64_t natural;
    double real;
    std::string* text;  // these are owned
    std::vector<Json>* list;
    Object* object;
  };

  Kind kind_ = Kind::null;
  Held held_ = {};
};

struct JsonMember {
  std::string key;
  Json value;
};

/// What braces hold on their way into a Json.
class JsonItem {
 public:
  template <class T>
  requires std::constructible_from<Json, T> JsonItem(T&& value) : value_(std::forward<T>(value)) {}
  JsonItem(std::initializer_list<JsonItem> items) : value_(items) {}

 private:
  friend class Json;
  mutable Json value_;  // moved on
};

}  // namespace nyala
