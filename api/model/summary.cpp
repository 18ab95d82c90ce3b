// Keras' summary_utils.print_summary: which columns there are, the "connected to" column only where a graph
// is no list, sizes and counts in its words.
#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <mutex>
#include <regex>

#include <nyala/api/base/output.h>
#include <nyala/api/model/functional.h>
#include <nyala/api/model/model.h>
#include <nyala/api/model/text_table.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/printable.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kBold = "1";
constexpr const char* kNumber = "32";
constexpr const char* kSymbol = "94";
constexpr const char* kNone = "96";
constexpr int kLongestLine = 100'000;
/// Letters of a name that is compared with a regular expression: matching takes stack for each.
constexpr size_t kLongestForPattern = 1000;

/// A row of the summary: a layer, or the node of an op.
struct Entry {
  Layer layer;
  const GraphNode* node = nullptr;
  int level = 0;
};

std::string with_commas(int64_t number) {
  const std::string digits = std::to_string(number);
  std::string out;
  for (size_t i = 0; i < digits.size(); ++i) {
    if (i > 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string readable_size(double bytes) {
  const char* units[] = {"B", "KB", "MB", "GB", "TB", "PB"};
  size_t unit = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    bytes /= 1024;
    ++unit;
  }
  return fixed_text(bytes, 2) + " " + units[unit];
}

void append_shape(Cell& cell, const Shape& shape) {
  cell.push_back({"(", ""});
  for (int i = 0; i < shape.rank(); ++i) {
    if (i > 0) cell.push_back({", ", ""});
    cell.push_back(shape[i] == None ? StyledText{"None", kNone}
                                    : StyledText{std::to_string(shape[i]), kNumber});
  }
  cell.push_back({shape.rank() == 1 ? ",)" : ")", ""});
}

Cell shape_cell(const Shapes& shapes) {
  if (shapes.empty()) return {{"?", ""}};
  Cell cell;
  if (shapes.size() > 1) cell.push_back({"[", ""});
  for (size_t i = 0; i < shapes.size(); ++i) {
    if (i > 0) cell.push_back({", ", ""});
    append_shape(cell, shapes[i]);
  }
  if (shapes.size() > 1) cell.push_back({"]", ""});
  return cell;
}

class Summary {
 public:
  Summary(const Model& model, const SummaryConfig& config, bool styled)
      : model_(model),
        config_(config),
        styled_(styled),
        functional_(dynamic_cast<FunctionalNode*>(&model.node())) {
    if (functional_) index_calls();
    is_chain_ = is_chain();
  }

  std::string text() {
    std::string out = in_style("Model: \"" + printable(model_.name()) + "\"", kBold, styled_) + "\n";
    std::vector<std::vector<Cell>> rows;
    for (const Entry& entry : entries()) rows.push_back(row(entry));
    const int length = line_length();
    return out + render_table(columns(length), rows, length, styled_) + footer();
  }

 private:
  /// A graph is shown as a list unless a step has several neighbours or a layer is called twice.
  bool is_chain() const {
    if (!functional_) return true;
    std::map<const GraphNode*, int> uses;
    for (const auto& node : functional_->topology().nodes) {
      if (node->inputs.size() > 1) return false;
      for (const Tensor& input : node->inputs)
        if (symbolic(input) && ++uses[symbolic(input)->producer.get()] > 1) return false;
    }
    return functional_->topology().nodes.size() == functional_->topology().operations.size() &&
           functional_->inputs().size() == 1 && functional_->outputs().size() == 1;
  }

  void index_calls() {
    for (const auto& node : functional_->topology().nodes) {
      const Layer layer = FunctionalNode::layer_of(*node);
      const void* key = layer ? static_cast<const void*>(&layer.node()) : node.get();
      calls_[key].push_back(node.get());
      call_index_[node.get()] = static_cast<int>(calls_[key].size()) - 1;
    }
  }

  std::vector<Entry> entries() const {
    std::vector<Entry> out;
    if (functional_) {
      for (const auto& operation : functional_->topology().operations)
        add(out, {FunctionalNode::layer_of(*operation), operation.get(), 0});
    } else {
      for (const Layer& layer : model_.layers()) add(out, {layer, nullptr, 0});
    }
    return in_range(out);
  }

  static std::string name_of(const Entry& entry) {
    return entry.layer ? entry.layer.name() : entry.node->name;
  }

  static bool fits(const std::string& name, const std::regex& pattern) {
    if (name.size() > kLongestForPattern) throw std::regex_error(std::regex_constants::error_stack);
    return std::regex_search(name, pattern, std::regex_constants::match_continuous);
  }

  /// The places of the entries whose names begin with the text, or with what it is as a pattern.
  static std::vector<size_t> matching(const std::vector<Entry>& all, const std::string& text) {
    std::vector<size_t> literal, matches;
    for (size_t i = 0; i < all.size(); ++i)
      if (all[i].level == 0 && name_of(all[i]).starts_with(text)) literal.push_back(i);
    try {
      if (text.size() > kLongestForPattern) return literal;
      const std::regex pattern(text);
      for (size_t i = 0; i < all.size(); ++i)
        if (all[i].level == 0 && (std::ranges::binary_search(literal, i) || fits(name_of(all[i]), pattern)))
          matches.push_back(i);
    } catch (const std::regex_error& error) {
      if (!literal.empty()) return literal;
      throw InvalidArgumentError("summary, 'layer_range': expected the beginning of a layer's name or a " +
                                 ("regular expression for it, received " + in_quotes(text)) + ": " +
                                 error.what());
    }
    return matches;
  }

  /// Keras' layer_range: from the first name that fits the one end to the last that fits the other, in either
  /// order.
  std::vector<Entry> in_range(const std::vector<Entry>& all) const {
    const std::vector<std::string>& range = config_.layer_range;
    if (range.empty()) return all;
    if (range.size() != 2)
      throw InvalidArgumentError("summary, 'layer_range': expected two names, received " +
                                 std::to_string(range.size()));
    std::vector<size_t> matches[2];
    for (size_t end = 0; end < 2; ++end) {
      matches[end] = matching(all, range[end]);
      if (matches[end].empty())
        throw InvalidArgumentError("summary, 'layer_range': no layer's name begins with " +
                                   in_quotes(range[end]));
    }
    const bool reversed = matches[0].front() > matches[1].back();
    const size_t first = reversed ? matches[1].front() : matches[0].front();
    size_t last = (reversed ? matches[0].back() : matches[1].back()) + 1;
    while (last < all.size() && all[last].level > 0) ++last;  // with what is inside of the last one
    return {all.begin() + static_cast<std::ptrdiff_t>(first),
            all.begin() + static_cast<std::ptrdiff_t>(last)};
  }

  void add(std::vector<Entry>& out, const Entry& entry) const {
    out.push_back(entry);
    const auto* nested = entry.layer ? dynamic_cast<const ModelNode*>(&entry.layer.node()) : nullptr;
    if (!config_.expand_nested || !nested) return;
    for (const Layer& layer : nested->layers()) add(out, {layer, nullptr, entry.level + 1});
  }

  std::vector<Cell> row(const Entry& entry) const {
    std::string prefix;
    for (int i = 0; i < entry.level; ++i) prefix += "   ";
    if (entry.level > 0) prefix += "└ ";
    const Layer& layer = entry.layer;
    const std::string name = name_of(entry);
    const std::string type = layer ? layer.class_name() : entry.node->op_class;
    std::vector<Cell> cells = {{{prefix + name + " (", ""}, {type, kSymbol}, {")", ""}},
                               shape_cell(shapes_of(entry))};
    if (layer && !layer.built())
      cells.push_back({{"0", kNumber}, {" (unbuilt)", ""}});
    else
      cells.push_back({{layer ? with_commas(layer.count_params()) : "0", kNumber}});
    if (!is_chain_) cells.push_back(connections(entry));
    if (config_.show_trainable) {
      const bool has_weights = layer && layer.built() && !layer.weights().empty();
      cells.push_back({{!has_weights ? "-" : layer.trainable() ? "Y" : "N", kBold}});
    }
    return cells;
  }

  static Shapes shapes_of(const Entry& entry) {
    Shapes shapes;
    if (entry.node)
      for (const Tensor& output : entry.node->outputs) shapes.push_back(output.shape());
    else if (is_input_layer(entry.layer.node()))
      shapes = {input_tensor(entry.layer.node()).shape()};
    else if (entry.layer.built())
      shapes = entry.layer.node().output_shapes();
    return shapes;
  }

  Cell connections(const Entry& entry) const {
    Cell cell;
    if (entry.level > 0 || !entry.node) return {{"-", ""}};
    const void* key = entry.layer ? static_cast<const void*>(&entry.layer.node()) : entry.node;
    for (const GraphNode* call : calls_.at(key))
      for (const Tensor& input : call->inputs) {
        if (!symbolic(input)) continue;
        const SymbolicMetadata& metadata = *symbolic(input);
        const Layer producer = FunctionalNode::layer_of(*metadata.producer);
        cell.push_back(
            {(cell.empty() ? "" : ", ") + (producer ? producer.name() : metadata.producer->name) + "[", ""});
        cell.push_back({std::to_string(call_index_.at(metadata.producer.get())), kNumber});
        cell.push_back({"][", ""});
        cell.push_back({std::to_string(metadata.index), kNumber});
        cell.push_back({"]", ""});
      }
    if (cell.empty()) cell.push_back({"-", ""});
    return cell;
  }

  int line_length() const {
    if (config_.line_length > kLongestLine)
      throw InvalidArgumentError("summary, 'line_length': expected at most " + std::to_string(kLongestLine) +
                                 " characters, received " + std::to_string(config_.line_length));
    if (config_.line_length > 0) return config_.line_length;
    int columns = 80;
    winsize window{};
    if (const char* text = std::getenv("COLUMNS"); text && std::atoi(text) > 0)
      columns = std::atoi(text);
    else if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
      columns = window.ws_col;
    return std::min((is_chain_ ? 88 : 108) + (config_.show_trainable ? 12 : 0), columns - 4);
  }

  std::vector<TableColumn> columns(int length) const {
    std::vector<TableColumn> out = {{"Layer (type)"}, {"Output Shape"}, {"Param #", Align::right}};
    std::vector<double> ends = {0.45, 0.80, 1.0};
    if (!is_chain_) {
      out.push_back({"Connected to"});
      ends = {0.3, 0.56, 0.74, 1.0};
    }
    if (!config_.positions.empty()) ends = config_.positions;
    if (config_.show_trainable) {
      out.push_back({"Trainable", Align::center});
      const double whole = ends.back() > 1.0 ? length : 1.0;
      for (double& end : ends) end *= 0.90;
      ends.push_back(whole);
    }
    const bool in_characters = ends.size() >= out.size() && ends[out.size() - 1] > 1.0;
    if (ends.size() != out.size())
      throw InvalidArgumentError("summary, 'positions': expected " +
                                 std::to_string(config_.show_trainable ? out.size() - 1 : out.size()) +
                                 " numbers, one per column, received " +
                                 std::to_string(config_.positions.size()));
    for (const double end : ends)
      if (!(end > 0.0 && end <= kLongestLine))
        throw InvalidArgumentError("summary, 'positions': expected numbers above 0, at most " +
                                   std::to_string(kLongestLine) + ", received " + number_text(end));
    int begin = 0;
    for (size_t i = 0; i < out.size(); ++i) {
      out[i].width = static_cast<int>(in_characters ? ends[i] : ends[i] * length) - begin;
      begin += out[i].width;
      if (out[i].width < 4)
        throw InvalidArgumentError("summary: a line of " + std::to_string(length) +
                                   " characters is too short");
    }
    return out;
  }

  struct Count {
    int64_t elements = 0;
    double bytes = 0;
    void add(int64_t count, DType dtype) {
      elements += count;
      bytes += static_cast<double>(count) * static_cast<double>(size_of(dtype));
    }
  };

  std::string count_line(const char* label, const Count& count) const {
    return in_style(label, kBold, styled_) + in_style(with_commas(count.elements), kNumber, styled_) + " (" +
           readable_size(count.bytes) + ")\n";
  }

  std::string footer() const {
    Count trainable, rest, optimizer;
    for (const Variable& variable : model_.weights())
      (variable.trainable() ? trainable : rest).add(variable.shape().num_elements(), variable.dtype());
    const bool with_optimizer = model_.compiled() && model_.optimizer().node().built();
    if (with_optimizer)
      for (const OptimizerVariable& variable : model_.optimizer().node().variables_for_file())
        optimizer.add(variable.value.num_elements(), variable.value.dtype());
    const Count total{trainable.elements + rest.elements + optimizer.elements,
                      trainable.bytes + rest.bytes + optimizer.bytes};
    return count_line(" Total params: ", total) + count_line(" Trainable params: ", trainable) +
           count_line(" Non-trainable params: ", rest) +
           (with_optimizer ? count_line(" Optimizer params: ", optimizer) : "");
  }

  const Model& model_;
  const SummaryConfig& config_;
  bool styled_;
  const FunctionalNode* functional_;
  bool is_chain_ = true;
  std::map<const void*, std::vector<const GraphNode*>> calls_;
  std::map<const GraphNode*, int> call_index_;
};

}  // namespace

namespace {

std::string text_of(const Model& model, const SummaryConfig& config, bool styled) {
  const std::lock_guard lock(model.model_node().building());
  const auto shown = model.model_node().template_model();
  return Summary(shown ? Model(shown) : model, config, styled).text() + model.model_node().summary_note();
}

}  // namespace

std::string Model::summary_text(const SummaryConfig& config) const { return text_of(*this, config, false); }

void Model::summary(const SummaryConfig& config) const {
  if (config.print_fn) {
    config.print_fn(summary_text(config));
    return;
  }
  detail::print(text_of(*this, config, detail::output().is_terminal()));
}

}  // namespace nyala
