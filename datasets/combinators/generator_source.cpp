#include <string>

#include <nyala/backend/core/check_is_function.h>
#include <nyala/backend/core/error.h>
#include <nyala/datasets/combinators/combinators.h>

namespace nyala::combinators {

namespace {

class GeneratorStream : public ElementStream {
 public:
  explicit GeneratorStream(PullFunction pull) : pull_(std::move(pull)) {}
  bool next(Element& element) override {
    if (!pull_) return false;
    element = {};
    PullFunction pull = std::exchange(pull_, nullptr);  // stays null if an exception leaves here
    if (!pull(element)) return false;
    pull_ = std::move(pull);
    return true;
  }

 private:
  PullFunction pull_;
};

class GeneratorSource : public DatasetNode {
 public:
  GeneratorSource(std::function<PullFunction()> make, const GeneratorConfig& config)
      : make_(std::move(make)), config_(config) {}
  std::unique_ptr<ElementStream> elements(const Iteration& iteration) const override {
    if (iteration.num_file_shards > 1)
      throw InvalidArgumentError(
          "AutoShardPolicy::file: expected data that begins with a list of files "
          "(image_dataset_from_directory, "
          "from_tensor_slices of names), received a generator");
    PullFunction pull = make_();
    if (!pull)
      throw InvalidArgumentError(
          "Dataset::from_generator: expected a function that pulls, received an empty one");
    return std::make_unique<GeneratorStream>(std::move(pull));
  }
  int64_t cardinality() const override { return config_.cardinality; }
  bool is_index_based() const override { return false; }
  std::optional<bool> is_batched() const override { return config_.batched; }

 private:
  std::function<PullFunction()> make_;
  GeneratorConfig config_;
};

}  // namespace

DatasetNodePointer generator_source(std::function<PullFunction()> make, const GeneratorConfig& config) {
  detail::check_is_function(make, "Dataset::from_generator");
  if (config.cardinality < kUnknownCardinality)
    throw InvalidArgumentError("Dataset::from_generator: expected a cardinality of at least -2, received " +
                               std::to_string(config.cardinality));
  return std::make_shared<GeneratorSource>(std::move(make), config);
}

}  // namespace nyala::combinators
