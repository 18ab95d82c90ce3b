#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

class FilterStream : public ElementStream {
 public:
  FilterStream(std::unique_ptr<ElementStream> input, FilterFunction f)
      : input_(std::move(input)), f_(std::move(f)) {}
  bool next(Element& element) override {
    while (input_->next(element))
      if (f_(element)) return true;
    return false;
  }

 private:
  std::unique_ptr<ElementStream> input_;
  FilterFunction f_;
};

class FilterNode : public UnaryNode {
 public:
  FilterNode(DatasetNodePointer input, FilterFunction f) : UnaryNode(std::move(input)), f_(std::move(f)) {}
  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    return std::make_unique<FilterStream>(input().elements(iteration), f_);
  }
  int64_t cardinality() const override { return input().cardinality() == 0 ? 0 : kUnknownCardinality; }

 private:
  FilterFunction f_;
};

}  // namespace

DatasetNodePointer filter(DatasetNodePointer input, FilterFunction f) {
  return std::make_shared<FilterNode>(std::move(input), std::move(f));
}

}  // namespace nyala::combinators
