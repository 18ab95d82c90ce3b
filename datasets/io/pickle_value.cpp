#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/pickle_document.h>

namespace nyala::datasets {

using namespace nyala::detail;

namespace {

[[noreturn]] void fail(const PickleDocument& document, const std::string& expected, PickleKind found) {
  throw FileFormatError(document.name + ": expected " + expected + " in the pickle, found " +
                        std::string(name_of(found)));
}

const PickleDocument::Object& checked(const PickleDocument& document, uint32_t index, PickleKind kind) {
  const PickleDocument::Object& object = document.at(index);
  if (object.kind != kind) fail(document, std::string(name_of(kind)), object.kind);
  return object;
}

}  // namespace

std::string_view name_of(PickleKind kind) {
  static constexpr std::string_view kNames[] = {"None", "bool",  "int",  "float", "bytes",    "str",
                                                "list", "tuple", "dict", "array", "function", "dtype"};
  return kNames[static_cast<size_t>(kind)];
}

PickleKind PickleValue::kind() const { return document_->at(index_).kind; }

bool PickleValue::boolean() const { return checked(*document_, index_, PickleKind::boolean).integer != 0; }

int64_t PickleValue::integer() const { return checked(*document_, index_, PickleKind::integer).integer; }

double PickleValue::real() const { return checked(*document_, index_, PickleKind::real).real; }

std::string_view PickleValue::string() const {
  const PickleDocument::Object& object = document_->at(index_);
  if (object.kind != PickleKind::bytes && object.kind != PickleKind::text)
    fail(*document_, "bytes or str", object.kind);
  return object.text;
}

Tensor PickleValue::array() const {
  const int64_t place = checked(*document_, index_, PickleKind::array).integer;
  if (place < 0) throw FileFormatError(document_->name + ": the pickle has an array without elements");
  return document_->arrays[static_cast<size_t>(place)];
}

size_t PickleValue::size() const {
  const PickleDocument::Object& object = document_->at(index_);
  if (object.kind == PickleKind::dict) return object.items.size() / 2;
  if (object.kind != PickleKind::list && object.kind != PickleKind::tuple)
    fail(*document_, "a list, tuple or dict", object.kind);
  return object.items.size();
}

PickleValue PickleValue::item(size_t index) const {
  const PickleDocument::Object& object = document_->at(index_);
  if (object.kind != PickleKind::list && object.kind != PickleKind::tuple)
    fail(*document_, "a list or tuple", object.kind);
  if (index >= object.items.size())
    throw FileFormatError(document_->name + ": expected an item " + std::to_string(index) +
                          " in the pickle, found " + std::to_string(object.items.size()) + " items");
  return {document_, object.items[index]};
}

std::optional<PickleValue> PickleValue::find(std::string_view key) const {
  const std::vector<uint32_t>& items = checked(*document_, index_, PickleKind::dict).items;
  for (size_t i = items.size(); i >= 2; i -= 2) {  // the last one of equal keys counts
    const PickleDocument::Object& name = document_->at(items[i - 2]);
    const bool is_string = name.kind == PickleKind::bytes || name.kind == PickleKind::text;
    if (is_string && name.text == key) return PickleValue(document_, items[i - 1]);
  }
  return std::nullopt;
}

PickleValue PickleValue::at(std::string_view key) const {
  if (const std::optional<PickleValue> found = find(key)) return *found;
  throw FileFormatError(document_->name + ": expected a key " + in_quotes(key) +
                        " in the pickle's dict, found none");
}

}  // namespace nyala::datasets
