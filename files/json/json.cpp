#include <nyala/files/json/json.h>

#include <algorithm>
#include <optional>
#include <utility>

#include <nyala/backend/runtime/system_random.h>
#include <nyala/files/json/json_text.h>

namespace nyala {

namespace {

constexpr size_t kFewKeys = 16;

/// The polynomial of the key's bytes at a point that each process draws, so that nobody can write a file
/// whose keys have all the same: two keys of length l have the same number at no more than l of 2^31 points.
uint32_t hash_of_key(std::string_view key) {
  constexpr uint64_t kPrime = (uint64_t{1} << 31) - 1;
  static const uint64_t point = 256 + detail::system_random() % (kPrime - 256);
  uint64_t hash = 0;
  for (const char c : key) hash = (hash * point + static_cast<unsigned char>(c) + 1) % kPrime;
  return static_cast<uint32_t>(hash);
}

}  // namespace

/// Members in their order, from kFewKeys on with a table of their places by hash.
struct Json::Object {
  std::vector<JsonMember> members;
  std::vector<uint32_t> slots;  // a member's place and 1, or 0; empty with few keys

  JsonMember* find(std::string_view key) {
    if (slots.empty()) {
      const auto found =
          std::find_if(members.begin(), members.end(), [&](const JsonMember& m) { return m.key == key; });
      return found == members.end() ? nullptr : &*found;
    }
    const uint32_t place = slots[slot_of(key)];
    return place == 0 ? nullptr : &members[place - 1];
  }

  Json& add(std::string_view key) {
    const bool indexed = members.size() >= kFewKeys;
    if (indexed && 2 * (members.size() + 1) > slots.size()) index(4 * (members.size() + 1));
    const size_t slot = indexed ? slot_of(key) : 0;
    Json& value = members.emplace_back(JsonMember{std::string(key), Json()}).value;
    if (indexed) slots[slot] = static_cast<uint32_t>(members.size());
    return value;
  }

  void remove(const JsonMember* member) {
    members.erase(members.begin() + (member - members.data()));
    slots.clear();
    if (members.size() >= kFewKeys) index(4 * members.size());
  }

  /// Where the key's place stands, or the free slot where it would.
  size_t slot_of(std::string_view key) const {
    size_t slot = hash_of_key(key) % slots.size();
    while (slots[slot] != 0 && members[slots[slot] - 1].key != key)
      slot = slot + 1 == slots.size() ? 0 : slot + 1;
    return slot;
  }

  void index(size_t count) {
    slots.assign(count, 0);
    for (size_t i = 0; i < members.size(); ++i) slots[slot_of(members[i].key)] = static_cast<uint32_t>(i + 1);
  }
};

Json::Json(std::string text) : kind_(Kind::text), held_{.text = new std::string(std::move(text))} {}

Json::Json(std::initializer_list<JsonItem> items) {
  const bool of_pairs = std::all_of(items.begin(), items.end(), [](const JsonItem& item) {
    return item.value_.is_array() && item.value_.size() == 2 && item.value_[0].is_string();
  });
  *this = of_pairs ? object(items) : array(items);
}

Json::Json(const Json& other) {
  if (other.is_string())
    held_.text = new std::string(*other.held_.text);
  else if (other.is_array())
    held_.list = new std::vector<Json>(*other.held_.list);
  else if (other.is_object())
    held_.object = new Object(*other.held_.object);
  else
    held_ = other.held_;
  kind_ = other.kind_;
}

Json::~Json() {
  if (is_string())
    delete held_.text;
  else if (is_array())
    delete held_.list;
  else if (is_object())
    delete held_.object;
}

void Json::swap(Json& other) noexcept {
  std::swap(kind_, other.kind_);
  std::swap(held_, other.held_);
}

Json Json::array() {
  Json json;
  json.held_.list = new std::vector<Json>;
  json.kind_ = Kind::list;
  return json;
}

Json Json::array(std::initializer_list<JsonItem> items) {
  Json json = array();
  json.held_.list->reserve(items.size());
  for (const JsonItem& item : items) json.held_.list->push_back(std::move(item.value_));
  return json;
}

Json Json::object() {
  Json json;
  json.held_.object = new Object;
  json.kind_ = Kind::object;
  return json;
}

Json Json::object(std::initializer_list<JsonItem> members) {
  Json json = object();
  for (const JsonItem& item : members) {
    if (!item.value_.is_array() || item.value_.size() != 2) item.value_.fail("a key and its value");
    if (Json& pair = item.value_; !json.contains(pair[0].as_string()))  // the first of a name stays
      json.held_.object->add(pair[0].as_string()) = std::move(pair[1]);
  }
  return json;
}

const char* Json::type_name() const {
  constexpr const char* kNames[] = {"null",   "boolean", "number", "number",
                                    "number", "string",  "array",  "object"};
  return kNames[static_cast<size_t>(kind_)];
}

void Json::fail(const char* expected) const {
  throw JsonError(std::string("JSON of another kind than expected: expected ") + expected + ", received " +
                  type_name());
}

bool Json::as_boolean() const {
  if (!is_boolean()) fail("a boolean");
  return held_.boolean;
}

double Json::as_real() const {
  switch (kind_) {
    case Kind::whole:
      return static_cast<double>(held_.whole);
    case Kind::natural:
      return static_cast<double>(held_.natural);
    case Kind::real:
      return held_.real;
    default:
      fail("a number");
  }
}

template <class T>
T Json::as_integer(T least, T most) const {
  constexpr double kEnd = 2.0 * static_cast<double>(std::numeric_limits<T>::max() / 2 + 1);
  constexpr double kBegin = static_cast<double>(std::numeric_limits<T>::min());
  if (!is_number()) fail("a number");
  std::optional<T> number;
  if (kind_ == Kind::whole && std::in_range<T>(held_.whole)) number = static_cast<T>(held_.whole);
  if (kind_ == Kind::natural && std::in_range<T>(held_.natural)) number = static_cast<T>(held_.natural);
  if (kind_ == Kind::real && held_.real >= kBegin && held_.real < kEnd) number = static_cast<T>(held_.real);
  if (!number || *number < least || *number > most)
    throw JsonError("JSON: expected a whole number from " + std::to_string(least) + " to " +
                    std::to_string(most) + ", received " + quoted_json(*this));
  return *number;
}
template int64_t Json::as_integer(int64_t, int64_t) const;
template uint64_t Json::as_integer(uint64_t, uint64_t) const;

const std::string& Json::as_string() const {
  if (!is_string()) fail("a string");
  return *held_.text;
}

const std::vector<Json>& Json::as_array() const {
  if (!is_array()) fail("an array");
  return *held_.list;
}

size_t Json::size() const {
  return is_array() ? held_.list->size() : is_object() ? held_.object->members.size() : is_null() ? 0 : 1;
}

Json::iterator Json::begin() {
  return is_array()    ? iterator(held_.list->data(), nullptr)
         : is_object() ? iterator(nullptr, held_.object->members.data())
                       : iterator();
}

Json::iterator Json::end() {
  return is_array()    ? iterator(held_.list->data() + held_.list->size(), nullptr)
         : is_object() ? iterator(nullptr, held_.object->members.data() + held_.object->members.size())
                       : iterator();
}

Json::const_iterator Json::begin() const {
  return is_array()    ? const_iterator(held_.list->data(), nullptr)
         : is_object() ? const_iterator(nullptr, held_.object->members.data())
                       : const_iterator();
}

Json::const_iterator Json::end() const {
  return is_array()    ? const_iterator(held_.list->data() + held_.list->size(), nullptr)
         : is_object() ? const_iterator(nullptr, held_.object->members.data() + held_.object->members.size())
                       : const_iterator();
}

const std::vector<JsonMember>& Json::items() const {
  static const std::vector<JsonMember>& none = *new std::vector<JsonMember>;
  return is_object() ? held_.object->members : none;
}

const Json* Json::find(std::string_view key) const {
  const JsonMember* const member = is_object() ? held_.object->find(key) : nullptr;
  return member ? &member->value : nullptr;
}

const Json& Json::at(std::string_view key) const {
  if (!is_object()) fail("an object");
  const Json* const found = find(key);
  if (!found) throw JsonError("JSON: there is no " + detail::in_quotes(key));
  return *found;
}

const Json& Json::at(size_t place) const {
  if (place >= as_array().size())
    throw JsonError("JSON: there is no place " + std::to_string(place) + " in an array of " +
                    std::to_string(size()));
  return (*held_.list)[place];
}

Json& Json::operator[](std::string_view key) {
  if (is_null()) *this = object();
  if (!is_object()) fail("an object");
  Json* const found = find(key);
  return found ? *found : held_.object->add(key);
}

const Json& Json::front() const {
  if (!is_structured() || empty()) fail("an array or object with a value");
  return *begin();
}

Json& Json::push_back(Json item) {
  if (is_null()) *this = array();
  if (!is_array()) fail("an array");
  return held_.list->emplace_back(std::move(item));
}

size_t Json::erase(std::string_view key) {
  if (!is_object()) fail("an object");
  const JsonMember* const member = held_.object->find(key);
  if (member) held_.object->remove(member);
  return member ? 1 : 0;
}

void Json::clear() {
  if (!is_structured()) fail("an array or object");
  *this = is_array() ? array() : object();
}

bool operator==(const Json& a, const Json& b) {
  using Kind = Json::Kind;
  if (a.is_number() && b.is_number()) {
    if (a.is_number_float() || b.is_number_float()) return a.as_real() == b.as_real();
    const auto is_negative = [](const Json& json) {
      return json.kind_ == Kind::whole && json.held_.whole < 0;
    };
    if (is_negative(a) || is_negative(b))
      return is_negative(a) && is_negative(b) && a.held_.whole == b.held_.whole;
    return a.get<uint64_t>() == b.get<uint64_t>();
  }
  if (a.kind_ != b.kind_) return false;
  switch (a.kind_) {
    case Kind::boolean:
      return a.held_.boolean == b.held_.boolean;
    case Kind::text:
      return *a.held_.text == *b.held_.text;
    case Kind::list:
      return *a.held_.list == *b.held_.list;
    case Kind::object:
      return std::equal(a.items().begin(), a.items().end(), b.items().begin(), b.items().end(),
                        [](const JsonMember& left, const JsonMember& right) {
                          return left.key == right.key && left.value == right.value;
                        });
    default:
      return true;
  }
}

}  // namespace nyala
