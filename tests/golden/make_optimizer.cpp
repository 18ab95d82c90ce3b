#include <nyala/api/optimizers/all.h>
#include <nyala/api/schedules/all.h>
#include <nyala/tests/golden/from_config.h>
#include <nyala/tests/golden/make_optimizer.h>

namespace nyala::golden {

LearningRate make_schedule(const std::string& name, const Json& config) {
  if (name == "CosineDecay") return from_config<CosineDecay>(config);
  if (name == "CosineDecayRestarts") return from_config<CosineDecayRestarts>(config);
  if (name == "ExponentialDecay") return from_config<ExponentialDecay>(config);
  if (name == "InverseTimeDecay") return from_config<InverseTimeDecay>(config);
  if (name == "PiecewiseConstantDecay") return from_config<PiecewiseConstantDecay>(config);
  if (name == "PolynomialDecay") return from_config<PolynomialDecay>(config);
  throw std::runtime_error("golden data: no schedule " + name);
}

LearningRate make_rate(const Json& rate) {
  if (rate.is_object()) return make_schedule(rate.at("class").as_string(), rate.at("config"));
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

template <class... Classes>
Optimizer optimizer_of(ClassList<Classes...>, const std::string& name, const Json& config) {
  Optimizer result;
  const auto take = [&]<class C>(const C& prototype) {
    if (prototype.node().class_name() == name) result = optimizer_from<C>(config);
  };
  (take(Classes({.name = "prototype"})), ...);
  if (!result) throw std::runtime_error("golden data: no optimizer " + name);
  return result;
}

}  // namespace

Optimizer make_optimizer(const std::string& name, const Json& config) {
  return optimizer_of(Optimizers{}, name, config);
}

}  // namespace nyala::golden
