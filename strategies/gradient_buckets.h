#pragma once

#include <atomic>
#include <deque>
#include <functional>
#include <memory>
#include <vector>

#include <nyala/backend/autograd/gradient_sink.h>
#include <nyala/backend/parameters/update_rule.h>
#include <nyala/strategies/comm/all_reduce.h>

namespace nyala {

/// Takes the gradients of all replicas and reduces them bucket by bucket, each as soon as every replica's
/// gradients of its variables are final, while backward still runs. A bucket is a contiguous run of the
/// gradient arena.
class GradientBuckets {
 public:
  GradientBuckets(ParameterStore& store, int64_t bucket_elements);
  ~GradientBuckets();

  /// Prepares for one step of `rule`: `reduce` false only gathers; `accumulate` adds to what the arena holds.
  void begin(const UpdateRule& rule, bool reduce, bool accumulate);
  /// Replica `replica`'s sink for this step.
  GradientSink& sink(int replica);
  /// Replica `replica` has walked back: variables that its tape never saw get zeros.
  void finish(int replica);

  /// Called with the bucket's number when it begins to be reduced: for traces.
  std::function<void(int bucket)> on_reduce;
  size_t num_buckets() const { return buckets_.size(); }

 private:
  class Sink;
  struct Bucket {
    std::vector<Tensor> gradients;  // one flat view per replica
    int variables = 0;
    std::atomic<int> missing{0};  // reports of (variable, replica) still to come
  };
  struct Place {
    int bucket = -1;  // -1: not a variable of the rule
    std::vector<Tensor> gradients;
  };

  void arm(const UpdateRule& rule);
  void add_buckets(const Variables& variables);
  const Place* place_of(int32_t leaf) const;
  /// One report for a bucket; the last one reduces it.
  void count(int bucket);

  ParameterStore& store_;
  int64_t bucket_elements_;
  Variables armed_;
  std::deque<Bucket> buckets_;
  std::vector<Place> places_;  // by leaf
  std::vector<std::unique_ptr<Sink>> sinks_;
  bool reduce_ = true, accumulate_ = false;
};

}  // namespace nyala
