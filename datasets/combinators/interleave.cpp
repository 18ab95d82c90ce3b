#include <string>

#include <nyala/backend/core/check_is_function.h>
#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

/// Round robin over open datasets, as tf.data: a place whose dataset has ended is left at once, and filled
/// with the next dataset when its turn comes again.
class InterleaveStream : public ElementStream {
 public:
  InterleaveStream(std::unique_ptr<ElementStream> input, InterleaveFunction f, const InterleaveConfig& config,
                   const Iteration& iteration)
      : input_(std::move(input)),
        f_(std::move(f)),
        block_length_(config.block_length),
        iteration_{.epoch = iteration.epoch},
        cycle_length_(static_cast<size_t>(config.cycle_length)) {}

  bool next(Element& element) override {
    while (!input_ended_ || open_ > 0) {
      if (turn_ == places_.size()) places_.emplace_back();  // only as many as there are datasets for
      Place& place = places_[turn_];
      if (place.stream) {
        if (place.stream->next(element)) {
          if (++taken_ == block_length_) advance();
          return true;
        }
        place.stream.reset();  // before its node
        place.node.reset();
        --open_;
        advance();
      } else if (input_ended_ || !fill(place)) {
        advance();
      }
    }
    return false;
  }

 private:
  struct Place {
    DatasetNodePointer node;
    std::unique_ptr<ElementStream> stream;
  };

  void advance() {
    taken_ = 0;
    ++turn_;
    if (turn_ == cycle_length_ || (turn_ == places_.size() && input_ended_)) turn_ = 0;
  }

  bool fill(Place& place) {
    Element element;
    if (!input_->next(element)) {
      input_ended_ = true;
      return false;
    }
    place.node = f_(element).node();
    if (!place.node)
      throw StateError("Dataset::interleave: expected a dataset from the function, received an empty handle");
    place.stream = place.node->elements(iteration_);
    ++open_;
    return true;
  }

  std::unique_ptr<ElementStream> input_;
  InterleaveFunction f_;
  int64_t block_length_;
  Iteration iteration_;
  size_t cycle_length_;
  std::vector<Place> places_;
  size_t turn_ = 0;
  int64_t taken_ = 0;
  int open_ = 0;
  bool input_ended_ = false;
};

class InterleaveNode : public UnaryNode {
 public:
  InterleaveNode(DatasetNodePointer input, InterleaveFunction f, const InterleaveConfig& config)
      : UnaryNode(std::move(input)), f_(std::move(f)), config_(config) {}
  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    return std::make_unique<InterleaveStream>(input().elements(iteration), f_, config_, iteration);
  }
  int64_t cardinality() const override { return input().cardinality() == 0 ? 0 : kUnknownCardinality; }
  std::optional<bool> is_batched() const override { return std::nullopt; }

 private:
  InterleaveFunction f_;
  InterleaveConfig config_;
};

}  // namespace

DatasetNodePointer interleave(DatasetNodePointer input, InterleaveFunction f,
                              const InterleaveConfig& config) {
  detail::check_is_function(f, "Dataset::interleave");
  if (config.cycle_length < 1 || config.block_length < 1)
    throw InvalidArgumentError(
        "Dataset::interleave: expected cycle_length and block_length of at least 1, received " +
        std::to_string(config.cycle_length) + " and " + std::to_string(config.block_length));
  return std::make_shared<InterleaveNode>(std::move(input), std::move(f), config);
}

}  // namespace nyala::combinators
