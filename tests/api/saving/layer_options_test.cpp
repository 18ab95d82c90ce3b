// What files hold of a layer besides Keras' own options, and what they cannot hold.
#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/saving/config/layer_config.h>
#include <nyala/nyala.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;

class LayerOptionsInFiles : public ::testing::TestWithParam<const char*> {
 protected:
  std::string path() const { return ::testing::TempDir() + "layer_options" + GetParam(); }
  void TearDown() override { std::filesystem::remove(path()); }
};

Aggregation of_moving_mean(const Model& model) { return model.non_trainable_weights().at(0).aggregation(); }

TEST_P(LayerOptionsInFiles, StatisticsPerReplicaStandBesideTheConfiguration) {
  for (const bool alone : {false, true}) {
    const Sequential model({Input({3}), BatchNormalization({.per_replica_statistics = alone}), Dense(1)});
    model.save(path());
    const Model loaded = load_model(path());
    EXPECT_EQ(of_moving_mean(loaded), alone ? Aggregation::mean : Aggregation::only_first_replica);
    EXPECT_EQ(of_moving_mean(clone_model(loaded)), of_moving_mean(loaded));
  }
}

INSTANTIATE_TEST_SUITE_P(Formats, LayerOptionsInFiles, ::testing::Values(".keras", ".h5"),
                         [](const auto& format) { return std::string(format.param).substr(1); });

/// Keras on JAX and PyTorch refuses "synchronized": true.
TEST(LayerOptions, SynchronizedIsWrittenAsKerasDefault) {
  for (const bool alone : {false, true}) {
    const Json json = layer_to_json(BatchNormalization({.per_replica_statistics = alone}));
    EXPECT_EQ(json["config"]["synchronized"], false);
    EXPECT_FALSE(json["config"].contains("per_replica_statistics"));
    EXPECT_EQ(json.contains("nyala"), alone);
  }
}

TEST(LayerOptions, SynchronizedInAFileSaysNothing) {
  for (const char* written : {"true", "false"}) {
    std::string text = Sequential({Input({3}), BatchNormalization()}).to_json();
    const size_t place = text.find("\"synchronized\"");
    ASSERT_NE(place, std::string::npos);
    text.replace(text.find("false", place), 5, written);
    EXPECT_EQ(of_moving_mean(model_from_json(text)), Aggregation::only_first_replica);
  }
}

/// Layers of the user's that forget half of what a configuration needs.
struct Settings {
  double factor = 1.0;
  void fields(FieldVisitor& v) { v.field("factor", factor); }
};
struct WithoutFields : LayerNode {
  using Config = Settings;
  explicit WithoutFields(const Settings& config = {}) : config_(config) {}
  std::string class_name() const override { return "WithoutFields"; }
  Tensor call(Call&, const Tensor& x) const override { return x * config_.factor; }
  Settings config_;
};
struct WithPlainArgument : LayerNode {
  explicit WithPlainArgument(double factor = 1.0) : factor_(factor) {}
  std::string class_name() const override { return "WithPlainArgument"; }
  Tensor call(Call&, const Tensor& x) const override { return x * factor_; }
  double factor_;
};
struct Whole : WithoutFields {
  using WithoutFields::WithoutFields;
  std::string class_name() const override { return "Whole"; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
};
struct SubclassedModel : ModelNode {
  explicit SubclassedModel(int64_t units = 1) : dense(track("dense", Dense(units))) {}
  Dense dense;
  std::string class_name() const override { return "SubclassedModel"; }
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, x); }
};

// custom_object and register_serializable refuse a class with one of the two, when it is compiled.
static_assert(!detail::overrides_fields<WithoutFields>());
static_assert(!detail::overrides_fields<WithPlainArgument>());
static_assert(detail::overrides_fields<Whole>());

void expect_refused(const Model& model, const std::string& class_name) {
  const std::string path = ::testing::TempDir() + "refused.keras";
  const std::string text = error_text<StateError>([&] { model.save(path); });
  EXPECT_THAT(text, HasSubstr(class_name));
  EXPECT_THAT(text, HasSubstr("void fields(FieldVisitor& v) override { config_.fields(v); }"));
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_THROW(model.to_json(), StateError);
}

TEST(LayerOptions, ArgumentsThatNoFileCanHoldAreNamedWhenSaving) {
  expect_refused(Sequential({Input({3}), make_layer<WithoutFields>(Settings{.factor = 2.0})}),
                 "WithoutFields");
  expect_refused(Sequential({Input({3}), make_layer<WithPlainArgument>(2.0)}), "WithPlainArgument");
  register_serializable<SubclassedModel>();
  const Model model = make_model<SubclassedModel>(4);
  model.build({None, 3});
  expect_refused(model, "SubclassedModel");
}

TEST(LayerOptions, WhatFieldsShowComesBack) {
  register_serializable<Whole>();
  register_serializable<WithPlainArgument>();
  const std::string path = ::testing::TempDir() + "whole.keras";
  const Sequential model(
      {Input({3}), make_layer<Whole>(Settings{.factor = 2.0}), make_layer<WithPlainArgument>()});
  model.save(path);
  const Tensor x = Tensor::full({1, 3}, 1.0, DType::float32);
  EXPECT_EQ(load_model(path).predict(x, {.verbose = 0}).to_vector<float>(), std::vector<float>(3, 2.0f));
  std::filesystem::remove(path);
}

}  // namespace

}  // namespace nyala
