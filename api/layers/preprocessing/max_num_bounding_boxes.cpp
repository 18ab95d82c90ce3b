#include <nyala/api/layers/preprocessing/max_num_bounding_boxes.h>

#include <algorithm>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/takes_dictionary.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

void MaxNumBoundingBoxesConfig::fields(FieldVisitor& v) {
  v.field("max_number", max_number);
  v.field("fill_value", fill_value);
  v.optional("bounding_box_format", bounding_box_format);
  v.field("data_format", data_format);
}

namespace {

class MaxNumBoundingBoxesNode final : public LayerNode, public TakesDictionary {
 public:
  explicit MaxNumBoundingBoxesNode(const MaxNumBoundingBoxesConfig& config) : config_(config) {
    check_positive("MaxNumBoundingBoxes", "max_number", config.max_number);
    check_either_data_format("MaxNumBoundingBoxes", config.data_format);
  }
  std::string class_name() const override { return "MaxNumBoundingBoxes"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool takes_many() const override { return has_boxes_; }
  std::vector<std::string> keys(size_t count) const override {
    if (count == 1) return {"images"};
    std::vector<std::string> keys = {"bounding_boxes/boxes", "bounding_boxes/labels", "images"};
    if (count > 3) keys.push_back("labels");
    return keys;
  }

  void build(Builder&, const Shapes& inputs) override {
    if (inputs.size() == 2 || inputs.size() > 4)
      throw InvalidArgumentError(
          "expected images alone, or boxes, their classes, images and perhaps labels; received " +
          std::to_string(inputs.size()) + " inputs");
    has_boxes_ = inputs.size() > 1;
    if (has_boxes_ && config_.bounding_box_format.empty())
      throw InvalidArgumentError("expected a bounding_box_format for boxes, such as 'xyxy', received none");
    if (has_boxes_ && (inputs[0].rank() != 3 || inputs[0].back() != 4 || inputs[1].rank() != 2))
      throw ShapeError("expected boxes (batch, n, 4) and classes (batch, n), received shapes " +
                       inputs[0].to_string() + " and " + inputs[1].to_string());
  }

  Tensor call(Call&, const Tensor& images) const override { return images; }
  Outputs call(Call&, Inputs inputs) const override {
    Outputs outputs(inputs.begin(), inputs.end());
    for (size_t i = 0; has_boxes_ && i < 2; ++i) outputs[i] = with_max_number(inputs[i]);
    return outputs;
  }

 private:
  Tensor with_max_number(const Tensor& x) const {
    if (x.is_abstract())
      return Tensor::abstract(x.shape().with(1, config_.max_number), x.dtype(), x.device());
    std::vector<std::pair<int64_t, int64_t>> widths(static_cast<size_t>(x.rank()));
    widths[1].second = std::max<int64_t>(config_.max_number - x.shape()[1], 0);
    return ops::pad(ops::slice_axis(x, 1, {0, config_.max_number}), widths, "constant",
                    static_cast<double>(config_.fill_value));
  }

  MaxNumBoundingBoxesConfig config_;
  bool has_boxes_ = false;
};

}  // namespace

MaxNumBoundingBoxes::MaxNumBoundingBoxes(const Config& config)
    : Layer(node_from<MaxNumBoundingBoxesNode>(config)) {}

MaxNumBoundingBoxes::MaxNumBoundingBoxes(int64_t max_number, Config config)
    : MaxNumBoundingBoxes(with(std::move(config), &Config::max_number, max_number)) {}

}  // namespace nyala
