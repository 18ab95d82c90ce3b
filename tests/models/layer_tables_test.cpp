// Every operation of every architecture, with and without a top, is that of Keras: name, order, class,
// settings, shape, inputs, weights.
#include <gtest/gtest.h>

#include <nyala/api/model/functional.h>
#include <nyala/api/model/sequential.h>
#include <nyala/models/find_application.h>
#include <nyala/tests/models/layer_tables.h>
#include <nyala/tests/models/setting_texts.h>
#include <nyala/tests/models/shape_only_variables.h>

namespace nyala {
namespace {

const LayerTables& tables() {
  static const LayerTables all = read_layer_tables(NYALA_SOURCE_DIR "/tests/models/layer_tables.txt.gz");
  return all;
}

std::string sizes(const Shape& shape) {
  std::string out;
  for (const int64_t size : shape)
    out += (out.empty() ? "" : ",") + (size == None ? "None" : std::to_string(size));
  return out;
}

std::string without_prefix(const std::string& text, const std::string& prefix) {
  return text.starts_with(prefix) ? text.substr(prefix.size()) : text;
}

std::string weights_of(const Layer& layer) {
  std::string out;
  for (const Variable& weight : layer.weights())
    out += (out.empty() ? "" : " ") + without_prefix(weight.path(), layer.name() + "/") + "(" +
           sizes(weight.shape()) + ")";
  return out;
}

const std::string& name_of_node(const GraphNode& node) {
  const Layer layer = FunctionalNode::layer_of(node);
  return layer ? layer.name() : node.name;
}

/// Where a layer's settings are not what a row says: "strides is (1,1), not (2,2)".
std::string settings_error(LayerNode& node, const std::string& row_settings) {
  std::map<std::string, std::string> expected = tables().defaults.at(node.class_name());
  for (const auto& [key, value] : split_settings(row_settings)) expected[key] = value;
  SettingTexts received;
  node.fields(received);
  std::string error;
  for (const auto& [key, value] : expected) {
    const auto found = received.texts().find(key);
    if (found == received.texts().end())
      error += " no setting " + key + ";";
    else if (found->second != value)
      error += " " + key + " is " + found->second + ", not " + value + ";";
  }
  return error;
}

/// "name:Class{settings} name:Class{settings}".
std::string nested_error(const SequentialNode& node, const std::string& row_settings) {
  const std::vector<std::string> parts = split(row_settings, ' ');
  const std::vector<Layer> layers = node.layers();
  if (parts.size() != layers.size()) return "another number of layers";
  std::string error;
  for (size_t i = 0; i < layers.size(); ++i) {
    const std::string head = layers[i].name() + ":" + layers[i].class_name() + "{";
    if (!parts[i].starts_with(head))
      error += " " + head + " is not " + parts[i] + ";";
    else
      error +=
          settings_error(layers[i].node(), parts[i].substr(head.size(), parts[i].size() - head.size() - 1));
  }
  return error;
}

void expect_row(const GraphNode& node, const TableRow& row) {
  SCOPED_TRACE(row.name);
  EXPECT_EQ(name_of_node(node), row.name);
  EXPECT_EQ(sizes(node.outputs.at(0).shape().slice(1, node.outputs.at(0).rank())), row.shape);
  std::vector<std::string> inputs;
  for (const Tensor& input : node.inputs) inputs.push_back(name_of_node(*symbolic(input)->producer));
  EXPECT_EQ(inputs, row.inputs);
  const Layer layer = FunctionalNode::layer_of(node);
  if (!layer) {
    EXPECT_EQ(node.op_class, row.class_name);
    return;
  }
  EXPECT_EQ(layer.class_name(), row.class_name);
  EXPECT_EQ(weights_of(layer), row.weights);
  if (const auto* sequential = dynamic_cast<const SequentialNode*>(&layer.node())) {
    EXPECT_EQ(nested_error(*sequential, row.settings), "");
  } else if (row.class_name != "InputLayer") {
    EXPECT_EQ(settings_error(layer.node(), row.settings), "");
  }
}

void expect_model(const Model& model, const LayerTable& table) {
  const auto& node = dynamic_cast<const FunctionalNode&>(model.model_node());
  const auto& operations = node.topology().operations;
  ASSERT_EQ(operations.size(), table.rows.size());
  for (size_t i = 0; i < operations.size() && !testing::Test::HasFailure(); ++i)
    expect_row(*operations[i], table.rows[i]);
  EXPECT_EQ(model.count_params(), table.params);
  int64_t trainable = 0;
  for (const Variable& weight : model.trainable_weights()) trainable += weight.shape().num_elements();
  EXPECT_EQ(trainable, table.trainable_params);
}

class LayerTableOf : public testing::TestWithParam<std::string> {};

TEST_P(LayerTableOf, IsThatOfKeras) {
  int compared = 0;
  for (const LayerTable& table : tables().tables) {
    if (table.name != GetParam()) continue;
    SCOPED_TRACE(table.top ? "with a top" : "without a top");
    clear_session();
    const ShapeOnlyVariables no_memory;
    expect_model(
        applications::find_application(table.name).make({.include_top = table.top, .weights = "none"}),
        table);
    ++compared;
  }
  EXPECT_EQ(compared, 2);
}

std::vector<std::string> names() {
  std::vector<std::string> out;
  for (const applications::Application& application : applications::all_applications())
    out.push_back(application.name);
  return out;
}

INSTANTIATE_TEST_SUITE_P(Applications, LayerTableOf, testing::ValuesIn(names()),
                         [](const auto& test) { return test.param; });

TEST(LayerTables, NameEveryArchitecture) {
  EXPECT_EQ(names().size(), 40u);
  EXPECT_EQ(tables().tables.size(), 80u);
}

}  // namespace
}  // namespace nyala
