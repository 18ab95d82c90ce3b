#pragma once

#include <concepts>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/core/tensor.h>
#include <nyala/strategies/cross_device/reduce_op.h>

namespace nyala {

/// How values that lie on several devices are brought together. A program passes one to a strategy
/// (`MirroredStrategy({.cross_device_ops = RingAllReduce()})`) or writes its own: derive, implement name()
/// and sum_in_place(); everything else is built on that and may be overridden.
///
/// All functions are const and must be thread-safe: a strategy reduces several parts of its gradients at
/// once. Values of one call have the same shape and dtype, one per replica, in replica order: float32,
/// float64, int32 or int64, and bfloat16 and float16, which are summed in float32 and rounded once. A mean of
/// integers is rounded towards negative infinity. Other dtypes throw DTypeError, unlike shapes ShapeError, no
/// values or no destinations InvalidArgumentError.
///
/// Whatever the algorithm: results are bit-identical on all destinations and the same in every run.
class CrossDeviceOps {
 public:
  virtual ~CrossDeviceOps() = default;

  /// Class name, for describe() and errors.
  virtual std::string name() const = 0;
  /// Throws a typed error saying what to use instead unless values on `devices` can be brought together. A
  /// strategy asks once, when it is made.
  virtual void check_devices(const std::vector<Device>& devices) const { (void)devices; }

  /// Reduces flat tensors in place. The result is in the first one, with `to_all` in every one; what is in
  /// the others without `to_all` is unspecified.
  void all_reduce(ReduceOp op, std::span<const Tensor> buffers, bool to_all) const;

  /// The sum or mean of `values` on every destination, in tensors of their own.
  virtual Tensors reduce(ReduceOp op, const Tensors& values, const std::vector<Device>& destinations) const;
  /// reduce() for each entry of `values`. Here one by one; ops with num_packs pack the entries first. Results
  /// of one replica may then be views of one buffer.
  virtual std::vector<Tensors> batch_reduce(ReduceOp op, const std::vector<Tensors>& values,
                                            const std::vector<Device>& destinations) const;
  /// A copy of `value` on every destination.
  virtual Tensors broadcast(const Tensor& value, const std::vector<Device>& destinations) const;
  /// `values`, which may differ in size along `axis` (negative counts from the end), concatenated in replica
  /// order, on every destination. Any dtype.
  virtual Tensors gather(const Tensors& values, const std::vector<Device>& destinations, int axis) const;

 protected:
  /// The algorithm: sums at least two flat, not empty buffers of equal length and of float32, float64, int32
  /// or int64 as all_reduce() says.
  virtual void sum_in_place(std::span<const Tensor> buffers, bool to_all) const = 0;
};

/// A CrossDeviceOps as an option: holds a copy of what is assigned, or nothing, which means "choose".
class CrossDeviceOpsOption {
 public:
  CrossDeviceOpsOption() = default;
  template <std::derived_from<CrossDeviceOps> Ops>
  CrossDeviceOpsOption(Ops ops) : ops_(std::make_shared<const Ops>(std::move(ops))) {}
  CrossDeviceOpsOption(std::shared_ptr<const CrossDeviceOps> ops) : ops_(std::move(ops)) {}
  const std::shared_ptr<const CrossDeviceOps>& get() const { return ops_; }

 private:
  std::shared_ptr<const CrossDeviceOps> ops_;
};

/// The op that a strategy takes for replicas on `devices` when it is not told one:
///
/// | devices                               | op                        | because                          |
/// |---------------------------------------|---------------------------|----------------------------------|
/// | one                                   | DirectAllReduce           | there is nothing to reduce       |
/// | CPUs                                  | DirectAllReduce           | they share their memory          |
/// | GPUs, NCCL is built in                | NcclAllReduce             | it knows the links between them  |
/// | two other accelerators, or kinds mix  | ReductionToOneDevice      | works among any devices          |
/// | three or more of one other kind       | HierarchicalCopyAllReduce | log2(N) copies in a row, not N   |
std::shared_ptr<const CrossDeviceOps> choose_cross_device_ops(const std::vector<Device>& devices);

}  // namespace nyala
