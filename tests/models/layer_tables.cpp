#include <nyala/tests/models/layer_tables.h>

#include <sstream>

#include <nyala/datasets/io/byte_reader.h>

namespace nyala {

std::vector<std::string> split(const std::string& text, char separator) {
  std::vector<std::string> parts;
  for (size_t begin = 0;;) {
    const size_t end = text.find(separator, begin);
    parts.push_back(text.substr(begin, end - begin));
    if (end == std::string::npos) return parts;
    begin = end + 1;
  }
}

std::map<std::string, std::string> split_settings(const std::string& text) {
  std::map<std::string, std::string> settings;
  for (const std::string& part : split(text, '|'))
    if (const size_t sign = part.find('='); sign != std::string::npos)
      settings[part.substr(0, sign)] = part.substr(sign + 1);
  return settings;
}

namespace {

std::string content_of(const std::string& path) {
  datasets::ByteReader reader(path);
  std::string content;
  std::vector<uint8_t> buffer(1 << 16);
  while (const size_t count = reader.read(buffer))
    content.append(buffer.begin(), buffer.begin() + static_cast<ptrdiff_t>(count));
  return content;
}

TableRow read_row(const std::string& line, const std::string& above) {
  const std::vector<std::string> cells = split(line, '\t');
  TableRow row{cells.at(0), cells.at(1), cells.at(2), cells.at(3), {}, cells.at(5)};
  for (const std::string& input : split(cells.at(4), ' '))
    if (!input.empty()) row.inputs.push_back(input == "^" ? above : input);
  return row;
}

}  // namespace

LayerTables read_layer_tables(const std::string& path) {
  LayerTables out;
  std::istringstream lines(content_of(path));
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("= ")) {
      const size_t space = line.find(' ', 2);
      out.defaults[line.substr(2, space - 2)] = split_settings(line.substr(space + 1));
    } else if (line.starts_with("@ ")) {
      const std::vector<std::string> words = split(line, ' ');
      LayerTable table{
          words.at(1), words.at(2) == "top", std::stoll(words.at(3)), std::stoll(words.at(4)), {}};
      const size_t shared = std::stoul(words.at(5));
      if (shared > 0) {
        const auto& before = out.tables.back().rows;
        table.rows.assign(before.begin(), before.begin() + static_cast<ptrdiff_t>(shared));
      }
      out.tables.push_back(std::move(table));
    } else {
      std::vector<TableRow>& rows = out.tables.back().rows;
      rows.push_back(read_row(line, rows.empty() ? "" : rows.back().name));
    }
  }
  return out;
}

}  // namespace nyala
