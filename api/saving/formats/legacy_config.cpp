// Keras 1 and 2 configurations are rewritten into Keras 3's form, so that one reader builds all: names of
// classes and options by tables, calls of layers from nested lists to arguments, the input of a Sequential
// from its first layer. What would mean something else today (time_major, old modes) is an error, not
// ignored.
#include <nyala/api/saving/formats/legacy_config.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>

#include <nyala/api/saving/config/config_reader.h>
#include <nyala/api/saving/formats/legacy_ops.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

using Names = std::map<std::string, std::string>;

/// Classes that have another name today.
const Names& kClasses = *new Names{{"Convolution1D", "Conv1D"},
                                   {"Convolution2D", "Conv2D"},
                                   {"Convolution3D", "Conv3D"},
                                   {"AtrousConvolution2D", "Conv2D"},
                                   {"Deconvolution2D", "Conv2DTranspose"},
                                   {"Convolution2DTranspose", "Conv2DTranspose"},
                                   {"SeparableConvolution2D", "SeparableConv2D"},
                                   {"Model", "Functional"},
                                   {"CuDNNLSTM", "LSTM"},
                                   {"CuDNNGRU", "GRU"},
                                   {"BatchNormalizationV1", "BatchNormalization"},
                                   {"BatchNormalizationV2", "BatchNormalization"},
                                   {"SyncBatchNormalization", "BatchNormalization"},
                                   {"ThresholdedReLU", "ReLU"}};

/// Keys of Keras 1 that have another name in every class.
const Names& kKeys = *new Names{{"nb_filter", "filters"},
                                {"filter_length", "kernel_size"},
                                {"subsample", "strides"},
                                {"subsample_length", "strides"},
                                {"border_mode", "padding"},
                                {"dim_ordering", "data_format"},
                                {"atrous_rate", "dilation_rate"},
                                {"init", "kernel_initializer"},
                                {"inner_init", "recurrent_initializer"},
                                {"inner_activation", "recurrent_activation"},
                                {"W_regularizer", "kernel_regularizer"},
                                {"U_regularizer", "recurrent_regularizer"},
                                {"b_regularizer", "bias_regularizer"},
                                {"W_constraint", "kernel_constraint"},
                                {"U_constraint", "recurrent_constraint"},
                                {"b_constraint", "bias_constraint"},
                                {"bias", "use_bias"},
                                {"p", "rate"},
                                {"dropout_W", "dropout"},
                                {"dropout_U", "recurrent_dropout"},
                                {"pool_length", "pool_size"},
                                {"stride", "strides"},
                                {"beta_init", "beta_initializer"},
                                {"gamma_init", "gamma_initializer"}};

/// Keys that say nothing to today's layers.
const std::set<std::string>& kSilent = *new std::set<std::string>{
    "implementation", "consume_less", "input_dtype",       "input_dim",   "input_length",
    "time_major",     "ragged",       "batch_input_shape", "nb_row",      "nb_col",
    "mode",           "sparse",       "kernel_dim1",       "kernel_dim2", "kernel_dim3"};

bool holds(const Json& json, const char* key) { return json.is_object() && json.contains(key); }

void rename(Json& config, const std::string& from, const std::string& to) {
  if (!config.contains(from)) return;
  if (!config.contains(to)) config[to] = Json(config[from]);
  config.erase(from);
}

std::string name_in(const Json& config, const std::string& otherwise) {
  return holds(config, "name") && config["name"].is_string() ? config["name"].get<std::string>() : otherwise;
}

/// {"name": "WeightRegularizer", "l1": 0, "l2": 0.01} and {"name": "MaxNorm", "m": 2}.
Json upgrade_object(const std::string& key, const Json& value) {
  if (!value.is_object() || value.contains("class_name") || !value.contains("name")) return value;
  Json config = value;
  std::string name = value["name"].is_string() ? value["name"].get<std::string>() : "";
  config.erase("name");
  if (key.ends_with("regularizer")) name = "L1L2";
  rename(config, "m", "max_value");
  return {{"class_name", name}, {"config", config}};
}

class Upgrade {
 public:
  Upgrade(int keras, std::string where) : keras_(keras), where_(std::move(where)) {}

  /// A layer or model, with everything inside.
  Json layer(const Json& given) const {
    Json json = without_tuples(given);
    if (!holds(json, "class_name") || !json["class_name"].is_string()) return json;
    std::string name = json["class_name"].as_string();
    if (name.find('>') != std::string::npos && !holds(json, "registered_name"))
      json["registered_name"] = name;
    name = name.substr(name.rfind('>') + 1);
    const std::string old_name = name;
    if (const auto found = kClasses.find(name); found != kClasses.end()) name = found->second;
    json["class_name"] = name;
    if (!json.contains("config")) return json;
    Json config = json["config"];
    if (name == "Sequential")
      config = sequential(config);
    else if (name == "Functional")
      config = functional(std::move(config));
    else if (config.is_object())
      config = plain(old_name, name, std::move(config));
    json["config"] = std::move(config);
    return json;
  }

 private:
  Json plain(const std::string& old_name, const std::string& name, Json config) const {
    for (const char* inner : {"layer", "backward_layer", "cell"})
      if (config.contains(inner)) config[inner] = layer(config[inner]);
    if (holds(config, "cells") && config["cells"].is_array())
      for (Json& cell : config["cells"]) cell = layer(cell);
    if (keras_ >= 3) return config;
    if (config.contains("time_major") && config["time_major"] == true)
      throw FileFormatError(where_ + ": layer " + detail::in_quotes(name_in(config, name)) +
                            " has its steps on the first axis (time_major), which is not built yet");
    if (config.contains("mode") && config["mode"].is_number_integer() && config["mode"] != 0)
      throw FileFormatError(where_ + ": layer " + detail::in_quotes(name_in(config, name)) + " (" +
                            printable(name) + ") of mode " + config["mode"].dump() + " is not built yet");
    for (const auto& [from, to] : kKeys) rename(config, from, to);
    rename_by_class(old_name, name, config);
    for (const std::string& key : kSilent)
      if (!is_read(name, key)) config.erase(key);
    for (const auto& [key, value] : config.items())
      if (value.is_object()) config[key] = upgrade_object(key, value);
    for (const char* key : {"activation", "recurrent_activation"})
      if (config.contains(key) && config[key] == "hard_sigmoid") config[key] = "legacy_hard_sigmoid";
    if (config.contains("data_format") && config["data_format"].is_string()) {
      if (config["data_format"] == "tf") config["data_format"] = "channels_last";
      if (config["data_format"] == "th") config["data_format"] = "channels_first";
    }
    return config;
  }

  /// Keys of kSilent that say something for a class.
  static bool is_read(const std::string& name, const std::string& key) {
    return name == "InputLayer" || (name == "Embedding" && key == "input_dim") ||
           (name == "CategoryEncoding" && key == "sparse");
  }

  static void rename_by_class(const std::string& old_name, const std::string& name, Json& config) {
    if (name == "Embedding") {
      rename(config, "kernel_initializer", "embeddings_initializer");
      rename(config, "kernel_regularizer", "embeddings_regularizer");
      rename(config, "kernel_constraint", "embeddings_constraint");
    } else {
      rename(config, "output_dim", "units");
    }
    if (config.contains("nb_row") && config.contains("nb_col") && !config.contains("kernel_size"))
      config["kernel_size"] = Json::array({config["nb_row"], config["nb_col"]});
    if (config.contains("kernel_dim1") && config.contains("kernel_dim2") && config.contains("kernel_dim3") &&
        !config.contains("kernel_size"))
      config["kernel_size"] =
          Json::array({config["kernel_dim1"], config["kernel_dim2"], config["kernel_dim3"]});
    if (name == "LeakyReLU") rename(config, "alpha", "negative_slope");
    if (old_name == "ThresholdedReLU") rename(config, "theta", "threshold");
    if (config.contains("forget_bias_init")) {
      config["unit_forget_bias"] = config["forget_bias_init"] == "one";
      config.erase("forget_bias_init");
    }
    if (name == "GRU" && !config.contains("reset_after")) config["reset_after"] = old_name == "CuDNNGRU";
    if (old_name.starts_with("CuDNN")) config["recurrent_activation"] = "sigmoid";
    if (name == "DepthwiseConv2D" || name == "DepthwiseConv1D")
      for (const char* key :
           {"groups", "filters", "kernel_initializer", "kernel_regularizer", "kernel_constraint"})
        config.erase(key);
  }

  /// Keras 2 until 2.2.2 had a bare list of layers, and until 3 no InputLayer.
  Json sequential(const Json& given) const {
    Json config = given.is_array() ? Json{{"layers", given}} : given;
    if (!holds(config, "layers") || !config["layers"].is_array())
      throw FileFormatError(where_ + ": a Sequential without its layers");
    Json layers = Json::array();
    for (const Json& entry : config["layers"]) {
      if (layers.empty() && keras_ < 3) add_input(entry, layers);
      layers.push_back(layer(entry));
    }
    config["layers"] = std::move(layers);
    return config;
  }

  static void add_input(const Json& first, Json& layers) {
    if (!holds(first, "config") || (holds(first, "class_name") && first["class_name"] == "InputLayer"))
      return;
    const Json* config = &first["config"];
    while (holds(*config, "layer") && !holds(*config, "batch_input_shape") &&
           holds((*config)["layer"], "config"))
      config = &(*config)["layer"]["config"];
    if (!holds(*config, "batch_input_shape")) return;
    const std::string name = holds(first["config"], "name") && first["config"]["name"].is_string()
                                 ? first["config"]["name"].as_string()
                                 : "x";
    layers.push_back(
        {{"class_name", "InputLayer"},
         {"config", {{"batch_shape", (*config)["batch_input_shape"]}, {"name", name + "_input"}}}});
  }

  Json functional(Json config) const {
    if (!holds(config, "layers") || !config["layers"].is_array()) return config;
    if (keras_ < 3) count_calls_as_keras_3(config);
    for (Json& entry : config["layers"]) {
      if (is_op_lambda(entry)) {
        entry = op_of_lambda(without_tuples(entry), where_);
        continue;
      }
      entry = layer(entry);
      if (holds(entry, "inbound_nodes") && entry["inbound_nodes"].is_array())
        for (Json& node : entry["inbound_nodes"])
          if (node.is_array() || is_dictionary_of_tensors(node)) node = call(node);
    }
    return config;
  }

  /// A nested model, whose own graph Keras 2 counts as its first call where it was made with an Input.
  struct NestedModel {
    int64_t calls = 0, last = -1;
    bool is_functional = false;
    int64_t own_graphs() const { return last >= calls ? 1 : 0; }
  };

  /// Keras 3 counts the graph of a nested model among the outputs alone, and of functional models alone.
  static void count_calls_as_keras_3(Json& config) {
    std::map<std::string, NestedModel> models;
    for (const Json& entry : config["layers"]) {
      if (!holds(entry, "name") || !entry["name"].is_string() || !holds(entry, "inbound_nodes") ||
          !holds(entry, "config") || !holds(entry["config"], "layers"))
        continue;
      models[entry["name"].as_string()] = {.calls = static_cast<int64_t>(entry["inbound_nodes"].size()),
                                           .is_functional = holds(entry["config"], "output_layers")};
    }
    if (models.empty()) return;
    const auto see = [](const Json& triple, NestedModel& model) {
      model.last = std::max(model.last, triple[1].get<int64_t>());
    };
    const auto among_calls = [](Json& triple, const NestedModel& model) {
      triple[1] = triple[1].get<int64_t>() - model.own_graphs();
    };
    const auto among_outputs = [](Json& triple, const NestedModel& model) {
      triple[1] = triple[1].get<int64_t>() - model.own_graphs() + (model.is_functional ? 1 : 0);
    };
    const bool has_outputs = holds(config, "output_layers");
    for (Json& entry : config["layers"])
      if (holds(entry, "inbound_nodes")) each_triple(entry["inbound_nodes"], models, see);
    if (has_outputs) each_triple(config["output_layers"], models, see);
    for (Json& entry : config["layers"])
      if (holds(entry, "inbound_nodes")) each_triple(entry["inbound_nodes"], models, among_calls);
    if (has_outputs) each_triple(config["output_layers"], models, among_outputs);
  }

  template <class F>
  static void each_triple(Json& json, std::map<std::string, NestedModel>& models, const F& f) {
    if (is_triple(json))
      if (const auto model = models.find(json[0].as_string()); model != models.end()) f(json, model->second);
    if (json.is_structured())
      for (Json& item : json) each_triple(item, models, f);
  }

  static bool is_triple(const Json& json) {
    return json.is_array() && json.size() >= 3 && json[0].is_string() && json[1].is_number_integer() &&
           json[2].is_number_integer();
  }

  static Json keras_tensor(const Json& triple) {
    return {{"class_name", "__keras_tensor__"},
            {"config", {{"keras_history", {triple[0], triple[1], triple[2]}}}}};
  }

  static bool is_dictionary_of_tensors(const Json& node) {
    return node.is_object() && !node.empty() && std::ranges::all_of(node, is_triple);
  }

  /// [["layer", 0, 0, {}], ...] and {"a": ["layer", 0, 0, {}], ...} as {"args": [...], "kwargs": {...}}.
  static Json call(const Json& node) {
    Json args = Json::array(), keywords = Json::object();
    if (node.is_object()) {
      args.push_back(node);
      for (Json& input : args[0]) input = keras_tensor(input);
    }
    for (const Json& input : is_triple(node) ? Json::array({node}) : node) {
      if (!is_triple(input)) continue;
      if (node.is_array()) args.push_back(keras_tensor(input));
      if (input.size() > 3 && input[3].is_object())
        for (const auto& [key, value] : input[3].items()) keywords[key] = keyword(value);
    }
    return {{"args", args}, {"kwargs", keywords}};
  }

  static Json keyword(const Json& value) {
    if (is_triple(value)) return keras_tensor(value);
    if (!value.is_array()) return value;
    Json list = Json::array();
    for (const Json& item : value) list.push_back(keyword(item));
    return list;
  }

  static Json without_tuples(const Json& json) {
    if (holds(json, "class_name") && json["class_name"] == "__tuple__" && json.contains("items"))
      return without_tuples(json["items"]);
    if (!json.is_structured()) return json;
    Json out = json;
    for (auto& item : out) item = without_tuples(item);
    return out;
  }

  int keras_;
  std::string where_;
};

/// The rate that fell with the number of updates was a setting of each optimizer.
Json upgrade_optimizer(Json optimizer) {
  if (!holds(optimizer, "config") || !optimizer["config"].is_object()) return optimizer;
  Json& config = optimizer["config"];
  rename(config, "lr", "learning_rate");
  if (config.contains("decay") && config["decay"].is_number() && config["decay"].get<double>() > 0 &&
      config.contains("learning_rate") && config["learning_rate"].is_number())
    config["learning_rate"] = {{"class_name", "InverseTimeDecay"},
                               {"config",
                                {{"initial_learning_rate", config["learning_rate"]},
                                 {"decay_steps", 1},
                                 {"decay_rate", config["decay"]}}}};
  config.erase("decay");
  return optimizer;
}

Json upgrade_loss(Json loss) {
  if (holds(loss, "config") && loss["config"].is_object()) {
    loss["config"].erase("fn");
    if (loss["config"].contains("reduction") && loss["config"]["reduction"] == "auto")
      loss["config"].erase("reduction");
  } else if (loss.is_structured() && !holds(loss, "class_name")) {
    for (auto& item : loss) item = upgrade_loss(item);
  }
  return loss;
}

}  // namespace

Json upgrade_model_config(const Json& config, const std::string& keras_version, const std::string& where) {
  const int major = keras_version.empty() ? 1 : keras_version[0] - '0';
  return Upgrade(major, where).layer(config);
}

Json upgrade_training_config(const Json& config) {
  if (!config.is_object()) return {};
  Json out = config;
  if (config.contains("optimizer_config")) out["optimizer"] = upgrade_optimizer(config["optimizer_config"]);
  if (config.contains("loss")) out["loss"] = upgrade_loss(config["loss"]);
  return out;
}

}  // namespace nyala
