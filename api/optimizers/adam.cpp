#include <nyala/api/optimizers/adam.h>
#include <nyala/api/optimizers/adam_node.h>
#include <nyala/api/optimizers/base/optimizer_config.h>

namespace nyala {

using namespace nyala::detail;

void AdamConfig::fields(FieldVisitor& v) {
  v.field("learning_rate", learning_rate);
  v.field("beta_1", beta_1);
  v.field("beta_2", beta_2);
  v.field("epsilon", epsilon);
  v.field("amsgrad", amsgrad);
  visit_optimizer_options(v, *this);
}

Adam::Adam(const Config& config)
    : Optimizer(std::make_shared<AdamNode>(
          "Adam", optimizer_options(config, "Adam"),
          AdamNumbers{config.beta_1, config.beta_2, config.epsilon, config.amsgrad},
          [shown = config](FieldVisitor& v) mutable { shown.fields(v); })) {}

Adam::Adam(LearningRate learning_rate, Config config)
    : Adam(with_learning_rate(std::move(config), std::move(learning_rate))) {}

}  // namespace nyala
