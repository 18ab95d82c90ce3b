#include <nyala/api/layers/base/edges_layer.h>

#include <utility>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/channels_first.h>
#include <nyala/api/layers/base/fusable.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

namespace {

class EdgesNode : public LayerNode {
 public:
  EdgesNode(const EdgesLayer& layer, std::function<void(FieldVisitor&)> fields)
      : layer_(layer), fields_(std::move(fields)) {
    check_either_data_format(layer.class_name, layer.data_format);
    const std::string field = class_name().starts_with("Cropping") ? "cropping" : "padding";
    for (const auto& [before, after] : layer.edges)
      if (before < 0 || after < 0)
        throw InvalidArgumentError(class_name() + ": expected " + field + " >= 0, received (" +
                                   std::to_string(before) + ", " + std::to_string(after) + ")");
  }
  std::string class_name() const final { return layer_.class_name; }
  void fields(FieldVisitor& v) override { fields_(v); }

  void build(Builder&, const Shape& input) override { check(input); }

 protected:
  virtual void check(const Shape& input) const {
    static constexpr const char* kAxes[] = {"(batch, steps, channels)", "(batch, height, width, channels)",
                                            "(batch, depth, height, width, channels)"};
    const size_t axes = layer_.edges.size();
    check_rank(input, static_cast<int>(axes) + 2, kAxes[axes - 1]);
  }

  EdgesLayer layer_;

 private:
  std::function<void(FieldVisitor&)> fields_;
};

class CroppingNode : public EdgesNode {
 public:
  using EdgesNode::EdgesNode;

  Tensor call(Call&, const Tensor& x) const override {
    check(x.shape());
    std::vector<ops::AxisRange> ranges{{}};
    for (const auto& [before, after] : layer_.edges)
      ranges.push_back({.start = before, .stop = after == 0 ? ops::kToEnd : -after});
    return ops::strided_slice(x, ranges);
  }

 private:
  void check(const Shape& input) const override {
    EdgesNode::check(input);
    for (size_t i = 0; i < layer_.edges.size(); ++i) {
      const auto& [before, after] = layer_.edges[i];
      const int64_t size = input[static_cast<int>(i) + 1];
      if (size != None && before + after >= size)
        throw ShapeError("expected an input with more than " + std::to_string(before + after) +
                         " elements along axis " + std::to_string(i + 1) + ", received shape " +
                         input.to_string());
    }
  }
};

class PaddingNode : public EdgesNode, public Fusable {
 public:
  using EdgesNode::EdgesNode;

  Tensor call(Call&, const Tensor& x) const override {
    std::vector<std::pair<int64_t, int64_t>> widths{{0, 0}};
    for (const auto& [before, after] : layer_.edges) widths.emplace_back(before, after);
    widths.emplace_back(0, 0);
    return ops::pad(x, widths);
  }
  const Fusable* fusable() const override { return this; }
  FusedParts does() const override {
    if (layer_.edges.size() != 2) return {};
    const auto [top, bottom] = layer_.edges[0];
    const auto [left, right] = layer_.edges[1];
    return {.padding = ops::Padding(static_cast<int>(top), static_cast<int>(bottom), static_cast<int>(left),
                                    static_cast<int>(right))};
  }
};

template <class Node>
std::shared_ptr<LayerNode> edges_node(const EdgesLayer& layer, std::function<void(FieldVisitor&)> fields) {
  if (layer.data_format == "channels_first")
    return std::make_shared<ChannelsFirst<Node>>(layer, std::move(fields));
  return std::make_shared<Node>(layer, std::move(fields));
}

}  // namespace

std::shared_ptr<LayerNode> detail::make_cropping_node(const EdgesLayer& layer,
                                                      std::function<void(FieldVisitor&)> fields) {
  return edges_node<CroppingNode>(layer, std::move(fields));
}

std::shared_ptr<LayerNode> detail::make_padding_node(const EdgesLayer& layer,
                                                     std::function<void(FieldVisitor&)> fields) {
  return edges_node<PaddingNode>(layer, std::move(fields));
}

}  // namespace nyala
