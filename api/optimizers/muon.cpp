// Jordan et al. 2024: matrices take a step along the nearest orthogonal matrix of their momentum, found by
// ns_steps of Newton and Schulz' iteration, which needs only products (an SVD would be exact and slow); all
// else follows Adam. Formulas and exclusions are Keras'.
#include <algorithm>
#include <cmath>
#include <regex>
#include <unordered_map>

#include <nyala/api/optimizers/adam_node.h>
#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/api/optimizers/muon.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/nn/matmul.h>
#include <nyala/backend/ops/update/whole_updates.h>

namespace nyala {

using namespace nyala::detail;

void MuonConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("adam_beta_1", adam_beta_1);
  v.field("adam_beta_2", adam_beta_2);
  v.optional("adam_weight_decay", adam_weight_decay);
  v.field("epsilon", epsilon);
  visit_optimizer_options(v, *this);
  v.field("exclude_layers", exclude_layers);
  v.field("exclude_embeddings", exclude_embeddings);
  v.field("muon_a", muon_a);
  v.field("muon_b", muon_b);
  v.field("muon_c", muon_c);
  v.field("adam_lr_ratio", adam_lr_ratio);
  v.field("momentum", momentum);
  v.field("ns_steps", ns_steps);
  v.field("nesterov", nesterov);
  v.optional("rms_rate", rms_rate);
}

namespace {

std::vector<std::regex> compiled(const std::vector<std::string>& patterns) {
  std::vector<std::regex> result;
  for (const std::string& pattern : patterns) {
    try {
      result.emplace_back(pattern);
    } catch (const std::regex_error& error) {
      throw InvalidArgumentError("Muon: '" + pattern +
                                 "' in exclude_layers is no regular expression: " + error.what());
    }
  }
  return result;
}

class MuonNode final : public OptimizerNode {
 public:
  explicit MuonNode(const MuonConfig& config)
      : OptimizerNode(optimizer_options(config, "Muon")),
        config_(config),
        excluded_(compiled(config.exclude_layers)) {}
  std::string class_name() const override { return "Muon"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  std::vector<std::string> slot_names() const override { return {"momentum", "velocity"}; }
  bool takes_whole_variables() const override { return true; }
  bool prepares() const override { return true; }
  double weight_decay_of(const Variable& variable) const override {
    return follows_adam(variable) ? config_.adam_weight_decay : config_.weight_decay;
  }

  std::vector<SlotInFile> slots_in_file(const Variable& variable) const override {
    std::string path = variable.path();
    std::replace(path.begin(), path.end(), '/', '_');
    std::vector<SlotInFile> slots = {{0, path + "_momentum", variable.shape()}};
    if (follows_adam(variable)) slots.push_back({1, path + "_velocity", variable.shape()});
    return slots;
  }

  std::vector<double> step_scalars(int64_t step, double learning_rate, DType dtype) const override {
    const AdamNumbers adam = {config_.adam_beta_1, config_.adam_beta_2, config_.epsilon, false};
    std::vector<double> numbers = adam_scalars(adam, step, learning_rate * config_.adam_lr_ratio, dtype);
    numbers.push_back(learning_rate);
    return numbers;
  }

  void build(ParameterStore& store, const Variables& variables) override {
    adams_.clear();
    for (const Variable& variable : variables) adams_[&variable.node()] = is_excluded(variable);
    OptimizerNode::build(store, variables);
  }

  void update(const UpdateRange& range) const override {
    if (follows_adam(range.variable)) return run_update<formulas::Adam>(range);
    const Tensor& weight = range.weight;
    const ops::MuonMomentumDescriptor d = {range.preparation, config_.momentum, config_.nesterov};
    const Tensor* const inputs[] = {&range.gradient, &range.factor, &range.scalars};
    Tensor outputs[] = {weight, range.slot_tensors[0],
                        Tensor::empty(weight.shape(), weight.dtype(), weight.device())};
    dispatch(ops::kMuonMomentum, d, inputs, outputs);
    const Tensor step = orthogonal(outputs[2].with_shape(range.shape)).with_shape(weight.shape());
    dispatch_into(ops::kMuonStep, ops::MuonStepDescriptor{scale_of(range.shape), kRate},
                  {&step, &range.scalars}, weight);
  }

 private:
  static constexpr int kRate = 4;  // of step_scalars

  bool follows_adam(const Variable& variable) const {
    const auto known = adams_.find(&variable.node());
    return known != adams_.end() ? known->second : is_excluded(variable);
  }

  bool is_excluded(const Variable& variable) const {
    if (variable.shape().rank() != 2) return true;
    if (config_.exclude_embeddings && lower_case(variable.path()).find("embedding") != std::string::npos)
      return true;
    return std::any_of(excluded_.begin(), excluded_.end(), [&](const std::regex& pattern) {
      return std::regex_search(variable.path(), pattern);
    });
  }

  double scale_of(const Shape& shape) const {
    if (std::isnan(config_.rms_rate)) return 1.0;
    return config_.rms_rate * std::sqrt(static_cast<double>(std::max(shape[0], shape[1])));
  }

  /// Newton and Schulz' iteration towards the nearest orthogonal matrix: (a I + b A + c A A) x with A = x x',
  /// or of a tall x the same from the right with A = x' x. `x` is used up.
  Tensor orthogonal(Tensor x) const {
    if (config_.ns_steps <= 0) return x;
    const bool tall = x.shape()[0] > x.shape()[1];
    const int64_t side = std::min(x.shape()[0], x.shape()[1]);
    const auto room = [&x](const Shape& shape) { return Tensor::empty(shape, x.dtype(), x.device()); };
    const Tensor a = room({side, side}), polynomial = room({side, side});
    Tensor next = room(x.shape());
    const ops::MuonPolynomialDescriptor numbers = {config_.muon_a, config_.muon_b, config_.muon_c};
    for (int64_t i = 0; i < config_.ns_steps; ++i) {
      dispatch_into(ops::kMatmul, ops::MatmulDescriptor{tall, !tall}, {&x, &x}, a);
      dispatch_into(ops::kMatmul, ops::MatmulDescriptor{}, {&a, &a}, polynomial);
      dispatch_into(ops::kMuonPolynomial, numbers, {&a}, polynomial);
      dispatch_into(ops::kMatmul, ops::MatmulDescriptor{}, {tall ? &x : &polynomial, tall ? &polynomial : &x},
                    next);
      std::swap(x, next);
    }
    return x;
  }

  MuonConfig config_;
  std::vector<std::regex> excluded_;
  std::unordered_map<const VariableNode*, bool> adams_;  // of the variables that it was built with
};

}  // namespace

Muon::Muon(const Config& config) : Optimizer(std::make_shared<MuonNode>(config)) {}

Muon::Muon(LearningRate learning_rate, Config config)
    : Muon(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
