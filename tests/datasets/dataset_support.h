#pragma once

#include <numeric>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/datasets/base/dataset.h>

namespace nyala {

using Numbers = std::vector<int64_t>;

inline Numbers count_to(int64_t count) {
  Numbers out(static_cast<size_t>(count));
  std::iota(out.begin(), out.end(), 0);
  return out;
}

/// Elements 0, 1, ... as int64 scalars, found by position.
inline Dataset range(int64_t count) { return Dataset::from_tensor_slices(Tensor::from(count_to(count))); }

/// The same elements one by one, as a generator gives them.
inline Dataset generated(int64_t count) {
  return Dataset::from_generator([count] {
    return [i = int64_t{0}, count](Element& element) mutable {
      if (i == count) return false;
      element.x = {Tensor::scalar<int64_t>(i++)};
      return true;
    };
  });
}

/// The same elements through a map, so that nothing knows their rows.
inline Dataset mapped_range(int64_t count) {
  return range(count).map([](Element e) { return e; });
}

inline Numbers values_of(const Tensor& tensor) {
  const auto data = tensor.data<int64_t>();
  return Numbers(data.begin(), data.end());
}

/// Everything an iterator has left, one list of values per element.
inline std::vector<Numbers> elements_of(DatasetIterator iterator) {
  std::vector<Numbers> out;
  Batch batch;
  while (iterator.next(batch)) out.push_back(values_of(batch.x.at(0)));
  EXPECT_FALSE(iterator.next(batch)) << "the end is not the end";
  return out;
}

inline Numbers joined(const std::vector<Numbers>& lists) {
  Numbers out;
  for (const Numbers& list : lists) out.insert(out.end(), list.begin(), list.end());
  return out;
}

/// All values of one iteration, in order.
inline Numbers all_of(const Dataset& dataset, const IterationConfig& config = {}) {
  return joined(elements_of(dataset.iterate(config)));
}

}  // namespace nyala
