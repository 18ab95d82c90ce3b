// Over arrays a batch never makes single elements: row numbers travel through shuffle, take and the like, and
// the batch gathers its rows in one pass, or is a view where they follow each other. Other sources bring
// elements, each copied to its row as it comes.
#include <cstring>
#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/parallel.h>
#include <nyala/datasets/base/partial_batches.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

using namespace nyala::detail;

namespace {

/// Bytes that are worth a thread of their own.
constexpr size_t kGatherGrain = size_t{1} << 18;

/// Number of batches that `count` elements give.
int64_t batches_of(int64_t count, int64_t size, bool drop_remainder) {
  return count / size + (!drop_remainder && count % size != 0 ? 1 : 0);
}

/// `skip` of a stream of batches by a skip of its elements.
template <class T>
int64_t skip_batches(ItemStream<T>& input, int64_t count, int64_t size, bool drop_remainder) {
  int64_t wanted = 0;
  if (__builtin_mul_overflow(count, size, &wanted)) wanted = INT64_MAX;
  return std::min(count, batches_of(input.skip(wanted), size, drop_remainder));
}

Tensor gather(const Tensor& from, std::span<const int64_t> rows) {
  const int64_t count = static_cast<int64_t>(rows.size());
  const Tensor out = Tensor::empty(from.shape().with(0, count), from.dtype());
  const size_t width =
      from.shape().front() > 0 ? from.bytes() / static_cast<size_t>(from.shape().front()) : 0;
  if (width == 0) return out;
  const auto* source = from.raw_as<const char>();
  auto* target = out.raw_as<char>();
  const int64_t grain = static_cast<int64_t>(std::max<size_t>(1, kGatherGrain / width));
  parallel_for(count, grain, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      std::memcpy(target + static_cast<size_t>(i) * width,
                  source + static_cast<size_t>(rows[static_cast<size_t>(i)]) * width, width);
  });
  out.storage()->bump_version();
  return out;
}

/// Batches straight from the arrays: gathered, or a view where the rows follow each other.
class GatherStream : public ElementStream {
 public:
  GatherStream(const Element& arrays, std::unique_ptr<RowStream> rows, int64_t size, bool drop)
      : arrays_(arrays), rows_(std::move(rows)), size_(size), drop_remainder_(drop) {
    if (size < int64_t{1} << 20) order_.reserve(static_cast<size_t>(size));
  }

  bool next(Element& out) override {
    const int64_t rows = take(out, size_);
    return rows == size_ || (rows > 0 && !drop_remainder_);
  }

  /// A batch of the next rows, at most `wanted`; how many they are. Without any, `out` stays.
  int64_t take(Element& out, int64_t wanted) {
    order_.clear();
    bool consecutive = true;
    int64_t row = 0;
    while (std::ssize(order_) < wanted && rows_->next(row)) {
      consecutive = consecutive && (order_.empty() || row == order_.back() + 1);
      order_.push_back(row);
    }
    if (order_.empty()) return 0;
    const auto select = [&](const Tensor& from) {
      return consecutive ? from.rows(order_.front(), static_cast<int64_t>(order_.size()))
                         : gather(from, order_);
    };
    out.x.resize(arrays_.x.size());
    out.y.resize(arrays_.y.size());
    std::transform(arrays_.x.begin(), arrays_.x.end(), out.x.begin(), select);
    std::transform(arrays_.y.begin(), arrays_.y.end(), out.y.begin(), select);
    out.sample_weight.assign(arrays_.sample_weight, select);
    return std::ssize(order_);
  }

  int64_t skip(int64_t count) override { return skip_batches(*rows_, count, size_, drop_remainder_); }
  int64_t skip_rows(int64_t count) { return rows_->skip(count); }

 private:
  const Element& arrays_;
  std::unique_ptr<RowStream> rows_;
  int64_t size_;
  bool drop_remainder_;
  std::vector<int64_t> order_;
};

/// Batches of single elements, each copied into its row as it comes.
class StackStream : public ElementStream {
 public:
  StackStream(std::unique_ptr<ElementStream> input, int64_t size, bool drop_remainder)
      : input_(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  bool next(Element& out) override {
    const int64_t rows = take(out, size_);
    return rows == size_ || (rows > 0 && !drop_remainder_);
  }

  /// A batch of the next elements, at most `wanted`; how many they are. Without any, `out` stays.
  int64_t take(Element& out, int64_t wanted) {
    Element element;
    int64_t count = 0;
    for (; count < wanted && input_->next(element); ++count) {
      if (count == 0) allocate(element, wanted, out);
      place(element, out, count);
    }
    if (count == 0) return 0;
    if (count < wanted) out = rows_of(out, 0, count);
    for_each_tensor(out, [](Tensor& tensor) { tensor.storage()->bump_version(); });
    return count;
  }

  int64_t skip(int64_t count) override { return skip_batches(*input_, count, size_, drop_remainder_); }
  int64_t skip_rows(int64_t count) { return input_->skip(count); }

 private:
  static void allocate(const Element& first, int64_t rows, Element& out) {
    out = first;
    for_each_tensor(out, [&](Tensor& tensor) {
      if (tensor.is_abstract() || !tensor.defined())
        throw InvalidArgumentError("Dataset::batch: expected tensors with values, received one without");
      Shape shape{rows};
      for (int64_t size : tensor.shape()) shape.append(size);
      tensor = Tensor::empty(shape, tensor.dtype());
    });
  }

  static void place(const Element& element, const Element& out, int64_t row) {
    std::vector<const Tensor*> targets;
    for_each_tensor(out, [&](const Tensor& tensor) { targets.push_back(&tensor); });
    size_t i = 0;
    const bool alike = element.x.size() == out.x.size() && element.y.size() == out.y.size() &&
                       element.sample_weight.is_like(out.sample_weight);
    if (!alike)
      throw ShapeError("Dataset::batch: element " + std::to_string(row) +
                       " of a batch has another number of tensors than the ones before it");
    for_each_tensor(element, [&](const Tensor& tensor) {
      const Tensor& target = *targets[i++];
      const Shape expected = target.shape().slice(1, target.rank());
      if (tensor.shape() != expected || tensor.dtype() != target.dtype())
        throw ShapeError("Dataset::batch: expected elements of one shape and dtype, received " +
                         expected.to_string() + " " + std::string(name_of(target.dtype())) + " and then " +
                         tensor.shape().to_string() + " " + std::string(name_of(tensor.dtype())));
      tensor.copy_to_host(target.raw_as<char>() + static_cast<size_t>(row) * tensor.bytes());
    });
  }

  std::unique_ptr<ElementStream> input_;
  int64_t size_;
  bool drop_remainder_;
};

/// Some rows of each batch: the elements of the others are passed over.
template <class Batches>
class PartStream : public ItemStream<PartOfBatch> {
 public:
  /// How many of the first so many elements of the traversal there are.
  using Available = std::function<int64_t(int64_t wanted)>;

  PartStream(Batches batches, Available available, int64_t size, bool drop, PartialBatches::Choice choice)
      : batches_(std::move(batches)),
        available_(std::move(available)),
        size_(size),
        drop_remainder_(drop),
        choice_(std::move(choice)) {}

  bool next(PartOfBatch& out) override {
    const int64_t rows = available_(place_ + size_) - place_;
    if (rows == 0 || (drop_remainder_ && rows < size_)) return false;
    const auto [wanted, count] = choice_(rows);
    const int64_t first = std::min(wanted, rows - 1), taken = std::max<int64_t>(count, 1);
    batches_.skip_rows(first);
    if (batches_.take(out.rows, taken) < taken)
      throw StateError("Dataset::batch: the elements ended before there were as many as the pipeline said");
    if (count == 0) out.rows = rows_of(out.rows, 0, 0);
    batches_.skip_rows(rows - first - taken);
    out.first = wanted;
    out.batch_rows = rows;
    place_ += rows;
    return true;
  }

  int64_t skip(int64_t count) override {
    const int64_t skipped = batches_.skip(count);
    place_ += std::min(available_(place_ + skipped * size_) - place_, skipped * size_);
    return skipped;
  }

 private:
  Batches batches_;
  Available available_;
  int64_t place_ = 0, size_;
  bool drop_remainder_;
  PartialBatches::Choice choice_;
};

class BatchNode : public UnaryNode, public PartialBatches {
 public:
  BatchNode(DatasetNodePointer input, int64_t size, bool drop_remainder)
      : UnaryNode(std::move(input)), size_(size), drop_remainder_(drop_remainder) {}

  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    if (const Element* arrays = input().arrays())
      return std::make_unique<GatherStream>(*arrays, input().rows(iteration), size_, drop_remainder_);
    return std::make_unique<StackStream>(input().elements(iteration), size_, drop_remainder_);
  }
  std::unique_ptr<ItemStream<PartOfBatch>> parts(const Iteration& iteration,
                                                 const Choice& choice) const override {
    using Parts = std::unique_ptr<ItemStream<PartOfBatch>>;
    const auto parts_of = [&](auto batches, const auto& available) -> Parts {
      return std::make_unique<PartStream<decltype(batches)>>(std::move(batches), available, size_,
                                                             drop_remainder_, choice);
    };
    if (iteration.hint) return hinted_parts(iteration, parts_of);
    const int64_t count = input().cardinality();
    if (count < 0 || !is_index_based()) return nullptr;
    const auto available = [count](int64_t wanted) { return std::min(wanted, count); };
    if (const Element* arrays = input().arrays())
      return parts_of(GatherStream(*arrays, input().rows(iteration), size_, drop_remainder_), available);
    return parts_of(StackStream(input().elements(iteration), size_, drop_remainder_), available);
  }
  int64_t cardinality() const override {
    const int64_t count = input().cardinality();
    return count < 0 ? count : batches_of(count, size_, drop_remainder_);
  }
  std::optional<bool> is_batched() const override { return true; }

 private:
  /// shard(kShardHint, kShardHint) counts the elements, and those that are passed over end there.
  template <class PartsOf>
  std::unique_ptr<ItemStream<PartOfBatch>> hinted_parts(const Iteration& iteration,
                                                        PartsOf&& parts_of) const {
    if (!input().has_shard_hint())
      throw InvalidArgumentError(
          "AutoShardPolicy::hint: expected shard(kShardHint, kShardHint) in front of batch(), and nothing "
          "but "
          "map() and prefetch() between them");
    StackStream batches(input().elements(iteration), size_, drop_remainder_);
    return parts_of(std::move(batches),
                    [hint = iteration.hint](int64_t wanted) { return (*hint)->available(wanted); });
  }

  int64_t size_;
  bool drop_remainder_;
};

}  // namespace

DatasetNodePointer batch(DatasetNodePointer input, int64_t batch_size, const BatchConfig& config) {
  if (batch_size < 1)
    throw InvalidArgumentError("Dataset::batch: expected a batch_size of at least 1, received " +
                               std::to_string(batch_size));
  return std::make_shared<BatchNode>(std::move(input), batch_size, config.drop_remainder);
}

}  // namespace nyala::combinators
