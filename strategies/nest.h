#pragma once

#include <map>
#include <optional>
#include <string>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <nyala/datasets/base/element.h>
#include <nyala/strategies/distributed_dataset.h>
#include <nyala/strategies/per_replica.h>

/// Nests: std::vector, std::pair, std::tuple and std::map<std::string, ...> of leaves or of nests.
namespace nyala::detail::nest {

template <class T>
struct IsPerReplica : std::false_type {};
template <class T>
struct IsPerReplica<PerReplica<T>> : std::true_type {};
template <class T>
struct IsMirrored : std::false_type {};
template <class T>
struct IsMirrored<Mirrored<T>> : std::true_type {};

/// Whether the type is one that replicas take apart.
template <class T>
inline constexpr bool kIsDistributed =
    IsPerReplica<T>::value || IsMirrored<T>::value || std::is_same_v<T, DistributedBatch>;

template <class T, template <class> class Test>
struct AnyLeaf : std::bool_constant<Test<T>::value> {};
template <class T, template <class> class Test>
struct AnyLeaf<std::vector<T>, Test> : AnyLeaf<T, Test> {};
template <class T, template <class> class Test>
struct AnyLeaf<std::map<std::string, T>, Test> : AnyLeaf<T, Test> {};
template <class A, class B, template <class> class Test>
struct AnyLeaf<std::pair<A, B>, Test>
    : std::bool_constant<AnyLeaf<A, Test>::value || AnyLeaf<B, Test>::value> {};
template <class... Ts, template <class> class Test>
struct AnyLeaf<std::tuple<Ts...>, Test> : std::bool_constant<(AnyLeaf<Ts, Test>::value || ...)> {};

template <class T>
struct IsDistributed : std::bool_constant<kIsDistributed<T>> {};
template <class T>
struct IsTensor : std::is_same<T, Tensor> {};

template <class T>
inline constexpr bool kHoldsDistributed = AnyLeaf<T, IsDistributed>::value;
template <class T>
inline constexpr bool kHoldsTensor = AnyLeaf<T, IsTensor>::value;

/// map(nest, f): the nest with f(leaf) in place of each leaf, in order.
template <class T, class F>
auto map(const T& leaf, F&& f) {
  return f(leaf);
}
template <class T, class F>
auto map(const std::vector<T>& list, F&& f);
template <class T, class F>
auto map(const std::map<std::string, T>& dict, F&& f);
template <class A, class B, class F>
auto map(const std::pair<A, B>& pair, F&& f);
template <class... Ts, class F>
auto map(const std::tuple<Ts...>& tuple, F&& f);

template <class T, class F>
auto map(const std::vector<T>& list, F&& f) {
  std::vector<decltype(nest::map(list[0], f))> out;
  out.reserve(list.size());
  for (const auto& element : list) out.push_back(nest::map(element, f));
  return out;
}
template <class T, class F>
auto map(const std::map<std::string, T>& dict, F&& f) {
  std::map<std::string, decltype(nest::map(dict.begin()->second, f))> out;
  for (const auto& [key, element] : dict) out.emplace(key, nest::map(element, f));
  return out;
}
template <class A, class B, class F>
auto map(const std::pair<A, B>& pair, F&& f) {
  auto first = nest::map(pair.first, f);
  return std::pair<decltype(first), decltype(nest::map(pair.second, f))>{std::move(first),
                                                                         nest::map(pair.second, f)};
}
template <class... Ts, class F>
auto map(const std::tuple<Ts...>& tuple, F&& f) {
  return std::apply(
      [&f](const Ts&... elements) {
        return std::tuple<decltype(nest::map(elements, f))...>{nest::map(elements, f)...};
      },
      tuple);
}

/// What replica `id` sees of a value: its part of distributed ones (also inside nests), others as they are.
template <class T>
decltype(auto) open(const T& value, int id) {
  const size_t replica = static_cast<size_t>(id);
  if constexpr (std::is_same_v<T, DistributedBatch>) {
    return static_cast<const Batch&>(value.parts.at(replica));
  } else if constexpr (kIsDistributed<T>) {
    return value.at(replica);
  } else if constexpr (kHoldsDistributed<T>) {
    return nest::map(value, [id](const auto& leaf) {
      return std::decay_t<decltype(nest::open(leaf, id))>(nest::open(leaf, id));
    });
  } else {
    return static_cast<const T&>(value);
  }
}

/// Throws InvalidArgumentError naming `what` where a distributed value, also inside nests, was made for
/// another number of replicas.
template <class T>
void check_replicas(const T& value, int replicas, const char* what) {
  if constexpr (kIsDistributed<T>) {
    size_t parts = 0;
    if constexpr (std::is_same_v<T, DistributedBatch>)
      parts = value.parts.size();
    else
      parts = value.size();
    if (parts != static_cast<size_t>(replicas))
      throw InvalidArgumentError(std::string(what) + ": an argument is distributed to " +
                                 std::to_string(parts) + " replicas, but the strategy has " +
                                 std::to_string(replicas) + "; use what this strategy distributed");
  } else if constexpr (kHoldsDistributed<T>) {
    nest::map(value, [&](const auto& leaf) {
      nest::check_replicas(leaf, replicas, what);
      return true;
    });
  }
}

/// Sizes that differ among the replicas' nests.
[[noreturn]] inline void throw_unlike(size_t first, size_t other) {
  throw InvalidArgumentError("the replicas' results do not fit together: lists of " + std::to_string(first) +
                             " and " + std::to_string(other) + " elements");
}

/// regroup(values): one nest per replica becomes one nest of PerReplica leaves. Lists without tensors are
/// leaves. Throws InvalidArgumentError for lists or dictionaries that differ in their sizes or keys.
template <class T>
auto regroup(const std::vector<T>& values);

template <class T>
auto regroup_leaf(const std::vector<T>& values) {
  return PerReplica<T>(values);
}
template <class T>
auto regroup_list(const std::vector<std::vector<T>>& lists) {
  std::vector<decltype(nest::regroup(std::declval<std::vector<T>>()))> out;
  for (const auto& list : lists)
    if (list.size() != lists[0].size()) throw_unlike(lists[0].size(), list.size());
  for (size_t i = 0; i < lists[0].size(); ++i) {
    std::vector<T> elements;
    for (const auto& list : lists) elements.push_back(list[i]);
    out.push_back(nest::regroup(elements));
  }
  return out;
}
template <class T>
auto regroup_dict(const std::vector<std::map<std::string, T>>& dicts) {
  std::map<std::string, decltype(nest::regroup(std::declval<std::vector<T>>()))> out;
  for (const auto& dict : dicts)
    if (dict.size() != dicts[0].size()) throw_unlike(dicts[0].size(), dict.size());
  for (const auto& [key, unused] : dicts[0]) {
    std::vector<T> elements;
    for (const auto& dict : dicts) {
      const auto found = dict.find(key);
      if (found == dict.end())
        throw InvalidArgumentError("the replicas' results do not fit together: not all have " +
                                   in_quotes(key));
      elements.push_back(found->second);
    }
    out.emplace(key, nest::regroup(elements));
  }
  return out;
}
template <size_t Index, class Tuple>
auto regroup_element(const std::vector<Tuple>& tuples) {
  std::vector<std::tuple_element_t<Index, Tuple>> elements;
  for (const Tuple& tuple : tuples) elements.push_back(std::get<Index>(tuple));
  return nest::regroup(elements);
}
template <class Tuple, size_t... Index>
auto regroup_tuple(const std::vector<Tuple>& tuples, std::index_sequence<Index...>) {
  return std::tuple{nest::regroup_element<Index>(tuples)...};
}

template <class T>
struct Regroup {
  static auto apply(const std::vector<T>& values) { return regroup_leaf(values); }
};
template <class T>
struct Regroup<std::vector<T>> {
  static auto apply(const std::vector<std::vector<T>>& values) {
    if constexpr (kHoldsTensor<T>)
      return regroup_list(values);
    else
      return regroup_leaf(values);
  }
};
template <class T>
struct Regroup<std::map<std::string, T>> {
  static auto apply(const std::vector<std::map<std::string, T>>& values) {
    if constexpr (kHoldsTensor<T>)
      return regroup_dict(values);
    else
      return regroup_leaf(values);
  }
};
template <class A, class B>
struct Regroup<std::pair<A, B>> {
  static auto apply(const std::vector<std::pair<A, B>>& values) {
    auto first = nest::regroup_element<0>(values);
    auto second = nest::regroup_element<1>(values);
    return std::pair{std::move(first), std::move(second)};
  }
};
template <class... Ts>
struct Regroup<std::tuple<Ts...>> {
  static auto apply(const std::vector<std::tuple<Ts...>>& values) {
    return regroup_tuple(values, std::index_sequence_for<Ts...>());
  }
};

template <class T>
auto regroup(const std::vector<T>& values) {
  return Regroup<T>::apply(values);
}

}  // namespace nyala::detail::nest
