#pragma once

#include <initializer_list>
#include <map>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace nyala {

/// Values for the outputs of a model: one for all, one per output in order, or by output name.
template <class T>
class PerOutput {
 public:
  PerOutput() = default;
  PerOutput(T value) : list_{std::move(value)} {}
  template <class U>
  requires(std::is_convertible_v<U, T> && !std::is_same_v<std::decay_t<U>, PerOutput>) PerOutput(U&& value)
      : list_{T(std::forward<U>(value))} {}
  PerOutput(std::initializer_list<T> list) : list_(list) {}
  PerOutput(std::vector<T> list) : list_(std::move(list)) {}
  PerOutput(std::map<std::string, T> named) : named_(std::move(named)) {}
  PerOutput(std::initializer_list<std::pair<const std::string, T>> named) : named_(named) {}

  bool empty() const { return list_.empty() && named_.empty(); }
  const std::vector<T>& list() const { return list_; }
  const std::map<std::string, T>& named() const { return named_; }

 private:
  std::vector<T> list_;
  std::map<std::string, T> named_;
};

}  // namespace nyala
