#pragma once

// The templates of Strategy and ReplicaContext; strategies/strategy.h brings both.
#include <exception>
#include <tuple>
#include <typeinfo>

#include <nyala/backend/parameters/distributed_variable.h>
#include <nyala/strategies/strategy_handle.h>

namespace nyala {

namespace detail {

template <class Function, class... Args>
decltype(auto) call_replica(Function& fn, Replica& replica, const Args&... args) {
  if constexpr (std::is_invocable_v<Function&, Replica&, const Args&...>)
    return fn(replica, args...);
  else
    return fn(args...);
}

template <class Function, class... Args>
decltype(auto) call_opened(Function& fn, Replica& replica, const Args&... args) {
  return call_replica(fn, replica, detail::nest::open(args, replica.local_index)...);
}

/// Leaves of arguments that merge_call hands over one per replica.
template <class T>
struct Differs : std::bool_constant<std::is_same_v<T, Tensor> || std::is_arithmetic_v<T>> {};

inline Tensor untracked(const Tensor& tensor) { return tensor.detached(); }
template <class T>
T untracked(const T& value) {
  return value;
}

/// One argument of merge_call from all replicas.
template <class T>
auto merged_argument(const std::vector<const T*>& from_replicas) {
  if constexpr (detail::nest::AnyLeaf<T, Differs>::value && !std::is_same_v<T, std::string>) {
    std::vector<T> values;
    for (const T* value : from_replicas)
      values.push_back(detail::nest::map(*value, [](const auto& leaf) { return untracked(leaf); }));
    return detail::nest::regroup(values);
  } else {
    if constexpr (std::equality_comparable<T>)
      for (const T* value : from_replicas)
        if (!(*value == *from_replicas[0]))
          throw InvalidArgumentError(
              "merge_call: an argument that is neither a tensor nor a number differs among the replicas");
    return *from_replicas[0];
  }
}

/// What one replica brings to merge_call, and where its result goes.
template <class Result, class... Args>
struct MergeContribution {
  const std::type_info*
      type;  // first, so that it can be read in the contribution of a call with other arguments
  std::tuple<const Args*...> args;
  std::optional<Result>* result;
};

/// Throws CommunicationError where the replicas called merge_call with arguments of other types, or for
/// results of another type.
inline void check_same_merge(Collectives::Contributions contributions) {
  const auto type = [&](size_t id) { return *static_cast<const std::type_info* const*>(contributions[id]); };
  for (size_t id = 1; id < contributions.size(); ++id)
    if (*type(id) != *type(0))
      throw CommunicationError("merge_call(): replicas 0 and " + std::to_string(id) +
                               " came with functions or arguments of different types");
}

template <class Contribution, size_t Index>
auto merged_argument_at(Collectives::Contributions contributions) {
  std::vector<std::tuple_element_t<Index, decltype(Contribution::args)>> values;
  for (const void* contribution : contributions)
    values.push_back(std::get<Index>(static_cast<const Contribution*>(contribution)->args));
  return merged_argument(values);
}

template <class Function, class... Args>
using MergeResult =
    std::invoke_result_t<Function&, Strategy,
                         decltype(merged_argument(std::declval<std::vector<const Args*>>()))...>;

/// void results are carried as this.
struct Nothing {};
template <class Result>
struct OpenedResult {
  using type = std::decay_t<decltype(detail::nest::open(std::declval<const Result&>(), 0))>;
};
template <>
struct OpenedResult<void> {
  using type = Nothing;
};

}  // namespace detail

template <class Function, class... Args>
auto ReplicaContext::merge_call(Function&& fn, const Args&... args) const {
  check_is_current("merge_call");
  using Result = detail::MergeResult<std::remove_reference_t<Function>, Args...>;
  using Opened = typename detail::OpenedResult<Result>::type;
  using Contribution = detail::MergeContribution<Opened, Args...>;
  std::optional<Opened> result;
  const Contribution mine{&typeid(Contribution), {&args...}, &result};
  auto once = [&](Collectives::Contributions contributions) {
    detail::check_same_merge(contributions);
    const InCrossReplica cross(*node);
    [&]<size_t... Index>(std::index_sequence<Index...>) {
      if constexpr (std::is_void_v<Result>) {
        fn(strategy(), detail::merged_argument_at<Contribution, Index>(contributions)...);
      } else {
        const Result merged =
            fn(strategy(), detail::merged_argument_at<Contribution, Index>(contributions)...);
        for (size_t i = 0; i < contributions.size(); ++i)
          static_cast<const Contribution*>(contributions[i])
              ->result->emplace(detail::nest::open(merged, static_cast<int>(i)));
      }
    }
    (std::index_sequence_for<Args...>());
  };
  if (context) {
    context->barrier("merge_call()", &mine, once);
  } else {
    const void* alone = &mine;
    once(Collectives::Contributions(&alone, 1));
  }
  if constexpr (!std::is_void_v<Result>) return std::move(*result);
}

template <class Function, class... Args>
void ReplicaContext::update(const Variable& variable, Function&& fn, const Args&... args) const {
  check_is_current("update");
  auto write = [&](int copy) {
    const InUpdate inside(*node, copy);
    fn(detail::copy_to_update(variable, copy), detail::nest::open(args, copy)...);
    detail::after_update(variable);
  };
  const bool shared = num_replicas > 1 && variable.node().home.defined();
  if (!shared || !context) return write(local_index);
  context->barrier("update() of " + variable.path(), this, [&](Collectives::Contributions) { write(0); });
}

template <class Function, class... Args>
auto Strategy::run(Function&& fn, const Args&... args) const {
  detail::check_cross_replica("run()");
  detail::check_not_mixed(node(), "run()");
  (detail::nest::check_replicas(args, num_local_replicas(), "run()"), ...);
  const auto together = node().meet_in_loop();
  using Returned = decltype(detail::call_opened(fn, std::declval<Replica&>(), args...));
  if constexpr (std::is_void_v<Returned>) {
    node().run([&](Replica& replica) { detail::call_opened(fn, replica, args...); });
  } else {
    using Result = std::decay_t<Returned>;
    std::vector<std::optional<Result>> returned(static_cast<size_t>(num_local_replicas()));
    node().run([&](Replica& replica) {
      returned[static_cast<size_t>(replica.local_index)].emplace(detail::call_opened(fn, replica, args...));
    });
    std::vector<Result> results;
    for (std::optional<Result>& result : returned) results.push_back(std::move(*result));
    return detail::nest::regroup(results);
  }
}

template <class Nest>
auto Strategy::reduce(ReduceOpName op, const Nest& values, const ReduceAxes& axes) const {
  detail::check_cross_replica("reduce()");
  const auto together = node().meet_in_loop();
  return detail::nest::map(values, [&]<class Leaf>(const Leaf& leaf) {
    if constexpr (std::is_same_v<Leaf, PerReplica<Tensor>>) {
      return node().reduce(op.op, leaf, axes);
    } else if constexpr (std::is_same_v<Leaf, Mirrored<Tensor>>) {
      return node().reduce(op.op, leaf.values(), axes);
    } else if constexpr (detail::nest::IsPerReplica<Leaf>::value) {
      static_assert(std::is_arithmetic_v<typename Leaf::value_type>,
                    "reduce() takes replicas' tensors and numbers");
      std::vector<double> numbers;
      for (const auto value : leaf) numbers.push_back(static_cast<double>(value));
      return node().reduce(op.op, numbers);
    } else {
      return reduce_plain(op.op, Tensor(leaf), axes);
    }
  });
}

template <class Nest>
auto Strategy::gather(const Nest& values, int axis) const {
  if (detail::thread_context().replica_context)
    throw StateError("gather() was called inside a replica; use the replica's all_gather() there");
  const auto together = node().meet_in_loop();
  return detail::nest::map(values, [&]<class Leaf>(const Leaf& leaf) {
    if constexpr (std::is_same_v<Leaf, PerReplica<Tensor>>)
      return node().gather(leaf, axis);
    else if constexpr (std::is_same_v<Leaf, Mirrored<Tensor>>)
      return node().gather(leaf.values(), axis);
    else
      return node().gather(mirror(Tensor(leaf)).values(), axis);
  });
}

template <class Nest>
auto Strategy::local_results(const Nest& values) const {
  using Local = std::decay_t<decltype(detail::nest::open(values, 0))>;
  detail::nest::check_replicas(values, num_local_replicas(), "local_results()");
  std::vector<Local> results;
  const int replicas = detail::nest::kHoldsDistributed<Nest> ? num_local_replicas() : 1;
  for (int index = 0; index < replicas; ++index) results.push_back(detail::nest::open(values, index));
  return results;
}

template <class Function>
auto Strategy::distribute_values_from_function(Function&& make) const {
  detail::check_cross_replica("distribute_values_from_function()");
  const auto together = node().meet_in_loop();
  using Value = std::decay_t<std::invoke_result_t<Function&, ValueContext>>;
  std::vector<Value> values;
  for (int index = 0; index < num_local_replicas(); ++index) {
    const ValueContext context{node().replica_id(index), num_replicas_in_sync()};
    values.push_back(detail::nest::map(make(context), [&](const auto& leaf) {
      if constexpr (std::is_same_v<std::decay_t<decltype(leaf)>, Tensor>)
        return node().place(leaf, index);
      else
        return leaf;
    }));
  }
  return detail::nest::regroup(values);
}

template <class Function, class... Args>
void Strategy::update(const Variable& variable, Function&& fn, const Args&... args) const {
  detail::check_cross_replica("update()");
  (detail::nest::check_replicas(args, num_local_replicas(), "update()"), ...);
  for (const int copy : copies_of(variable)) {
    const InUpdate inside(node(), copy);
    fn(detail::copy_to_update(variable, copy), detail::nest::open(args, copy)...);
    detail::after_update(variable);
  }
}

}  // namespace nyala
