#include <nyala/api/optimizers/adam_node.h>
#include <nyala/api/optimizers/adamw.h>
#include <nyala/api/optimizers/base/optimizer_config.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void AdamWConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.optional("weight_decay", weight_decay);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  v.field("epsilon", epsilon);
  v.field("amsgrad", amsgrad);
  visit_shared_options(v, *this);
}

namespace {

const AdamWConfig& checked(const AdamWConfig& config) {
  if (std::isnan(config.weight_decay))
    throw InvalidArgumentError("AdamW: expected a weight_decay, received none");
  return config;
}

}  // namespace

AdamW::AdamW(const Config& config)
    : Optimizer(std::make_shared<AdamNode>(
          "AdamW", optimizer_options(checked(config), "AdamW"),
          AdamNumbers{config.beta_1, config.beta_2, config.epsilon, config.amsgrad},
          [shown = config](FieldVisitor& v) mutable { shown.fields(v); })) {}

AdamW::AdamW(LearningRate learning_rate, Config config)
    : AdamW(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
