#include <cmath>

#include <nyala/api/saving/ops/op_forms.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

// A ReLU is one of three operations, or none.

Tensor plain_relu(const Tensor& x) { return ops::relu(x); }

bool is_relu_of(const Descriptor& descriptor, double max_value, bool leaky) {
  const auto& d = descriptor.as<ops::ReluDescriptor>();
  return d.threshold == 0.0 && d.max_value == max_value && (d.negative_slope != 0.0) == leaky;
}
bool is_relu(const Descriptor& d) { return is_relu_of(d, INFINITY, false); }
bool is_relu6(const Descriptor& d) { return is_relu_of(d, 6.0, false); }
bool is_leaky_relu(const Descriptor& d) { return is_relu_of(d, INFINITY, true); }

Tensors read_leaky_relu(const OpArguments& a) {
  return {ops::leaky_relu(a.tensor("x", 0), a.real("negative_slope", 0.2))};
}
void write_leaky_relu(const TracedOp& op, OpConfig& out) {
  out.config["negative_slope"] = op.as<ops::ReluDescriptor>().negative_slope;
}

Tensors read_elu(const OpArguments& a) { return {ops::elu(a.tensor("x", 0), a.real("alpha", 1.0))}; }
void write_elu(const TracedOp& op, OpConfig& out) { out.config["alpha"] = op.as<ops::EluDescriptor>().alpha; }

Tensors read_celu(const OpArguments& a) { return {ops::celu(a.tensor("x", 0), a.real("alpha", 1.0))}; }
void write_celu(const TracedOp& op, OpConfig& out) {
  out.config["alpha"] = op.as<ops::CeluDescriptor>().alpha;
}

Tensors read_gelu(const OpArguments& a) {
  const Json approximate = a.setting("approximate");
  return {ops::gelu(a.tensor("x", 0), approximate.is_null() || a.flag("approximate"))};
}
void write_exact_gelu(const TracedOp&, OpConfig& out) { out.config["approximate"] = false; }
void write_approximate_gelu(const TracedOp&, OpConfig& out) { out.config["approximate"] = true; }
/// tf.nn.gelu's default differs.
void upgrade_gelu(OpConfig& op) {
  if (!op.config.contains("approximate")) op.config["approximate"] = false;
}

template <Tensor (*op)(const Tensor&, double)>
Tensors read_shrink(const OpArguments& a) {
  return {op(a.tensor("x", 0), a.real("threshold", 0.5))};
}
void write_shrink(const TracedOp& op, OpConfig& out) {
  out.config["threshold"] = op.as<ops::ThresholdDescriptor>().threshold;
}

Tensors read_threshold(const OpArguments& a) {
  return {ops::threshold(a.tensor("x", 0), a.real("threshold", 0.0), a.real("default_value", 0.0))};
}
void write_threshold(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::ThresholdDescriptor>();
  out.config["threshold"] = d.threshold;
  out.config["default_value"] = d.default_value;
}

Tensors read_squareplus(const OpArguments& a) {
  return {ops::squareplus(a.tensor("x", 0), a.real("b", 4.0))};
}
void write_squareplus(const TracedOp& op, OpConfig& out) {
  out.config["b"] = op.as<ops::SquareplusDescriptor>().b;
}

template <Tensor (*op)(const Tensor&, int)>
Tensors along_axis(const OpArguments& a) {
  return {op(a.tensor("x", 0), axis_argument(a, -1))};
}
void write_last_axis(const TracedOp&, OpConfig& out) { out.config["axis"] = -1; }

Tensors read_one_hot(const OpArguments& a) {
  a.expect_default("sparse", false);
  return {ops::one_hot(a.tensor("x", 0), a.integer("num_classes", 0), axis_argument(a, -1),
                       dtype_argument(a, DType::float32))};
}
void write_one_hot(const TracedOp& op, OpConfig& out) {
  const auto& d = op.as<ops::OneHotDescriptor>();
  out.config["num_classes"] = d.num_classes;
  out.config["axis"] = d.axis == op.inputs[0].rank() ? -1 : d.axis;  // Keras knows the last by -1 alone
  write_dtype<ops::OneHotDescriptor>(op, out);
  out.config["sparse"] = false;
}

Tensors read_moments(const OpArguments& a) {
  a.expect_default("synchronized", false);
  const Tensor x = a.tensor("x", 0);
  const std::vector<int> axes = a.small_integers("axes");
  return {ops::mean(x, axes, a.flag("keepdims")), ops::var(x, axes, a.flag("keepdims"))};
}

constexpr LegacyFunction kLegacySoftmax = {{"softmax"}, {}, {{"axis", "axis"}}};
constexpr LegacyFunction kLegacyGelu = {{"gelu"}, {}, {{"approximate", "approximate"}}, upgrade_gelu};

constexpr OpRow kNnRows[] = {
    {"Relu", unary<plain_relu>, {{&ops::kRelu, nullptr, is_relu}}, legacy_unary("relu")},
    {"Relu6", unary<ops::relu6>, {{&ops::kRelu, nullptr, is_relu6}}, legacy_unary("relu6")},
    {"LeakyRelu",
     read_leaky_relu,
     {{&ops::kRelu, write_leaky_relu, is_leaky_relu}},
     {{"leaky_relu"}, {}, {{"alpha", "negative_slope"}}}},
    {"Elu", read_elu, {{&ops::kElu, write_elu}}, legacy_unary("elu")},
    {"Selu", unary<ops::selu>, {{&ops::kSelu}}, legacy_unary("selu")},
    {"Celu", read_celu, {{&ops::kCelu, write_celu}}},
    {"Gelu",
     read_gelu,
     {{&ops::kGelu, write_exact_gelu}, {&ops::kGeluTanh, write_approximate_gelu}},
     kLegacyGelu},
    {"Silu", unary<ops::silu>, {{&ops::kSilu}}, legacy_unary("silu", "swish")},
    {"Sigmoid", unary<ops::sigmoid>, {{&ops::kSigmoid}}, legacy_unary("sigmoid")},
    {"LogSigmoid", unary<ops::log_sigmoid>, {{&ops::kLogSigmoid}}},
    {"HardSigmoid", unary<ops::hard_sigmoid>, {{&ops::kHardSigmoid}}},
    {"HardSilu", unary<ops::hard_silu>, {{&ops::kHardSilu}}},
    {"HardTanh", unary<ops::hard_tanh>, {{&ops::kHardTanh}}},
    {"Softplus", unary<ops::softplus>, {{&ops::kSoftplus}}, legacy_unary("softplus")},
    {"Softsign", unary<ops::softsign>, {{&ops::kSoftsign}}, legacy_unary("softsign")},
    {"TanhShrink", unary<ops::tanh_shrink>, {{&ops::kTanhShrink}}},
    {"SoftShrink", read_shrink<ops::soft_shrink>, {{&ops::kSoftShrink, write_shrink}}},
    {"HardShrink", read_shrink<ops::hard_shrink>, {{&ops::kHardShrink, write_shrink}}},
    {"Threshold", read_threshold, {{&ops::kThreshold, write_threshold}}},
    {"Squareplus", read_squareplus, {{&ops::kSquareplus, write_squareplus}}},
    {"SparsePlus", unary<ops::sparse_plus>, {{&ops::kSparsePlus}}},
    {"SparseSigmoid", unary<ops::sparse_sigmoid>, {{&ops::kSparseSigmoid}}},
    {"Sparsemax", along_axis<ops::sparsemax>, {{&ops::kSparsemax, write_last_axis}}},
    {"Glu", along_axis<ops::glu>},
    {"Softmax",
     along_axis<ops::softmax>,
     {{&ops::kSoftmax, write_axis<ops::SoftmaxDescriptor>}},
     kLegacySoftmax},
    {"LogSoftmax", along_axis<ops::log_softmax>, {{&ops::kLogSoftmax, write_axis<ops::SoftmaxDescriptor>}}},
    {"OneHot", read_one_hot, {{&ops::kOneHot, write_one_hot}}},
    {"Moments", read_moments},
};

}  // namespace

OpFamily nn_ops() { return {"keras.src.ops.nn", kNnRows}; }

}  // namespace nyala
