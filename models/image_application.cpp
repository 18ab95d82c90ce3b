#include <nyala/models/image_application.h>

#include <cmath>
#include <filesystem>

#include <nyala/api/graph/graph.h>
#include <nyala/api/layers/core/dense.h>
#include <nyala/api/layers/pooling/global_pooling.h>
#include <nyala/api/layers/regularization/dropout.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/runtime/context.h>
#include <nyala/files/base/file_errors.h>
#include <nyala/strategies/strategy.h>

namespace nyala::applications {

using namespace nyala::detail;

/// Makes variables where they would be made anyway, but leaves them zero: a file fills them.
class UnfilledVariables final : public VariableCreator {
 public:
  UnfilledVariables() : outer_(thread_context().creator) { thread_context().creator = this; }
  ~UnfilledVariables() override { thread_context().creator = outer_; }
  UnfilledVariables(const UnfilledVariables&) = delete;
  UnfilledVariables& operator=(const UnfilledVariables&) = delete;

  Variable create(const VariableSpec& spec) override {
    VariableSpec unfilled = spec;
    unfilled.initialize = [](const Tensor& value) { ops::detail::fill_zero(value); };
    return outer_ ? outer_->create(unfilled) : current_strategy()->store().create(unfilled);
  }

 private:
  VariableCreator* outer_;
};

namespace {

bool is_random(const std::string& weights) { return weights.empty() || weights == "none"; }

/// The Inputs that a symbolic tensor depends on, first used first.
void collect_inputs(const Tensor& tensor, std::set<const GraphNode*>& seen, Tensors& inputs) {
  const std::shared_ptr<const GraphNode>& producer = symbolic(tensor)->producer;
  if (!seen.insert(producer.get()).second) return;
  if (producer->is_input()) return inputs.push_back(tensor);
  for (const Tensor& input : producer->inputs) collect_inputs(input, seen, inputs);
}

}  // namespace

ImageApplication::ImageApplication(const ApplicationConfig& config, ApplicationTraits traits)
    : config_(config), traits_(std::move(traits)) {
  check_options();
  check_weights();
  find_shape();
  check_size();
  image_ = config_.input_tensor.defined() ? config_.input_tensor : Input(shape_).tensor();
  if (!is_random(config_.weights)) unfilled_ = std::make_unique<UnfilledVariables>();
}

ImageApplication::~ImageApplication() = default;

void ImageApplication::fail(const std::string& what) const {
  throw InvalidArgumentError(traits_.name + ": " + what);
}

void ImageApplication::check_options() const {
  const ApplicationConfig none;
  const auto refuse = [&](const char* option, bool given) {
    if (given && !traits_.options.contains(option)) fail("has no argument '" + std::string(option) + "'");
  };
  refuse("alpha", config_.alpha != none.alpha);
  refuse("depth_multiplier", config_.depth_multiplier != none.depth_multiplier);
  refuse("minimalistic", config_.minimalistic);
  refuse("dropout", !std::isnan(config_.dropout));
  refuse("include_preprocessing", !config_.include_preprocessing);
  constexpr double kWidest = 1e6;
  if (!(config_.alpha > 0 && config_.alpha <= kWidest))
    fail("expected alpha above 0 and at most " + number_text(kWidest) + ", received " +
         number_text(config_.alpha));
  if (config_.classes <= 0) fail("expected classes above 0, received " + std::to_string(config_.classes));
  if (!config_.pooling.empty() && config_.pooling != "avg" && config_.pooling != "max")
    fail("expected pooling 'avg', 'max' or none, received '" + config_.pooling + "'" +
         did_you_mean(config_.pooling, {"avg", "max"}));
  if (config_.input_tensor.defined() && !symbolic(config_.input_tensor))
    fail("expected a symbolic input_tensor (of an Input or a layer), received one with values");
}

void ImageApplication::check_weights() const {
  if (is_random(config_.weights)) return;
  if (!imagenet() && !is_file(config_.weights))
    throw NotFoundError(traits_.name +
                        ": expected weights 'none', 'imagenet' or the path of a file; there is no file '" +
                        config_.weights + "'" + did_you_mean(config_.weights, {"none", "imagenet"}));
  if (!config_.include_top) return;
  if (imagenet() && config_.classes != 1000)
    fail("the published weights with a top are for 1000 classes, received classes " +
         std::to_string(config_.classes) + "; leave the top out or use weights 'none'");
  const std::string& activation = config_.classifier_activation.name();
  if (activation != "softmax" && activation != "linear")
    fail("with weights from a file classifier_activation is 'softmax' or none, received '" + activation +
         "'");
}

void ImageApplication::find_shape() {
  shape_ = config_.input_shape;
  if (!config_.input_tensor.defined()) {
    if (!shape_.empty()) return;
    const int64_t size = config_.include_top && !traits_.any_size_with_top ? traits_.default_size : None;
    shape_ = {size, size, 3};
    return;
  }
  const Shape& given = config_.input_tensor.shape();
  if (given.rank() != 4)
    throw ShapeError(traits_.name +
                     ": expected an input_tensor (batch, height, width, channels), received shape " +
                     given.to_string());
  const Shape image = given.slice(1, 4);
  for (int axis = 0; axis < 3 && shape_.rank() == 3; ++axis)
    if (shape_[axis] != None && image[axis] != None && shape_[axis] != image[axis])
      throw ShapeError(traits_.name + ": input_shape " + shape_.to_string() +
                       " is not that of input_tensor, " + image.to_string());
  shape_ = image;
}

void ImageApplication::check_size() const {
  const auto refuse = [&](const std::string& expected) {
    throw ShapeError(traits_.name + ": expected " + expected + ", received input_shape " +
                     shape_.to_string());
  };
  if (shape_.rank() != 3) refuse("input_shape (height, width, channels)");
  if (shape_[2] == None) refuse("a known number of channels");
  if (imagenet() && shape_[2] != 3) refuse("3 channels for the published weights");
  for (const int axis : {0, 1})
    if (shape_[axis] != None && shape_[axis] < traits_.min_size)
      refuse("an image of at least " + std::to_string(traits_.min_size) + "x" +
             std::to_string(traits_.min_size));
  if (config_.include_top && !traits_.any_size_with_top && !config_.input_tensor.defined() &&
      !shape_.is_known())
    refuse("a known height and width where include_top is true");
  if (!imagenet() || !config_.include_top || traits_.any_size_with_top || config_.input_tensor.defined())
    return;
  const int64_t size = traits_.published_sizes.contains(shape_[0]) ? shape_[0] : traits_.default_size;
  if (shape_ != Shape{size, size, 3})
    refuse("input_shape " + Shape{size, size, 3}.to_string() + " for the published weights with a top");
}

double ImageApplication::dropout(double otherwise) const {
  return std::isnan(config_.dropout) ? otherwise : config_.dropout;
}

Tensor ImageApplication::pool(const Tensor& features, const PoolingNames& names) const {
  if (config_.pooling == "avg") return GlobalAveragePooling2D({.name = names.average})(features);
  if (config_.pooling == "max") return GlobalMaxPooling2D({.name = names.maximum})(features);
  return features;
}

Tensor ImageApplication::classify(const Tensor& features, const TopOptions& options) const {
  if (!config_.include_top) return pool(features, options.pooling);
  Tensor x = GlobalAveragePooling2D({.name = options.pooling.with_top})(features);
  if (options.dropout > 0) x = Dropout(options.dropout, {.name = "top_dropout"})(x);
  return Dense(config_.classes, {.activation = config_.classifier_activation,
                                 .kernel_initializer = options.kernel_initializer,
                                 .bias_initializer = options.bias_initializer,
                                 .name = "predictions"})(x);
}

Model ImageApplication::model(const Tensor& output, const std::string& name,
                              const PretrainedFile& published) const {
  std::set<const GraphNode*> seen;
  Tensors inputs;
  collect_inputs(image_, seen, inputs);
  const Model model(
      {.inputs = inputs, .outputs = {output}, .name = config_.name.empty() ? name : config_.name});
  if (imagenet())
    model.load_weights(find_pretrained(published).string());
  else if (!is_random(config_.weights))
    model.load_weights(config_.weights);
  return model;
}

PaddingSizes2D detail::correct_pad(const Tensor& x, int64_t kernel) {
  const int64_t behind = kernel / 2;
  const bool unknown = x.shape()[1] == None;
  const auto pair = [&](int64_t size) {
    return PaddingSizes2D::Pair{unknown || size % 2 == 0 ? behind - 1 : behind, behind};
  };
  return {pair(x.shape()[1]), pair(x.shape()[2])};
}

int64_t detail::make_divisible(double value, int64_t divisor) {
  const auto whole = static_cast<int64_t>(value + static_cast<double>(divisor) / 2) / divisor * divisor;
  const int64_t rounded = std::max(divisor, whole);
  return static_cast<double>(rounded) < 0.9 * value ? rounded + divisor : rounded;
}

}  // namespace nyala::applications
