#pragma once

#include <concepts>
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <map>
#include <memory>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/api/base/no_such_field.h>
#include <nyala/backend/core/held.h>

namespace nyala {

class Model;

/// Named numbers in insertion order. A metric with a value for each class or threshold has them all under its
/// name, values(name); where one number stands for them, in values() and loops, it is their mean, which
/// Keras' progress bar shows. Values of a running epoch are read from the device on first access: a Logs made
/// from a source calls it, once, when anything is asked of it or set. Copies made before that read for
/// themselves, except of logs that a hook is given: copying or moving those reads them, so that what is kept
/// holds the values of its batch and needs no model. One thread at a time.
class Logs {
 public:
  using Values = std::vector<std::pair<std::string, double>>;

  Logs() = default;
  Logs(std::initializer_list<std::pair<std::string, double>> values);
  /// `source` sets the values of the Logs that it is given.
  explicit Logs(std::function<void(Logs&)> source) : held_{.source = std::move(source)} {}
  /// The same of values that are there only now: whoever copies or moves this reads them first.
  static Logs of_now(std::function<void(Logs&)> source) { return Logs(std::move(source), true); }
  Logs(const Logs& other) : held_(other.kept()) {}
  Logs(Logs&& other) : held_(std::move(other.kept())) {}
  Logs& operator=(const Logs& other) {
    if (this != &other) held_ = other.kept();
    return *this;
  }
  Logs& operator=(Logs&& other) {
    if (this != &other) held_ = std::move(other.kept());
    return *this;
  }
  ~Logs() = default;

  bool contains(const std::string& name) const;
  /// Throws NotFoundError with the nearest name, StateError for a metric that has several values.
  double operator[](const std::string& name) const;
  /// All values of a metric, mostly one.
  std::vector<double> values(const std::string& name) const;
  double at(const std::string& name) const { return (*this)[name]; }
  void set(const std::string& name, double value);
  void set(const std::string& name, const std::vector<double>& values);
  size_t size() const { return values().size(); }
  bool empty() const { return values().empty(); }
  Values::const_iterator begin() const { return values().begin(); }
  Values::const_iterator end() const { return values().end(); }
  const Values& values() const;

 private:
  struct Held {
    std::function<void(Logs&)> source = {};
    bool of_now = false;  // whether the source is there only now
    Values values = {};
    std::map<std::string, size_t> places = {};                // of names among the values
    std::map<std::string, std::vector<double>> several = {};  // where a name has not exactly one value
  };
  Logs(std::function<void(Logs&)> source, bool of_now)
      : held_{.source = std::move(source), .of_now = of_now} {}
  /// What may outlive the source.
  Held& kept() const {
    if (held_.of_now) (void)values();
    return held_;
  }

  mutable Held held_;
};

/// What fit tells its callbacks before it begins. `steps` is -1 while unknown.
struct CallbackParameters {
  int verbose = 1;
  int epochs = 1;
  int64_t steps = -1;
};

/// Base of all callbacks; every hook does nothing by default. Epochs and batches count from 0. Reading the
/// logs of a batch fetches them from the device: only callbacks that do so cost that.
class Callback {
 public:
  virtual ~Callback() = default;
  virtual void on_train_begin(Logs&) {}
  virtual void on_train_end(Logs&) {}
  virtual void on_epoch_begin(int /*epoch*/, Logs&) {}
  virtual void on_epoch_end(int /*epoch*/, Logs&) {}
  virtual void on_train_batch_begin(int64_t /*batch*/, Logs&) {}
  virtual void on_train_batch_end(int64_t /*batch*/, Logs&) {}
  virtual void on_test_begin(Logs&) {}
  virtual void on_test_end(Logs&) {}
  virtual void on_test_batch_begin(int64_t /*batch*/, Logs&) {}
  virtual void on_test_batch_end(int64_t /*batch*/, Logs&) {}
  virtual void on_predict_begin(Logs&) {}
  virtual void on_predict_end(Logs&) {}
  virtual void on_predict_batch_begin(int64_t /*batch*/, Logs&) {}
  virtual void on_predict_batch_end(int64_t /*batch*/, Logs&) {}

  /// What fit, evaluate or predict tells a callback before its first hook.
  struct Attachment {
    Model* model = nullptr;
    CallbackParameters parameters = {};
  };
  /// Returns what was there before: evaluate may run inside fit.
  Attachment attach(const Attachment& attachment) { return std::exchange(attachment_, attachment); }
  /// Only inside hooks: throws StateError elsewhere.
  Model& model() const {
    return detail::held(attachment_.model, "Callback::model()", "it is known inside hooks only");
  }
  const CallbackParameters& parameters() const { return attachment_.parameters; }

 protected:
  Callback() = default;
  // For the classes of callbacks: a Callback made of one of them would have none of its hooks.
  Callback(const Callback&) = default;
  Callback(Callback&&) = default;
  Callback& operator=(const Callback&) = default;
  Callback& operator=(Callback&&) = default;

 private:
  Attachment attachment_;
};

/// A list element for `.callbacks = {...}`: temporaries are kept, lvalues are used in place.
class CallbackArgument {
 public:
  template <class C>
  requires std::derived_from<std::decay_t<C>, Callback> CallbackArgument(C&& callback) {
    static_assert(!std::is_const_v<std::remove_reference_t<C>>,
                  "a const callback cannot keep what it counts: declare it without const");
    if constexpr (std::is_lvalue_reference_v<C>)
      callback_ = std::shared_ptr<Callback>(&callback, [](Callback*) {});
    else
      callback_ = std::make_shared<std::decay_t<C>>(std::move(callback));
  }
  template <class C>
  requires std::derived_from<C, Callback> CallbackArgument(std::shared_ptr<C> callback)
      : callback_(std::move(callback)) {}
  /// Throw StateError where the pointer that was given is null.
  Callback& operator*() const {
    return detail::held(callback_, "Callback", "the list of callbacks holds a null pointer");
  }
  Callback* operator->() const { return &**this; }

 private:
  std::shared_ptr<Callback> callback_;
};

}  // namespace nyala
