#include <nyala/api/base/registry.h>
#include <nyala/api/base/short_error_names.h>
#include <nyala/api/metrics/all.h>
#include <nyala/backend/core/c_locale_text.h>

namespace nyala {

using namespace nyala::detail;

namespace {

const NameTable<Metric>& names() {
  static const NameTable<Metric>& table =
      *new NameTable<Metric>("metric", metrics::Metrics{}, short_error_names());
  return table;
}

/// What needs the shapes of a batch to be definite: "accuracy", "crossentropy", or "".
std::string pending_kind(const std::string& given) {
  const std::string name = lower_case(given);
  if (name == "accuracy" || name == "acc") return "accuracy";
  if (name == "crossentropy" || name == "ce") return "crossentropy";
  return "";
}

Metric definite(bool accuracy, TargetKind kind) {
  switch (kind) {
    case TargetKind::binary:
      return accuracy ? Metric(metrics::BinaryAccuracy()) : metrics::BinaryCrossentropy();
    case TargetKind::sparse:
      return accuracy ? Metric(metrics::SparseCategoricalAccuracy())
                      : metrics::SparseCategoricalCrossentropy();
    default:
      return accuracy ? Metric(metrics::CategoricalAccuracy()) : metrics::CategoricalCrossentropy();
  }
}

/// A function or class of the user's; a loss counts as its mean.
std::optional<Metric> registered_metric(const std::string& name) {
  const CustomObject object = registered_object(name);
  if (const auto* const known = object.as<KnownLossFunction>())
    return Metric(known->function, without_package(name));
  if (const auto loss = registered<Loss>(name)) return Metric(*loss);
  return registered<Metric>(name);
}

}  // namespace

Metric::Metric(const std::string& name) : pending_(pending_kind(name)) {
  if (!pending_.empty()) {
    name_ = name;
    sums_->introduce(pending_, name);
  } else if (const auto own = names().has(name) ? std::nullopt : registered_metric(name)) {
    *this = *own;
  } else {
    *this = names().make(name);
    name_ = name;
  }
}

Metric Metric::resolved(const Shape& y_true, const Shape& y_pred) const {
  Metric metric = *this;
  if (is_pending()) metric.node_ = definite(pending_ == "accuracy", target_kind(y_true, y_pred)).node_;
  if (auto sized = metric.node().for_shapes(y_true, y_pred)) metric.node_ = std::move(sized);
  return metric;
}

}  // namespace nyala
