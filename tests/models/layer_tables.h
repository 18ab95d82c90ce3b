#pragma once

#include <map>
#include <string>
#include <vector>

namespace nyala {

/// One operation of a model as Keras makes it.
struct TableRow {
  std::string name, class_name, settings, shape;
  std::vector<std::string> inputs;
  std::string weights;
};

/// An architecture of layer_tables.txt.gz, which make_tables.py writes and describes.
struct LayerTable {
  std::string name;
  bool top = true;
  int64_t params = 0, trainable_params = 0;
  std::vector<TableRow> rows;
};

struct LayerTables {
  std::vector<LayerTable> tables;
  /// Default settings by class.
  std::map<std::string, std::map<std::string, std::string>> defaults;
};

LayerTables read_layer_tables(const std::string& path);

/// "a=1|b=2".
std::map<std::string, std::string> split_settings(const std::string& text);
std::vector<std::string> split(const std::string& text, char separator);

}  // namespace nyala
