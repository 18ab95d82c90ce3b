#include <nyala/datasets/base/partial_batches.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

class OptionsNode : public SelectingNode<OptionsNode>, public PartialBatches {
 public:
  OptionsNode(DatasetNodePointer input, const DatasetOptions& options)
      : SelectingNode(std::move(input)), options_(options) {}

  template <class T>
  std::unique_ptr<ItemStream<T>> select(const Iteration& iteration) const {
    return detail::open_stream<T>(input(), iteration);
  }
  std::unique_ptr<ItemStream<PartOfBatch>> parts(const Iteration& iteration,
                                                 const Choice& choice) const override {
    const auto* const batches = dynamic_cast<const PartialBatches*>(&input());
    return batches ? batches->parts(iteration, choice) : nullptr;
  }
  int64_t cardinality() const override { return input().cardinality(); }
  DatasetOptions options() const override { return options_; }
  bool has_shard_hint() const override { return input().has_shard_hint(); }

 private:
  DatasetOptions options_;
};

}  // namespace

DatasetNodePointer with_options(DatasetNodePointer input, const DatasetOptions& options) {
  return std::make_shared<OptionsNode>(std::move(input), options);
}

}  // namespace nyala::combinators
