#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/preprocessing/discretization.h>

#include <algorithm>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/layers/preprocessing/category_codes.h>
#include <nyala/api/layers/preprocessing/quantile_summary.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/shape/digitize.h>

namespace nyala {

using namespace nyala::detail;

void DiscretizationConfig::fields(FieldVisitor& v) {
  v.field("bin_boundaries", bin_boundaries);
  v.optional("num_bins", num_bins, -1);
  v.field("epsilon", epsilon);
  v.field("output_mode", output_mode);
  v.field("sparse", sparse);
}

namespace {

class DiscretizationNode final : public LayerNode, public TakesWholeNumbers {
 public:
  explicit DiscretizationNode(const DiscretizationConfig& config) : config_(config) {
    if (config.bin_boundaries.empty() && config.num_bins < 0)
      throw InvalidArgumentError("Discretization: expected bin_boundaries or num_bins, received neither");
    if (config.num_bins >= 0) check_positive("Discretization", "num_bins", config.num_bins);
    if (!(config.epsilon > 0 && config.epsilon <= 1))
      throw InvalidArgumentError("Discretization: expected epsilon in (0, 1], received " +
                                 number_text(config.epsilon));
    if (!std::is_sorted(config.bin_boundaries.begin(), config.bin_boundaries.end()))
      throw InvalidArgumentError("Discretization: expected bin_boundaries in ascending order");
    if (config.output_mode != "int") category_code_of("Discretization", config.output_mode);
    check_not_sparse("Discretization", config.sparse);
  }
  std::string class_name() const override { return "Discretization"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool converts_inputs() const override { return false; }  // Keras takes them as float32

  Tensor call(Call&, const Tensor& input) const override {
    if (!has_boundaries())
      throw StateError("there are no bin_boundaries yet: give them, or call adapt() first");
    const std::vector<double>& list = config_.bin_boundaries;
    const Tensor x = wide(input, compute_dtype());
    const Tensor boundaries = ops::cast(Tensor::from(list), x.dtype()).to(x.device());
    const Tensor bins = ops::digitize(x, boundaries);
    if (config_.output_mode == "int") return bins;
    return encode_categories(bins, {category_code_of("Discretization", config_.output_mode),
                                    static_cast<int64_t>(list.size()) + 1, compute_dtype()});
  }

  QuantileSummary new_summary() const {
    if (config_.num_bins < 0)
      throw StateError("Discretization " + in_quotes(name()) +
                       ": bin_boundaries were given; adapt() needs num_bins");
    return QuantileSummary(config_.epsilon);
  }
  void adapt(const QuantileSummary& summary) {
    if (summary.empty()) throw InvalidArgumentError("adapt: expected data, received none");
    config_.bin_boundaries = summary.boundaries(config_.num_bins);
    adapted_ = true;
  }

 private:
  bool has_boundaries() const { return adapted_ || !config_.bin_boundaries.empty(); }

  DiscretizationConfig config_;
  bool adapted_ = false;  // to a single bin perhaps, which has no boundary
};

std::vector<float> numbers_of(const Tensor& data) {
  return ops::cast(data.detached(), DType::float32).to_vector<float>();
}

}  // namespace

Discretization::Discretization(const Config& config) : Layer(node_from<DiscretizationNode>(config)) {}

void Discretization::adapt(const Tensor& data) const {
  auto& node = static_cast<DiscretizationNode&>(this->node());
  QuantileSummary summary = node.new_summary();
  summary.add(numbers_of(data));
  node.adapt(summary);
}

void Discretization::adapt(const Dataset& data) const {
  auto& node = static_cast<DiscretizationNode&>(this->node());
  QuantileSummary summary = node.new_summary();
  for (const Batch& batch : data) {
    if (batch.x.size() != 1)
      throw InvalidArgumentError("adapt: expected elements of one x, received " +
                                 std::to_string(batch.x.size()));
    summary.add(numbers_of(batch.x[0]));
  }
  node.adapt(summary);
}

}  // namespace nyala
