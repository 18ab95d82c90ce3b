#pragma once

#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include <nyala/backend/core/op.h>
#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What stands behind a leaf and may be written while a tape still needs the value that it recorded: a
/// variable. Writes are numbered through the whole process.
class TapeSource : public std::enable_shared_from_this<TapeSource> {
 public:
  /// For errors: "dense_1/kernel".
  virtual std::string_view path() const = 0;
  /// The number of the last write; 0: none.
  uint64_t written() const { return written_.load(std::memory_order_relaxed); }
  void note_write() { written_.store(next_write(), std::memory_order_relaxed); }
  /// How many writes there have been.
  static uint64_t writes() { return writes_.load(std::memory_order_relaxed); }
  /// The number of a write that is made now.
  static uint64_t next_write() { return writes_.fetch_add(1, std::memory_order_relaxed) + 1; }

 protected:
  ~TapeSource() = default;

 private:
  inline static std::atomic<uint64_t> writes_{0};
  std::atomic<uint64_t> written_{0};
};

/// Where a tracked value came from and who uses it.
struct TapeValue {
  Tensor abstract;                // shape, dtype, device; no bytes
  int32_t leaf = -1;              // key given to watch(), -1 for others
  uint32_t uses = 0;              // entries that read it
  const void* address = nullptr;  // of a leaf's bytes
  /// Set after record() of an op with OpDef::recompute: entries behind keep only the shape of this value, and
  /// backward makes it again where a gradient reads it.
  bool recomputed = false;
  std::shared_ptr<const TapeSource> source = nullptr;  // of a leaf that is a variable's value

  /// In which contributions of `dtype` to its gradient are added up: a sum of two is rounded once in 16 bits,
  /// more of them would lose digits with each.
  DType dtype_of_sum(DType dtype) const { return uses > 2 ? dtype_of_sums(dtype) : dtype; }
};

/// One recorded op. Its tensors stand in Tape::tensors(): first the inputs, then the outputs; those that the
/// gradient does not read are abstract tensors.
struct TapeEntry {
  const OpDef* op;
  Descriptor descriptor;
  uint32_t first_tensor;
  uint32_t first_id;  // into Tape::ids(): value id of each input (kUntracked where not tracked), then of each
                      // output
  uint16_t num_inputs;
  uint16_t num_outputs;
  uint64_t writes;  // TapeSource::writes() when it was recorded
};

/// The ops of one step as data. Recording costs no allocation once its vectors have grown. Walking back is
/// backend/autograd's business. One thread at a time.
class Tape : public std::enable_shared_from_this<Tape> {
 public:
  static constexpr uint32_t kUntracked = ~0u;

  Tape();
  ~Tape();
  Tape(const Tape&) = delete;
  Tape& operator=(const Tape&) = delete;

  /// Returns `value` tracked as a leaf. Backward reports its gradient under `leaf` (>= 0). A leaf that was
  /// watched before, with the same bytes, is found again. `source`, if there is one, lives as long as the
  /// record.
  Tensor watch(const Tensor& value, int32_t leaf, const TapeSource* source = nullptr);
  /// The value of the leaf with this key and these bytes, kUntracked if it was never watched.
  uint32_t find(int32_t leaf, const void* address) const;
  /// Whether the gradient of `entry` reads the value of input `i`.
  bool reads_input(const TapeEntry& entry, size_t i) const;
  /// The entry that has value `id` among its outputs, found by bisection, since values are numbered as they
  /// are made; null for leaves and other values from outside. Until the next record().
  const TapeEntry* maker_of(uint32_t id) const;
  /// Returns `value` tracked as a value of its own, which backward does not report.
  Tensor track(const Tensor& value);

  /// `leaf`, a leaf of another tape, as a leaf of this one: without its bytes.
  Tensor watch_same(const TapeValue& leaf);

  /// Records `op`: `outputs` become tracked. Called by the dispatcher when an input is tracked by this tape.
  void record(const OpDef& op, const Descriptor& descriptor, TensorPointers inputs,
              std::span<Tensor> outputs);

  /// Numbers a write over the bytes of `written`, in which a tape may hold a value: an assignment to a slice,
  /// copy_from and copy_from_host, and with them every write to a variable that is not trained. For any
  /// thread. Writes through data() and raw() are seen by nobody.
  static void note_write(const Tensor& written);

  /// Throws StateError where the bytes of tensor `i` of `entry` (its inputs, then its outputs) were written
  /// since it was recorded.
  void check_unwritten(const TapeEntry& entry, size_t i) const {
    if (TapeSource::writes() != entry.writes) check_kept(entry, i);
  }

  /// Forgets everything; tensors tracked until now are tracked no longer. Memory for entries is kept.
  void clear();

  /// While false nothing is recorded.
  bool recording = true;
  /// How many GradientTapes record on this tape together.
  int recorders = 0;

  std::vector<TapeEntry>& entries() { return entries_; }
  std::vector<TapeValue>& values() { return values_; }
  const std::vector<TapeValue>& values() const { return values_; }
  std::vector<Tensor>& tensors() { return tensors_; }
  std::vector<uint32_t>& ids() { return ids_; }
  const std::vector<uint32_t>& ids() const { return ids_; }
  TapeSlot* slot() { return slot_; }

 private:
  void check_kept(const TapeEntry& entry, size_t i) const;
  uint32_t new_value(const Tensor& value, int32_t leaf);

  TapeSlot* slot_;
  std::vector<TapeEntry> entries_;
  std::vector<TapeValue> values_;
  std::vector<Tensor> tensors_;
  std::vector<uint32_t> ids_;
  std::vector<uint32_t> leaf_values_;  // leaf -> value id
};

}  // namespace nyala
