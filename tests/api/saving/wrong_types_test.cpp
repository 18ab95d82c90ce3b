// Values of a type that their option does not take, in the configuration of a file: where, expected, found.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/base/layer.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

using ::testing::AllOf;
using ::testing::HasSubstr;

template <class Make>
std::string refused(Make make) {
  try {
    make();
  } catch (const FileFormatError& error) {
    return error.what();
  }
  return "nothing was thrown";
}

std::string layer(const std::string& class_name, const std::string& config) {
  return refused([&] { Layer::from_config(class_name, config); });
}

TEST(WrongTypes, AreNamedWithWhatWasExpected) {
  const struct {
    const char *class_name, *config, *text;
  } known[] = {
      {"Dense", R"({"units": "ten"})", "'units': expected an integer, found string 'ten'"},
      {"Dense", R"({"units": 3, "use_bias": "no"})", "'use_bias': expected true or false, found string 'no'"},
      {"Dense", R"({"units": 3, "trainable": "yes"})",
       "'trainable': expected true or false, found string 'yes'"},
      {"Dense", R"({"units": 3, "name": 7})", "'name': expected text, found number 7"},
      {"Dense", R"({"units": 3, "activation": 5})",
       "'activation': expected a name or an object with 'class_name', found number 5"},
      {"Dense", R"({"units": 3, "kernel_regularizer": [1]})",
       "'kernel_regularizer': expected a name or an object with 'class_name', found array [1]"},
      {"Dense", R"({"units": 3, "kernel_initializer": {"class_name": "Constant", "config": 5}})",
       "'kernel_initializer' (Constant), 'config': expected an object of options, found number 5"},
      {"Conv2D", R"({"filters": 3, "kernel_size": "3"})",
       "'kernel_size': expected an integer, found string '3'"},
  };
  for (const auto& wrong : known)
    EXPECT_THAT(layer(wrong.class_name, wrong.config), HasSubstr(wrong.text)) << wrong.config;
}

TEST(WrongTypes, NullAndListsStandOnlyForWhatTakesThem) {
  const struct {
    const char *class_name, *config, *text;
  } known[] = {
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": [[1], 3]})",
       "layer 'c', 'kernel_size': expected an integer, found array [1]"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": [[1], [3]]})",
       "layer 'c', 'kernel_size': expected an integer, found array [1]"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": null})",
       "layer 'c' (Conv2D): Conv2D: expected kernel_size > 0, received None"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": 3, "dilation_rate": null})",
       "layer 'c', 'dilation_rate': expected an integer, found null"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": [null, 3]})",
       "layer 'c', 'kernel_size': expected an integer, found null"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": 3, "groups": null})",
       "layer 'c', 'groups': expected an integer, found null"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": 3, "groups": [1]})",
       "layer 'c', 'groups': expected an integer, found array [1]"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": 3, "padding": null})",
       "layer 'c', 'padding': expected text, found null"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": 3, "use_bias": null})",
       "layer 'c', 'use_bias': expected true or false, found null"},
      {"Conv2D", R"({"name": "c", "filters": 3, "kernel_size": 3, "use_bias": 7})",
       "layer 'c', 'use_bias': expected true or false, found number 7"},
      {"BatchNormalization", R"({"name": "b", "momentum": null})",
       "layer 'b', 'momentum': expected a number, found null"},
      {"BatchNormalization", R"({"name": "b", "axis": null})",
       "layer 'b', 'axis': expected an integer, found null"},
      {"LayerNormalization", R"({"name": "l", "axis": [null]})",
       "layer 'l', 'axis': expected an integer, found null"},
      {"PReLU", R"({"name": "p", "shared_axes": [null]})",
       "layer 'p', 'shared_axes': expected an integer, found null"},
      {"ZeroPadding2D", R"({"name": "z", "padding": [[1], [2]]})",
       "layer 'z', 'padding': expected an integer, found array [1]"},
      {"RandomZoom", R"({"name": "r", "height_factor": [[0.1], 0.2]})",
       "layer 'r', 'height_factor': expected a number, found array [0.1]"},
      {"Dense",
       R"({"name": "d", "units": 1,
           "kernel_regularizer": {"class_name": "L2", "config": {"l2": null}}})",
       "'kernel_regularizer' (L2), 'l2': expected a number, found null"},
  };
  for (const auto& wrong : known)
    EXPECT_THAT(layer(wrong.class_name, wrong.config), HasSubstr(wrong.text)) << wrong.config;
}

TEST(WrongTypes, ArgumentsOfACallThatAreNoTensors) {
  const auto adding = [](const std::string& second, const std::string& kwargs = "{}") {
    const std::string tensor =
        R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["a", 0, 0]}})";
    return refused([&] {
      model_from_json(
          R"({"class_name": "Functional", "config": {"name": "m", "layers": [{"class_name": "InputLayer",
          "config": {"batch_shape": [null, 2], "name": "a"}, "name": "a", "inbound_nodes": []},
          {"class_name": "Add", "module": "keras.layers", "config": {"name": "s"}, "name": "s",
          "inbound_nodes": [{"args": [[)" +
          tensor + ", " + (second.empty() ? tensor : second) + R"(]], "kwargs": )" + kwargs +
          R"(}]}], "input_layers": [["a", 0, 0]], "output_layers": [["s", 0, 0]]}})");
    });
  };
  EXPECT_EQ(adding(""), "nothing was thrown");
  for (const std::string other : {R"("relu")", "null", "5", R"({"class_name":"Dense","config":{"units":2}})"})
    EXPECT_THAT(adding(other), HasSubstr("layer 's' is called with " + other + ": expected tensors"));
  EXPECT_THAT(adding("", R"({"scale": 2})"),
              HasSubstr("layer 's' is called with 'scale', which is not built"));
  EXPECT_THAT(adding("", R"({"training": 1})"),
              HasSubstr("layer 's' is called with 'training': expected true, false or null, found 1"));
  EXPECT_EQ(adding("", R"({"scale": null, "training": null, "mask": null})"), "nothing was thrown");
  const auto array = [](const char* value, const char* dtype) {
    return R"({"class_name": "__numpy__", "config": {"value": )" + std::string(value) + R"(, "dtype": ")" +
           dtype + "\"}}";
  };
  EXPECT_EQ(adding(array("[[1, 2]]", "float32")), "nothing was thrown");
  EXPECT_EQ(adding(array("[[NaN, -Infinity]]", "float32")), "nothing was thrown");
  EXPECT_THAT(adding(array("[[NaN, 2]]", "int32")),
              HasSubstr("layer 's': expected whole numbers, found NaN"));
  EXPECT_THAT(adding(array("[[300, 2]]", "uint8")), HasSubstr("expected numbers that uint8 holds"));
  EXPECT_THAT(adding(array("[[1, 2], [3]]", "float32")), HasSubstr("rows differ in length"));
  EXPECT_THAT(adding(array("[[1, 2, 3]]", "float32")), HasSubstr("(1, 3)"));
  EXPECT_THAT(adding(array("[[1, 2]]", "float31")), HasSubstr("layer 's', 'dtype': unknown dtype 'float31'"));
}

/// A functional model whose only layer or operation has this for its "config".
std::string holding(const std::string& class_name, const std::string& module, const std::string& config) {
  return refused([&] {
    model_from_json(
        R"({"class_name": "Functional", "config": {"name": "m", "layers": [{"class_name": "InputLayer",
        "config": {"batch_shape": [null, 2], "name": "a"}, "name": "a", "inbound_nodes": []},
        {"class_name": ")" +
        class_name + R"(", "module": ")" + module + R"(", "name": "s", )" + config +
        R"("inbound_nodes": [{"args": [{"class_name": "__keras_tensor__",
        "config": {"keras_history": ["a", 0, 0]}}], "kwargs": {}}]}],
        "input_layers": [["a", 0, 0]], "output_layers": [["s", 0, 0]]}})");
  });
}

/// As in Keras: null stands for {}, everything else is an error.
TEST(WrongTypes, ConfigsThatAreNoObjects) {
  for (const auto& [class_name, module] : {std::pair{"ReLU", "keras.layers"}, {"Relu", "keras.src.ops.nn"}}) {
    EXPECT_EQ(holding(class_name, module, R"("config": {}, )"), "nothing was thrown");
    EXPECT_EQ(holding(class_name, module, R"("config": null, )"), "nothing was thrown");
    EXPECT_THAT(holding(class_name, module, ""),
                HasSubstr("layer 's' (" + std::string(class_name) + "): there is no 'config'"));
    for (const char* config : {"1.5", "[1]", "[]", "NaN", "false", "0", "\"x\""})
      EXPECT_THAT(holding(class_name, module, R"("config": )" + std::string(config) + ", "),
                  AllOf(HasSubstr("model_from_json: layer 'm': layer 's' (" + std::string(class_name) +
                                  "), 'config': expected an object of options, found "),
                        HasSubstr(config[0] == '"' ? "'x'" : config)));
  }
  for (const char* key : {"kernel_initializer", "kernel_regularizer", "kernel_constraint"}) {
    const std::string object = R"({"units": 1, "name": "d", ")" + std::string(key) +
                               R"(": {"class_name": ")" +
                               (key[7] == 'i'   ? "Zeros"
                                : key[7] == 'r' ? "L2"
                                                : "NonNeg") +
                               "\"";
    EXPECT_EQ(layer("Dense", object + "}}"), "nothing was thrown");
    EXPECT_EQ(layer("Dense", object + R"(, "config": null}})"), "nothing was thrown");
    for (const char* config : {"1.5", "[1]", "[]", "NaN", "false", "\"x\""})
      EXPECT_THAT(layer("Dense", object + ", \"config\": " + config + "}}"),
                  HasSubstr("'config': expected an object of options, found"));
  }
}

TEST(WrongTypes, NotANumberIsNoNullAndInfinityANumber) {
  const struct {
    const char *class_name, *config, *text;
  } known[] = {
      {"Dense", R"({"name": "d", "units": NaN})",
       "layer 'd', 'units': expected an integer, found number NaN"},
      {"Dense", R"({"name": "d", "units": -Infinity})",
       "'units': expected an integer, found number -Infinity"},
      {"Dense", R"({"name": "d", "units": 1, "use_bias": NaN})",
       "'use_bias': expected true or false, found number NaN"},
      {"Dense", R"({"name": "d", "units": 1, "activation": NaN})", "'activation': expected a name"},
      {"Dense", R"({"name": "d", "units": 1, "kernel_regularizer": NaN})", "'kernel_regularizer': expected"},
      {"Dense", R"({"name": NaN, "units": 1})", "'name': expected text, found number NaN"},
      {"MaxPooling2D", R"({"name": "m", "strides": NaN})",
       "'strides': expected an integer, found number NaN"},
      {"ReLU", R"({"name": "r", "max_value": NaN})",
       "layer 'r', 'max_value': expected a number or null, found number NaN"},
      {"Dropout", R"({"name": "r", "rate": NaN})", "rate"},
  };
  for (const auto& wrong : known)
    EXPECT_THAT(layer(wrong.class_name, wrong.config), HasSubstr(wrong.text)) << wrong.config;
  const Layer relu = Layer::from_config("ReLU", R"({"max_value": Infinity})");
  EXPECT_THAT(relu.get_config(), HasSubstr("\"max_value\":Infinity"));
  EXPECT_THAT(Layer::from_config("Rescaling", R"({"scale": NaN, "offset": -Infinity})").get_config(),
              HasSubstr("\"scale\":NaN,\"offset\":-Infinity"));
}

/// A functional model of an Input and a Dense layer with these options, call and entries beside.
struct Small {
  std::string input = {}, dense = {}, model = {}, keywords = "{}", calls_of_input = "[]",
              class_name = "Dense";

  std::string text() const {
    return R"({"class_name": "Functional", "config": {"name": "m", )" + model + R"("layers": [
        {"class_name": "InputLayer", "module": "keras.layers", "name": "a", "inbound_nodes": )" +
           calls_of_input + R"(, "config": {)" + input + R"("batch_shape": [null, 2], "name": "a"}},
        {"class_name": ")" +
           class_name + R"(", "module": "keras.layers", "name": "d", "config": {)" + dense +
           (class_name == "Dense" ? R"("units": 1, )" : "") +
           R"("name": "d"}, "inbound_nodes": [{"args": [{"class_name": "__keras_tensor__",
        "config": {"keras_history": ["a", 0, 0]}}], "kwargs": )" +
           keywords + R"(}]}],
        "input_layers": [["a", 0, 0]], "output_layers": [["d", 0, 0]]}})";
  }
  std::string refusal() const {
    return refused([&] { model_from_json(text()); });
  }
};

TEST(WrongTypes, OfOptionsThatAreNotBuilt) {
  EXPECT_EQ(Small().refusal(), "nothing was thrown");
  for (const char* harmless : {"false", "null"}) {
    const std::string value = std::string(": ") + harmless + ", ";
    for (const std::string key : {"sparse", "ragged", "optional"})
      EXPECT_EQ(Small{.input = '"' + key + '"' + value}.refusal(), "nothing was thrown") << key;
    EXPECT_EQ(Small({.dense = R"("renorm")" + value, .class_name = "BatchNormalization"}).refusal(),
              "nothing was thrown");
  }
  EXPECT_EQ(Small{.dense = R"("quantization_config": null, )"}.refusal(), "nothing was thrown");
  EXPECT_EQ(Small{.model = R"("trainable": null, )"}.refusal(), "nothing was thrown");
  const std::pair<Small, const char*> known[] = {
      {{.model = R"("trainable": "NaN", )"},
       "layer 'm', 'trainable': expected true or false, found string 'NaN'"},
      {{.model = R"("name": 5, )"}, "'name': expected text, found number 5"},
      {{.input = R"("sparse": "yes", )"}, "layer 'a', 'sparse': expected true or false, found string 'yes'"},
      {{.input = R"("ragged": {}, )"}, "layer 'a', 'ragged': expected true or false, found object {}"},
      {{.input = R"("optional": 5, )"}, "layer 'a', 'optional': expected true or false, found number 5"},
      {{.input = R"("sparse": true, )"}, "layer 'a': sparse inputs are not built yet"},
      {{.input = R"("ragged": true, )"}, "layer 'a': ragged inputs are not built yet"},
      {{.dense = R"("quantization_config": {"class_name": "Int8"}, )"},
       R"('quantization_config': quantized layers are not built yet, expected null, found {"class_name")"},
      {{.dense = R"("dtype": {"class_name": "QuantizedDTypePolicy", "config": {"mode": "int8"}}, )"},
       "layer 'd', 'dtype': quantized layers are not built yet, found a QuantizedDTypePolicy"},
      {{.dense = R"("renorm": true, )", .class_name = "BatchNormalization"},
       "layer 'd', 'renorm': batch renormalization is not built yet"},
      {{.dense = R"("renorm": "x", )", .class_name = "BatchNormalization"},
       "layer 'd', 'renorm': expected true or false, found string 'x'"},
      {{.calls_of_input = R"([{"args": [], "kwargs": {}}])"},
       "layer 'a', 'inbound_nodes': expected none, since it is an input, found [{"},
      {{.calls_of_input = "5"}, "layer 'a', 'inbound_nodes': expected none"},
      {{.keywords = R"({"training": {}})"},
       "layer 'd' is called with 'training': expected true, false or null"},
      {{.keywords = R"({"mask": 5})"}, "layer 'd' is called with 'mask': expected tensors or null, found 5"},
      {{.keywords = R"({"mask": {}})"}, "layer 'd' is called with 'mask': expected tensors or null, found {"},
  };
  for (const auto& [model, text] : known) EXPECT_THAT(model.refusal(), HasSubstr(text));
}

/// Keras makes one, and neither saves nor trains its weights.
TEST(WrongTypes, ALayerWithWeightsAsAnActivation) {
  EXPECT_THAT(Small{.dense = R"("activation": {"class_name": "PReLU", "config": {"name": "p"}}, )"}.refusal(),
              HasSubstr("layer 'd' (Dense): activation 'p' (PReLU): a layer with weights as an activation is "
                        "not built yet"));
  EXPECT_EQ(Small{.dense = R"("activation": {"class_name": "LeakyReLU", "config": {}}, )"}.refusal(),
            "nothing was thrown");
}

/// With the names of what it is given and of what it takes.
TEST(WrongTypes, OfDictionariesThatLayersAreCalledWith) {
  const std::string tensor =
      R"({"class_name": "__keras_tensor__", "config": {"keras_history": ["a", 0, 0]}})";
  const std::string input = R"({"class_name": "InputLayer", "config": {"batch_shape": [null, 2], "name": "a"},
                                "name": "a", "inbound_nodes": []})";
  const auto calling = [&](const std::string& inner, const std::string& given) {
    return refused([&] {
      model_from_json(R"({"class_name": "Functional", "config": {"name": "m", "layers": [)" + input + ", " +
                      inner + R"(, "name": "d", "inbound_nodes": [{"args": [)" + given +
                      R"(], "kwargs": {}}]}], "input_layers": [["a", 0, 0]],
                      "output_layers": [["d", 0, 0]]}})");
    });
  };
  const std::string dense = R"({"class_name": "Dense", "config": {"units": 1, "name": "d"})";
  const std::string model = R"({"class_name": "Functional", "config": {"name": "d", "layers": [)" + input +
                            R"(], "input_layers": [["a", 0, 0]], "output_layers": [["a", 0, 0]]})";
  const std::string nested = R"({"class_name": "Functional", "config": {"name": "d", "layers": [)" + input +
                             R"(], "input_layers": {"k": ["a", 0, 0]}, "output_layers": [["a", 0, 0]]})";
  EXPECT_EQ(calling(model, R"({"a": )" + tensor + "}"), "nothing was thrown");
  EXPECT_EQ(calling(nested, R"({"k": )" + tensor + "}"), "nothing was thrown");
  EXPECT_THAT(calling(dense, R"({"x": )" + tensor + "}"),
              HasSubstr("layer 'd' (Dense) is called with a dictionary of 'x': expected tensors"));
  EXPECT_THAT(calling(model, R"({"x": )" + tensor + R"(, "y": )" + tensor + "}"),
              HasSubstr("layer 'd' (Functional) is called with a dictionary of 'x', 'y': expected a "
                        "dictionary of 'a'"));
  EXPECT_THAT(calling(nested, R"({"a": )" + tensor + "}"),
              HasSubstr("is called with a dictionary of 'a': expected a dictionary of 'k'"));
}

TEST(WrongTypes, WhatKerasWritesIsTaken) {
  const std::pair<const char*, const char*> known[] = {
      {"BatchNormalization", R"({"axis": [3]})"},  // Keras 2
      {"MaxPooling2D", R"({"pool_size": [2, 2], "strides": null, "data_format": null})"},
      {"ZeroPadding2D", R"({"padding": [[1, 2], [3, 4]]})"},
      {"Cropping3D", R"({"cropping": [[1, 2], [3, 4], [5, 6]]})"},
      {"Dropout", R"({"rate": 0.5, "noise_shape": [null, 1, 3], "seed": null})"},
      {"EinsumDense", R"({"equation": "ab,bc->ac", "output_shape": [null]})"},
      {"PReLU", R"({"shared_axes": null})"},
      {"ReLU", R"({"max_value": null})"},
      {"Normalization", R"({"axis": [-1], "mean": null, "variance": null})"},
      {"Normalization", R"({"axis": [1, 2], "mean": [[1, 2], [3, 4]], "variance": [[1, 1], [1, 1]]})"},
      {"Dense",
       R"({"units": 3, "kernel_initializer": null, "kernel_regularizer": null, "activation": null})"},
  };
  for (const auto& [class_name, config] : known)
    EXPECT_NO_THROW(Layer::from_config(class_name, config)) << class_name << " " << config;
}

TEST(WrongTypes, OfAnOptimizer) {
  EXPECT_THAT(refused([] { parse_optimizer(R"({"class_name": "SGD", "config": {"momentum": null}})"); }),
              HasSubstr("'momentum': expected a number, found null"));
  EXPECT_THAT(refused([] { parse_optimizer(R"({"class_name": "SGD", "config": {"learning_rate": null}})"); }),
              HasSubstr("'learning_rate': expected a number or a learning rate schedule, found null"));

  EXPECT_THAT(
      refused([] { parse_optimizer(R"({"class_name": "Adam", "config": {"learning_rate": "fast"}})"); }),
      HasSubstr("'learning_rate': expected a number or a learning rate schedule, found string 'fast'"));
}

TEST(WrongTypes, LongTextIsShownByItsBeginning) {
  EXPECT_THAT(layer("Dense", R"({"units": ")" + std::string(200, 'x') + "\"}"),
              HasSubstr("found string '" + std::string(60, 'x') + "...'"));
}

}  // namespace
}  // namespace nyala
