#include <nyala/api/base/registry.h>

#include <mutex>
#include <vector>

#include <nyala/backend/core/mutex.h>

namespace nyala {

using namespace nyala::detail;

namespace {

struct Registered {
  std::string package, name;
  CustomObject object;
  const std::type_info* type;

  std::string full_name() const { return package + ">" + name; }
};

struct Registry {
  Mutex mutex{Mutex::AtFork::is_waited};
  std::vector<Registered> all;  // the latest last
};

Registry& registry() {
  static Registry& all = *new Registry;
  return all;
}

/// The latest entry that `fits`.
template <class Fits>
std::optional<Registered> latest(const Fits& fits) {
  const std::lock_guard lock(registry().mutex);
  const std::vector<Registered>& all = registry().all;
  for (auto entry = all.rbegin(); entry != all.rend(); ++entry)
    if (fits(*entry)) return *entry;
  return {};
}

template <class Known, class Function>
std::string name_of_function(const Function& function) {
  const auto found = latest([&](const Registered& entry) {
    const Known* const known = entry.object.as<Known>();
    return known && known->is(function);
  });
  return found ? found->full_name() : "";
}

/// Leaves every field as it is.
class Defaults final : public FieldVisitor {
 public:
  void field(const char*, bool&) override {}
  void field(const char*, int64_t&) override {}
  void field(const char*, double&) override {}
  void field(const char*, std::string&) override {}
  void field(const char*, std::vector<int64_t>&) override {}
  void field(const char*, std::vector<double>&) override {}
  void field(const char*, ActivationArgument&) override {}
  void field(const char*, Initializer&) override {}
  void field(const char*, Regularizer&) override {}
  void field(const char*, Constraint&) override {}
  void field(const char*, LearningRate&) override {}
  void optional(const char*, double&) override {}
  void optional(const char*, int64_t&, int64_t) override {}
  void optional(const char*, std::string&) override {}
};

}  // namespace

void detail::register_object(const std::string& package, const std::string& name, CustomObject object,
                             const std::type_info* type) {
  const std::lock_guard lock(registry().mutex);
  std::vector<Registered>& all = registry().all;
  std::erase_if(all, [&](const Registered& entry) { return entry.package == package && entry.name == name; });
  all.push_back({package, name, std::move(object), type});
}

std::string detail::registered_name_of(const std::type_info& type) {
  const auto found = latest([&](const Registered& entry) { return entry.type && *entry.type == type; });
  return found ? found->full_name() : "";
}

std::string detail::registered_name_of(const std::function<Tensor(const Tensor&)>& activation) {
  return name_of_function<KnownActivation>(activation);
}

std::string detail::registered_name_of(
    const std::function<Tensor(const Tensor&, const Tensor&)>& loss) {
  return name_of_function<KnownLossFunction>(loss);
}

std::string detail::without_package(const std::string& name) { return name.substr(name.rfind('>') + 1); }

CustomObject detail::registered_object(const std::string& name) {
  auto found = latest([&](const Registered& entry) { return entry.full_name() == name; });
  if (!found) found = latest([&](const Registered& entry) { return entry.name == without_package(name); });
  return found ? found->object : CustomObject();
}

FieldVisitor& detail::default_fields() {
  static Defaults& visitor = *new Defaults;
  return visitor;
}

}  // namespace nyala
