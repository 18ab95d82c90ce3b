#include <nyala/api/saving/config/nested_inputs.h>

#include <map>

#include <nyala/api/layers/base/takes_dictionary.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/saving/ops/op_constants.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/json/strict_json.h>

namespace nyala {

using namespace nyala::detail;

namespace {

bool is_dictionary(const Json& json) {
  return json.is_object() && !is_keras_tensor(json) && !is_constant(json);
}

/// "a dictionary of 'a', 'b'".
std::string structure(const Json& json) {
  if (json.is_array()) return "a list of " + std::to_string(json.size());
  if (!is_dictionary(json)) return json.is_null() ? "nothing" : "one tensor";
  std::string names;
  for (const auto& [key, value] : json.items()) names += (names.empty() ? "" : ", ") + in_quotes(key);
  return "a dictionary of " + (names.empty() ? "nothing" : names);
}

class Nested {
 public:
  explicit Nested(std::string where) : where_(std::move(where)) {}

  [[noreturn]] void refuse(const Json& given, const std::string& expected) const {
    throw FileFormatError(where_ + " is called with " + structure(given) + ": expected " + expected);
  }

  /// Puts the values of `given` where `places`, which is nested alike, has their numbers.
  void take(const Json& places, const Json& given, Json& list) const {
    if (places.is_number()) {
      list[places.get<size_t>()] = given;
    } else if (places.is_array()) {
      if (!given.is_array() || given.size() != places.size()) fail(places, given);
      for (size_t i = 0; i < places.size(); ++i) take(places[i], given[i], list);
    } else {
      for (const auto& [key, place] : places.items()) {
        if (!is_dictionary(given) || !given.contains(key)) fail(places, given);
        take(place, given[key], list);
      }
    }
  }

 private:
  [[noreturn]] void fail(const Json& places, const Json& given) const { refuse(given, structure(places)); }

  std::string where_;
};

const FunctionalNode* functional(const Layer& layer) {
  return dynamic_cast<const FunctionalNode*>(&layer.node());
}

}  // namespace

bool is_keras_tensor(const Json& json) {
  return json.is_object() && json.contains("class_name") && json["class_name"] == "__keras_tensor__";
}

bool is_nested_call(const Layer& layer, const Json& args, const Json& keywords) {
  const auto* const model = functional(layer);
  if (model && !model->nesting().inputs.empty()) return true;
  const Json* const named = keywords.find("inputs");
  return (!args.empty() && is_dictionary(args[0])) || (named && is_dictionary(*named));
}

namespace {

/// How the model nests its inputs, or null.
Json nesting_of(const FunctionalNode& model) {
  const std::string& nesting = model.nesting().inputs;
  return nesting.empty() ? Json() : parse_json(nesting, "nesting");
}

/// The tensors of a dictionary, and of those within, by their sorted keys.
void collect_by_keys(const Json& given, const std::string& prefix, std::map<std::string, Json>& out) {
  for (const auto& [key, value] : given.items())
    if (is_dictionary(value))
      collect_by_keys(value, prefix + key + "/", out);
    else
      out[prefix + key] = value;
}

Json list_by_keys(const Nested& nested, const TakesDictionary& layer, const Json& given) {
  std::map<std::string, Json> found;
  collect_by_keys(given, "", found);
  Json list = Json::array();
  std::vector<std::string> keys;
  for (const auto& [key, value] : found) {
    keys.push_back(key);
    list.push_back(value);
  }
  const std::vector<std::string> expected = layer.keys(keys.size());
  if (keys != expected) nested.refuse(given, "a dictionary of " + quoted_list(expected));
  return list;
}

/// `given`, which is nested as `places`.
Json flat(const Nested& nested, const FunctionalNode& model, const Json& places, const Json& given) {
  Json list = Json::array();
  for (size_t i = 0; i < model.num_inputs(); ++i) list.push_back(Json());
  nested.take(places, given, list);
  return list;
}

}  // namespace

Json list_of_inputs(const Layer& layer, const Json& given, const std::string& where) {
  const Nested nested(where + " (" + layer.class_name() + ")");
  const auto* const model = functional(layer);
  const auto* const named = dynamic_cast<const TakesDictionary*>(&layer.node());
  if (named && is_dictionary(given)) return list_by_keys(nested, *named, given);
  if (!model && is_dictionary(given)) nested.refuse(given, "tensors");
  if (!model) return given;
  Json places = nesting_of(*model);
  if (is_dictionary(given) && !places.is_object()) {
    places = Json::object();
    for (const std::string& name : model->input_names()) places[name] = places.size();
  }
  return is_dictionary(given) || (given.is_array() && places.is_array()) ? flat(nested, *model, places, given)
                                                                         : given;
}

Json list_of_masks(const Layer& layer, const Json& given, const std::string& where) {
  const auto* const model = functional(layer);
  if (!model || !is_dictionary(given) || nesting_of(*model).is_object())
    return list_of_inputs(layer, given, where);
  std::map<std::string, const Json*> sorted;
  for (const auto& [name, mask] : given.items()) sorted[name] = &mask;
  Json list = Json::array();
  for (const auto& [name, mask] : sorted) list.push_back(*mask);
  return list;
}

}  // namespace nyala
