#pragma once

#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// One value per replica of this process, in replica order. The values may differ, also in their sizes.
template <class T = Tensor>
class PerReplica {
 public:
  using value_type = T;

  PerReplica() = default;
  PerReplica(std::vector<T> values) : values_(std::move(values)) {}
  PerReplica(std::initializer_list<T> values) : values_(values) {}

  size_t size() const { return values_.size(); }
  bool empty() const { return values_.empty(); }
  decltype(auto) operator[](size_t replica) const { return values_[replica]; }
  decltype(auto) operator[](size_t replica) { return values_[replica]; }
  /// Throws InvalidArgumentError where there is no such replica.
  decltype(auto) at(size_t replica) const {
    if (replica >= size())
      throw InvalidArgumentError("a PerReplica of " + std::to_string(size()) +
                                 " values has none for replica " + std::to_string(replica));
    return values_[replica];
  }
  auto begin() const { return values_.begin(); }
  auto end() const { return values_.end(); }
  void push_back(T value) { values_.push_back(std::move(value)); }
  const std::vector<T>& values() const { return values_; }

 private:
  std::vector<T> values_;
};

/// One value that all replicas hold, each its copy.
template <class T = Tensor>
class Mirrored {
 public:
  using value_type = T;

  /// Equal values, one per replica. Throws InvalidArgumentError for none.
  explicit Mirrored(std::vector<T> copies) : copies_(std::move(copies)) {
    if (copies_.empty()) throw InvalidArgumentError("Mirrored: expected one copy per replica, received none");
  }

  /// The value: that of replica 0.
  decltype(auto) value() const { return copies_.front(); }
  size_t size() const { return copies_.size(); }
  decltype(auto) operator[](size_t replica) const { return copies_[replica]; }
  /// Throws InvalidArgumentError where there is no such replica.
  decltype(auto) at(size_t replica) const {
    if (replica >= size())
      throw InvalidArgumentError("a Mirrored of " + std::to_string(size()) + " copies has none for replica " +
                                 std::to_string(replica));
    return copies_[replica];
  }
  const std::vector<T>& values() const { return copies_; }

 private:
  std::vector<T> copies_;
};

}  // namespace nyala
