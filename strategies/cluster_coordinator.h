#pragma once

#include <concepts>
#include <functional>
#include <memory>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/datasets/base/dataset.h>
#include <nyala/strategies/parameter_server/function_values.h>
#include <nyala/strategies/parameter_server/worker_functions.h>
#include <nyala/strategies/rows/input_context.h>
#include <nyala/strategies/strategy.h>

namespace nyala {

namespace detail {
class CoordinatorCore;
class FunctionOutcome;

/// std::function<R(P...)> as WorkerFunction and RemoteValue name it: R(P...) without references.
template <class Function>
struct PlainSignature;
template <class R, class... P>
struct PlainSignature<std::function<R(P...)>> {
  using Type = std::remove_cvref_t<R>(std::remove_cvref_t<P>...);
};

template <class T>
inline constexpr bool kMayReturn = CanTravel<T> || std::is_void_v<T>;
}  // namespace detail

/// A function that ClusterCoordinator::function() has named. A small handle.
template <class Signature>
class WorkerFunction {
 public:
  explicit WorkerFunction(std::string name) : name_(std::move(name)) {}
  const std::string& name() const { return name_; }

 private:
  std::string name_;
};

/// What a scheduled function returns, when a worker has carried it out. A small handle: copies are the same
/// value. In the chief only; not an argument of other functions: fetch() it first.
template <class T>
class RemoteValue {
 public:
  RemoteValue(std::shared_ptr<detail::CoordinatorCore> core, std::shared_ptr<detail::FunctionOutcome> outcome)
      : core_(std::move(core)), outcome_(std::move(outcome)) {}

  /// Waits for it. Throws what the function threw: Nyala's exceptions with their type, others as Error, the
  /// worker and the function in front of the text; CommunicationError where it was cancelled, since another
  /// one threw, or where no worker is there in the strategy's timeout.
  T fetch() const;
  /// The same (TensorFlow's name).
  T get() const { return fetch(); }
  bool is_ready() const;

 private:
  std::shared_ptr<detail::CoordinatorCore> core_;
  std::shared_ptr<detail::FunctionOutcome> outcome_;
};

/// A value that each worker makes for itself, when a function first needs it, and again where the worker was
/// started again: an iterator, a cache. As an argument of a function it is the worker's own.
template <class T>
class PerWorkerValue {
 public:
  PerWorkerValue(std::shared_ptr<detail::PerWorkerValues::Entry> entry, bool is_here)
      : entry_(std::move(entry)), is_here_(is_here) {}

  /// In a worker. Throws StateError in the chief, which has none, and what making it throws.
  T& get() const;
  T* operator->() const { return &get(); }
  T& operator*() const { return get(); }

  size_t number() const { return entry_->number; }

 private:
  std::shared_ptr<detail::PerWorkerValues::Entry> entry_;
  bool is_here_;
};

using PerWorkerIterator = PerWorkerValue<DatasetIterator>;

/// Functions of a program's own, carried out by the workers of a ParameterServerStrategy whenever one is
/// free. The program is the same in all processes up to serve(), which workers stay in:
///
///     ClusterCoordinator coordinator(strategy);
///     auto batches = coordinator.create_per_worker_iterator(train.repeat());
///     auto step = coordinator.function("step", [&](PerWorkerIterator it) { ...; return loss; });
///     if (coordinator.serve()) return 0;
///     for (int i = 0; i < 1000; ++i) coordinator.schedule(step, batches);
///     coordinator.join();
///
/// Before a function begins its worker has the values that variables have on the servers;
/// optimizer.apply_gradients() in it changes them there, and for others at once. A function is carried out at
/// least once: that of a worker which is lost, or silent for `.lease`, is given to another one. What it
/// applies counts once all the same, as long as it applies the same number of times. All are chief's
/// functions, one thread at a time, but for serve() and function().
class ClusterCoordinator {
 public:
  /// Several of one strategy are the same. Throws InvalidArgumentError for another strategy than
  /// ParameterServerStrategy, and for one with `synchronous`, whose workers train by fit().
  explicit ClusterCoordinator(const Strategy& strategy);

  bool is_chief() const;

  /// Names a function, in all processes before serve(). It takes and returns tensors, numbers, texts,
  /// batches, vectors, pairs, tuples and std::map<std::string, ...> of them, takes PerWorkerValues, and may
  /// return nothing. In a worker it is called by the thread of serve(). Throws InvalidArgumentError for a
  /// name that is empty or taken.
  template <class F>
  auto function(const std::string& name, F f) const {
    using Signature = typename detail::PlainSignature<decltype(std::function{f})>::Type;
    return add_function(name, std::move(f), static_cast<Signature*>(nullptr));
  }

  /// Hands a function out to the next free worker and returns at once; waits only where 262,144 are waiting.
  /// Values that the program has assigned to variables here are those of the servers first. Throws the error
  /// of an earlier function, which is then forgotten and has cancelled those that waited; StateError in a
  /// worker.
  template <class R, class... P, class... Args>
  RemoteValue<R> schedule(const WorkerFunction<R(P...)>& function, const Args&... args) const;
  /// Code does not travel, names do.
  template <class F, class... Args>
  void schedule(const F&, const Args&...) const {
    static_assert(!std::is_same_v<F, F>,
                  "schedule() takes a function that has a name: auto step = coordinator.function(\"step\", "
                  "[&](...) { ... }); coordinator.schedule(step, ...)");
  }

  /// Waits until all scheduled functions have ended; variables here then have the servers' values, and
  /// optimizers that were built here (optimizer.build()) their state. Throws the first error of a function:
  /// those that waited behind it are cancelled. CommunicationError where no worker is there in the strategy's
  /// timeout, or a server has lost its variables.
  void join() const;
  /// Whether all have ended. Throws the first error, too.
  bool done() const;

  /// Waits for each.
  template <class T>
  T fetch(const RemoteValue<T>& value) const {
    return value.fetch();
  }
  template <class T>
  std::vector<T> fetch(const std::vector<RemoteValue<T>>& values) const {
    std::vector<T> fetched;
    for (const RemoteValue<T>& value : values) fetched.push_back(value.fetch());
    return fetched;
  }

  /// In all processes, in the same order. make() is called in each worker when the value is first needed.
  template <class F>
  auto create_per_worker_value(F make) const {
    using T = std::remove_cvref_t<std::invoke_result_t<F&>>;
    const auto made = [make = std::move(make)]() mutable -> std::shared_ptr<void> {
      return std::make_shared<T>(make());
    };
    return PerWorkerValue<T>(functions().per_worker().add(typeid(T), made), !is_chief());
  }
  /// The batches of all of `dataset`, in each worker. Shuffled data comes in another order in each. It ends
  /// (`next` returns false) where the dataset does: repeat() it. Where a worker is started again it begins
  /// anew.
  PerWorkerIterator create_per_worker_iterator(const Dataset& dataset) const;
  /// The same of what make(context) gives: worker `input_pipeline_id` of `num_input_pipelines`, which may
  /// take its share: dataset.shard(context.num_input_pipelines, context.input_pipeline_id).
  PerWorkerIterator create_per_worker_iterator(const std::function<Dataset(const InputContext&)>& make) const;

  /// In a worker: carries out what the chief schedules until that has ended, then true. In the chief false,
  /// at once. Throws PeerLostError where the chief is lost, CommunicationError where it trains by fit().
  bool serve() const;

 private:
  template <class F, class R, class... P>
  WorkerFunction<R(P...)> add_function(const std::string& name, F f, R (*)(P...)) const;

  detail::WorkerFunctions& functions() const;
  std::shared_ptr<detail::FunctionOutcome> schedule_bytes(const std::string& name,
                                                          std::vector<std::byte> arguments) const;

  std::shared_ptr<detail::CoordinatorCore> core_;
};

namespace detail {

template <class T>
struct FunctionValue<PerWorkerValue<T>> {
  static void write(ValueWriter& out, const PerWorkerValue<T>& value) {
    out.kind('w');
    out.count(value.number());
  }
  static PerWorkerValue<T> read(ValueReader& in) {
    in.kind('w');
    return {in.per_worker().at(in.count(), typeid(T)), true};
  }
};

/// What the outcome was, when it is there. Throws what RemoteValue::fetch() throws.
const std::vector<std::byte>& bytes_of_outcome(CoordinatorCore& core, const FunctionOutcome& outcome);
bool is_ready(const FunctionOutcome& outcome);
[[noreturn]] void throw_not_in_chief();

}  // namespace detail

template <class T>
T RemoteValue<T>::fetch() const {
  detail::ValueReader in(detail::bytes_of_outcome(*core_, *outcome_));
  if constexpr (!std::is_void_v<T>) {
    T value = detail::FunctionValue<T>::read(in);
    in.expect_end();
    return value;
  }
}

template <class T>
bool RemoteValue<T>::is_ready() const {
  return detail::is_ready(*outcome_);
}

template <class T>
T& PerWorkerValue<T>::get() const {
  if (!is_here_) detail::throw_not_in_chief();
  if (!entry_->value) entry_->value = entry_->make();
  return *static_cast<T*>(entry_->value.get());
}

template <class F, class R, class... P>
WorkerFunction<R(P...)> ClusterCoordinator::add_function(const std::string& name, F f, R (*)(P...)) const {
  static_assert(
      detail::kMayReturn<R> && (detail::CanTravel<P> && ...),
      "a function of ClusterCoordinator takes and returns tensors, numbers, texts, batches, and vectors, "
      "pairs, tuples and std::map<std::string, ...> of them; it may take PerWorkerValues");
  functions().add(name, [f = std::move(f)](detail::ValueReader& in) mutable {
    std::tuple<P...> arguments{detail::FunctionValue<P>::read(in)...};  // in order: between braces
    in.expect_end();
    detail::ValueWriter out;
    if constexpr (std::is_void_v<R>)
      std::apply(f, arguments);
    else
      detail::FunctionValue<R>::write(out, std::apply(f, arguments));
    return std::move(out).take();
  });
  return WorkerFunction<R(P...)>(name);
}

template <class R, class... P, class... Args>
RemoteValue<R> ClusterCoordinator::schedule(const WorkerFunction<R(P...)>& function,
                                            const Args&... args) const {
  static_assert(
      sizeof...(P) == sizeof...(Args) && (std::convertible_to<const Args&, P> && ...),
      "schedule(function, arguments...): the arguments that the function takes; what another function "
      "returns is fetched first");
  detail::ValueWriter out;
  (detail::FunctionValue<P>::write(out, P(args)), ...);
  return {core_, schedule_bytes(function.name(), std::move(out).take())};
}

}  // namespace nyala
