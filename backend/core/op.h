#pragma once

#include <array>
#include <cstring>
#include <span>
#include <string_view>
#include <type_traits>
#include <vector>

#include <nyala/backend/core/float32_precision.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

class GradContext;
class Stream;
struct OpDef;

/// What an op is told besides its tensors: a trivially copyable struct of the op's own, held inline.
class Descriptor {
 public:
  static constexpr size_t kMaxBytes = 160;

  Descriptor() = default;
  template <class T>
  requires(std::is_trivially_copyable_v<T> && sizeof(T) <= kMaxBytes && !std::is_same_v<T, Descriptor>)
      Descriptor(const T& value) {
    std::memcpy(bytes_.data(), &value, sizeof(T));
  }
  const void* data() const { return bytes_.data(); }
  template <class T>
  const T& as() const {
    return *reinterpret_cast<const T*>(bytes_.data());
  }

 private:
  alignas(16) std::array<std::byte, kMaxBytes> bytes_;
};

/// For ops that need none.
struct NoDescriptor {};

using TensorPointers = std::span<const Tensor* const>;

/// Shape rule: sees the inputs (perhaps abstract, perhaps with None sizes) and says what comes out.
class InferContext {
 public:
  InferContext(const OpDef& op, const void* descriptor, TensorPointers inputs, std::span<Tensor> outputs)
      : op_(op), descriptor_(descriptor), inputs_(inputs), outputs_(outputs) {}

  template <class T>
  const T& descriptor() const {
    return *static_cast<const T*>(descriptor_);
  }
  size_t num_inputs() const { return inputs_.size(); }
  const Tensor& input(size_t i) const { return *inputs_[i]; }
  const Shape& shape(size_t i) const { return inputs_[i]->shape(); }
  DType dtype(size_t i) const { return inputs_[i]->dtype(); }
  void output(size_t i, const Shape& shape, DType dtype);
  /// Throws ShapeError "op: message".
  [[noreturn]] void fail(const std::string& message) const;
  std::string_view name() const;

 private:
  const OpDef& op_;
  const void* descriptor_;
  TensorPointers inputs_;
  std::span<Tensor> outputs_;
};

/// One launch of a kernel: descriptor, tensors with bytes, scratch memory, and the stream that runs it.
struct KernelCall {
  const OpDef* op = nullptr;
  const struct Kernel* kernel = nullptr;
  const void* descriptor_data = nullptr;
  TensorPointers inputs;
  std::span<const Tensor> outputs;
  Tensor workspace;  // undefined where the kernel asked for none
  Stream* stream = nullptr;
  Float32Precision precision = Float32Precision::highest;

  template <class T>
  const T& descriptor() const {
    return *static_cast<const T*>(descriptor_data);
  }
  const Tensor& input(size_t i) const { return *inputs[i]; }
  const Tensor& output(size_t i) const { return outputs[i]; }
  template <class T>
  const T* in(size_t i) const {
    return inputs[i]->raw_as<T>();
  }
  template <class T>
  T* out(size_t i) const {
    return outputs[i].raw_as<T>();
  }
};

/// One way to compute an op on one kind of device. Stateless; its caches are its own and thread-safe.
struct Kernel {
  std::string_view name;
  /// Null or "" where the kernel takes the call, else the reason why not (a string literal). May be null:
  /// takes all.
  const char* (*unsupported_reason)(const KernelCall&) = nullptr;
  /// Bytes of scratch memory for this call. May be null: none.
  size_t (*workspace)(const KernelCall&) = nullptr;
  void (*run)(const KernelCall&) = nullptr;
  /// It reads and writes 16-bit floats itself. Others never see them: dispatch() gives them float32.
  bool takes_half = false;
};

/// The plain loop of an op as a kernel, named "reference".
struct ReferenceKernel : Kernel {
  constexpr ReferenceKernel(void (*loop)(const KernelCall&) = nullptr)
      : Kernel{"reference", nullptr, nullptr, loop} {}
};

/// Bits of OpDef::keep_inputs and keep_outputs: tensors whose values the gradient reads.
inline constexpr uint32_t kKeepNone = 0;
inline constexpr uint32_t kKeepAll = ~0u;

namespace detail {

constexpr uint32_t keep(int i) { return 1u << i; }
constexpr uint32_t keep(int i, int j) { return 1u << i | 1u << j; }
constexpr uint32_t keep(int i, int j, int k) { return keep(i, j) | 1u << k; }

}  // namespace detail

/// An op as data: name, shape rule, gradient, plain reference loop. Kernels for it stand in the kernel table.
struct OpDef {
  std::string_view name;
  size_t num_outputs = 1;
  void (*infer)(InferContext&) = nullptr;
  /// Null: not differentiable, results are never tracked.
  void (*gradient)(GradContext&) = nullptr;
  uint32_t keep_inputs = kKeepNone;
  uint32_t keep_outputs = kKeepNone;
  /// The gradient of each input that keep_inputs names reads the others of them, but not itself: it is kept
  /// only where another one is tracked.
  bool is_product = false;
  /// Whether the gradient of a call with this descriptor reads the outputs that keep_outputs names, as where
  /// an activation is fused. Null: it does.
  bool (*reads_outputs)(const void* descriptor) = nullptr;
  /// Runs on any host-addressable memory; always the last kernel in every list. Null for ops that are only
  /// recorded.
  ReferenceKernel reference;
  /// The output is input 0's bytes under another shape: nothing runs where the output is not given.
  bool is_view = false;
  /// Kernels refuse empty inputs unless this says otherwise, so fast kernels need not think of zero rows.
  bool fast_kernels_take_empty = false;
  /// Kernels report bad values (labels, indices): dispatch() hands them, behind the inputs, the status word
  /// of the device that they run on (backend/runtime/status_word.h).
  bool reports_status = false;
  /// Where GradContext::records() says so, `gradient` is made of differentiable ops alone, so that second
  /// derivatives go through it. Others refuse them with an error.
  bool twice_differentiable = false;
  /// Output 0 again, with the same bits, from the entry's tensors on the tape (inputs, then outputs, those
  /// that the gradient keeps): for values marked TapeValue::recomputed. Null: it cannot.
  Tensor (*recompute)(const void* descriptor, std::span<const Tensor> kept) = nullptr;
  /// The reference loop reads and writes 16-bit floats itself, as where elements are only moved. Others
  /// compute in float32, and dispatch() rounds what comes out.
  bool takes_half = false;
  /// `gradient` only hands on what it gets, so that a float32 gradient of a 16-bit result need not be rounded
  /// on its way.
  bool hands_on_gradients = false;
};

}  // namespace nyala
