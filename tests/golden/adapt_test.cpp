#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/preprocessing/discretization.h>
#include <nyala/api/layers/preprocessing/normalization.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

constexpr int64_t kBatch = 16;

Dataset batches_of(const Tensor& x) { return Dataset::from_tensor_slices(x).batch(kBatch); }

void expect_statistics(const Layer& layer, const Json& entry, const std::string& which) {
  const Tolerance tolerance = {.absolute = 1e-5, .relative = 1e-5};
  expect_close(layer.weights()[0].value(), entry.at("mean" + which), label(entry) + " mean" + which,
               tolerance);
  expect_close(layer.weights()[1].value(), entry.at("variance" + which), label(entry) + " variance" + which,
               tolerance);
}

TEST(GoldenAdapt, Normalization) {
  const Json golden = load("adapt.json");
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("name") != "Normalization") continue;
    std::vector<int> axes;
    for (const Json& axis : entry.at("config").at("axis")) axes.push_back(axis.get<int>());
    const Normalization whole({.axis = Axes(axes)}), parts({.axis = Axes(axes)});
    const Tensor x = tensor(entry.at("x"));
    whole.adapt(x);
    expect_statistics(whole, entry, "");
    parts.adapt(batches_of(x));
    expect_statistics(parts, entry, "_of_batches");
  }
}

/// The boundaries that `layer` has learnt.
class BoundaryReader final : public FieldVisitor {
 public:
  void field(const char*, bool&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, std::vector<int64_t>&) override {}
  void field(const char*, std::vector<double>& value) override { boundaries = value; }
  void field(const char*, ActivationArgument&) override {}
  void field(const char*, Initializer&) override {}
  void field(const char*, Regularizer&) override {}
  void field(const char*, Constraint&) override {}
  void optional(const char*, double&) override {}
  void optional(const char*, int64_t&, int64_t) override {}
  std::vector<double> boundaries;
};

void expect_boundaries(const Layer& layer, const Json& expected, const std::string& what) {
  BoundaryReader reader;
  layer.node().fields(reader);
  ASSERT_EQ(reader.boundaries.size(), expected.size()) << what;
  for (size_t i = 0; i < expected.size(); ++i)
    EXPECT_NEAR(reader.boundaries[i], expected.at(i).get<double>(), 1e-5) << what << " boundary " << i;
}

TEST(GoldenAdapt, Discretization) {
  const Json golden = load("adapt.json");
  for (const Json& entry : golden.at("cases")) {
    if (entry.at("name") != "Discretization") continue;
    const Json& config = entry.at("config");
    const DiscretizationConfig values{.num_bins = config.at("num_bins").get<int64_t>(),
                                      .epsilon = config.value("epsilon", 0.01)};
    const Discretization whole(values), parts(values);
    const Tensor x = tensor(entry.at("x"));
    whole.adapt(x);
    expect_boundaries(whole, entry.at("boundaries"), label(entry));
    parts.adapt(batches_of(x));
    expect_boundaries(parts, entry.at("boundaries_of_batches"), label(entry) + " of batches");
  }
}

}  // namespace
}  // namespace nyala::golden
