#include <nyala/api/optimizers/all.h>
#include <nyala/api/schedules/all.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/make_optimizer.h>

namespace nyala::golden {

LearningRate make_schedule(const std::string& name, const Json& config) {
  if (name == "ExponentialDecay") return from_config<ExponentialDecay>(config);
  if (name == "CosineDecay") return from_config<CosineDecay>(config);
  if (name == "PiecewiseConstantDecay") return from_config<PiecewiseConstantDecay>(config);
  throw std::runtime_error("golden data: no schedule " + name);
}

LearningRate make_rate(const Json& rate) {
  if (rate.is_object()) return make_schedule(rate.at("class"), rate.at("config"));
  return rate.get<double>();
}

namespace {

template <class C>
Optimizer optimizer_from(const Json& config) {
  typename C::Config values;
  Json rest = config;
  if (rest.contains("learning_rate")) values.learning_rate = make_rate(rest.at("learning_rate"));
  rest.erase("learning_rate");
  JsonFields fields(rest);
  values.fields(fields);
  expect_all_used(fields, rest);
  return C(values);
}

}  // namespace

Optimizer make_optimizer(const std::string& name, const Json& config) {
  if (name == "SGD") return optimizer_from<SGD>(config);
  if (name == "Adam") return optimizer_from<Adam>(config);
  if (name == "RMSprop") return optimizer_from<RMSprop>(config);
  throw std::runtime_error("golden data: no optimizer " + name);
}

}  // namespace nyala::golden
