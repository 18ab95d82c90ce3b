#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

const char* const kPlaces[] = {"x", "y", "sample_weight"};

class ZipStream : public ElementStream {
 public:
  explicit ZipStream(std::vector<std::unique_ptr<ElementStream>> inputs) : inputs_(std::move(inputs)) {}

  bool next(Element& out) override {
    Element zipped, part;
    for (size_t i = 0; i < inputs_.size(); ++i) {
      if (!inputs_[i]->next(part)) return false;
      check(part, i);
      if (i == 0) zipped.x = std::move(part.x);
      if (i == 1) zipped.y = std::move(part.x);
      if (i == 2) zipped.sample_weight = std::move(part.x.front());
    }
    out = std::move(zipped);
    return true;
  }

  int64_t skip(int64_t count) override {
    for (const auto& input : inputs_) count = std::min(count, input->skip(count));
    return count;
  }

 private:
  static void check(const Element& part, size_t i) {
    const bool fits = part.y.empty() && !part.sample_weight.defined() && (i < 2 || part.x.size() == 1);
    if (fits) return;
    throw InvalidArgumentError(std::string("Dataset::zip: expected elements with nothing but ") +
                               (i < 2 ? "x" : "one x") + " in the dataset for " + kPlaces[i] +
                               ", received x, y and sample_weight of " + std::to_string(part.x.size()) +
                               ", " + std::to_string(part.y.size()) + " and " +
                               std::to_string(part.sample_weight.defined() ? 1 : 0) + " tensors");
  }

  std::vector<std::unique_ptr<ElementStream>> inputs_;
};

class ZipNode : public DatasetNode {
 public:
  explicit ZipNode(std::vector<DatasetNodePointer> inputs)
      : DatasetNode(inputs), inputs_(std::move(inputs)) {}

  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    std::vector<std::unique_ptr<ElementStream>> streams;
    for (const auto& input : inputs_) streams.push_back(input->elements(iteration));
    return std::make_unique<ZipStream>(std::move(streams));
  }

  int64_t cardinality() const override {
    int64_t least = kInfiniteCardinality;
    for (const auto& input : inputs_) {
      const int64_t one = input->cardinality();
      if (one == kUnknownCardinality) return kUnknownCardinality;
      if (one >= 0) least = least == kInfiniteCardinality ? one : std::min(least, one);
    }
    return least;
  }

  bool is_index_based() const override {
    return std::all_of(inputs_.begin(), inputs_.end(),
                       [](const auto& input) { return input->is_index_based(); });
  }
  std::optional<bool> is_batched() const override { return inputs_.front()->is_batched(); }
  DatasetOptions options() const override { return inputs_.front()->options(); }

 private:
  std::vector<DatasetNodePointer> inputs_;
};

}  // namespace

DatasetNodePointer zip(std::vector<DatasetNodePointer> inputs) {
  if (inputs.size() < 2 || inputs.size() > 3)
    throw InvalidArgumentError(
        "Dataset::zip: expected two datasets (x, y) or three (x, y, sample_weight), received " +
        std::to_string(inputs.size()));
  return std::make_shared<ZipNode>(std::move(inputs));
}

}  // namespace nyala::combinators
