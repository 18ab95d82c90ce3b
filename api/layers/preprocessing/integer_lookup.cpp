#include <nyala/api/layers/preprocessing/integer_lookup.h>

#include <charconv>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/api/layers/base/config_fields.h>
#include <nyala/api/layers/base/layer_files.h>
#include <nyala/api/layers/base/takes_whole_numbers.h>
#include <nyala/api/layers/preprocessing/category_codes.h>
#include <nyala/api/layers/preprocessing/hash_key.h>
#include <nyala/api/layers/preprocessing/lookup_vocabulary.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/categories/lookup.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>

namespace nyala {

using namespace nyala::detail;

void IntegerLookupConfig::fields(FieldVisitor& v) {
  v.optional("max_tokens", max_tokens, -1);
  v.field("num_oov_indices", num_oov_indices);
  v.optional("mask_token", mask_token, kNoToken);
  v.optional("oov_token", oov_token, kNoToken);
  v.field("vocabulary", vocabulary);
  v.field("vocabulary_dtype", vocabulary_dtype);
  v.field("idf_weights", idf_weights);
  v.field("invert", invert);
  v.field("output_mode", output_mode);
  v.field("sparse", sparse);
  v.field("pad_to_max_tokens", pad_to_max_tokens);
  v.field("oov_method", oov_method);
  v.field("salt", salt);
  v.optional("vocabulary_size", vocabulary_size, -1);
}

namespace {

constexpr const char *kLayer = "IntegerLookup", *kVocabularyFile = "vocabulary.txt",
                     *kWeights = "idf_weights";

std::optional<int64_t> token_of(int64_t token) {
  return token == kNoToken ? std::nullopt : std::optional(token);
}

LookupRules<int64_t> rules_of(const IntegerLookupConfig& c) {
  return {.layer = kLayer,
          .max_tokens = c.max_tokens,
          .num_oov_indices = c.num_oov_indices,
          .mask = token_of(c.mask_token),
          .oov = token_of(c.oov_token),
          .is_int = c.output_mode == "int",
          .is_tf_idf = c.output_mode == "tf_idf",
          .invert = c.invert,
          .pads = c.pad_to_max_tokens};
}

void check(bool fits, const std::string& message) {
  if (!fits) throw InvalidArgumentError(std::string(kLayer) + ": " + message);
}

void check_options(const IntegerLookupConfig& c) {
  check(c.max_tokens < 0 || c.max_tokens > 1,
        "expected max_tokens above 1, received " + std::to_string(c.max_tokens));
  check(!c.pad_to_max_tokens || c.max_tokens > 1, "pad_to_max_tokens needs max_tokens");
  check(c.num_oov_indices >= 0,
        "expected num_oov_indices of 0 or more, received " + std::to_string(c.num_oov_indices));
  check(c.vocabulary_dtype == "int64",
        "expected vocabulary_dtype 'int64', received " + in_quotes(c.vocabulary_dtype));
  check(c.oov_method == "floormod" || c.oov_method == "farmhash",
        "expected oov_method 'floormod' or 'farmhash', received " + in_quotes(c.oov_method) +
            did_you_mean(c.oov_method, {"floormod", "farmhash"}));
  check(c.salt.empty() || c.oov_method == "farmhash", "a salt needs oov_method 'farmhash'");
  check(!c.invert || c.output_mode == "int",
        "expected output_mode 'int' with invert, received " + in_quotes(c.output_mode));
  check(c.vocabulary.empty() || c.output_mode != "tf_idf" || !c.idf_weights.empty(),
        "a vocabulary with output_mode 'tf_idf' needs idf_weights");
  check_not_sparse(kLayer, c.sparse);
  if (c.output_mode != "int" && c.output_mode != "tf_idf") category_code_of(kLayer, c.output_mode);
}

/// Today's names of modes.
IntegerLookupConfig with_todays_names(IntegerLookupConfig config) {
  if (config.output_mode == "binary") config.output_mode = "multi_hot";
  if (config.output_mode == "tf-idf") config.output_mode = "tf_idf";
  config.salt = hash_key(kLayer, config.salt);
  return config;
}

/// Keys in ascending order with their values, for ops::lookup().
class LookupTable {
 public:
  LookupTable() = default;
  explicit LookupTable(std::vector<std::pair<int64_t, int64_t>> entries) {
    std::sort(entries.begin(), entries.end());
    std::vector<int64_t> keys, values;
    for (const auto& [key, value] : entries) {
      keys.push_back(key);
      values.push_back(value);
    }
    keys_ = Tensor::from(keys);
    values_ = Tensor::from(values);
  }
  Tensor find(const Tensor& x, const ops::LookupDescriptor& missing) const {
    return ops::lookup(x, keys_.to(x.device()), values_.to(x.device()), missing);
  }

 private:
  Tensor keys_ = Tensor::from(std::vector<int64_t>()), values_ = Tensor::from(std::vector<int64_t>());
};

class IntegerLookupNode final : public LayerNode, public TakesWholeNumbers, public LayerFiles {
 public:
  explicit IntegerLookupNode(const IntegerLookupConfig& config)
      : config_(config),
        rules_(rules_of(config)),
        vocabulary_(rules_),
        was_given_(!config.vocabulary.empty()) {
    check_options(config);
    if (was_given_) set_vocabulary(config.vocabulary, config.idf_weights);
  }
  std::string class_name() const override { return kLayer; }
  void fields(FieldVisitor& v) override { config_.fields(v); }
  bool converts_inputs() const override { return false; }  // numbers, as they are

  Tensor call(Call&, const Tensor& input) const override {
    if (!has_vocabulary_ && !input.is_abstract())
      throw StateError("there is no vocabulary yet: give one, or call adapt() first");
    const Tensor x = ops::cast(input, DType::int64);
    if (rules_.invert) return table_.find(x, {.missing = config_.oov_token});
    const Tensor indices = with_oov_indices(
        x, table_.find(x, {.missing = missing_index(), .is_required = config_.num_oov_indices == 0}));
    return rules_.is_int ? indices : encoded(indices);
  }

  void set_vocabulary(const std::vector<int64_t>& tokens, const std::vector<double>& weights) {
    LookupVocabulary<int64_t> vocabulary(rules_);
    vocabulary.set(tokens, weights);
    take(std::move(vocabulary));
    if (!was_given_) return;
    config_.vocabulary = tokens;
    config_.idf_weights = weights;
  }
  void learn(TokenCounts<int64_t>& counts) {
    if (counts.empty()) throw InvalidArgumentError("adapt: expected data, received none");
    LookupVocabulary<int64_t> vocabulary(rules_);
    vocabulary.learn(counts);
    take(std::move(vocabulary));
  }
  void check_adapts() const {
    if (was_given_)
      throw StateError(std::string(kLayer) + " " + in_quotes(name()) +
                       ": it was made with a vocabulary; adapt() would replace it");
  }
  const LookupVocabulary<int64_t>& vocabulary() const { return vocabulary_; }

  Texts texts() const override {
    if (was_given_ || !has_vocabulary_) return {};
    std::string text;
    for (const int64_t token : all_tokens()) text += (text.empty() ? "" : "\n") + std::to_string(token);
    return {{kVocabularyFile, text}};
  }
  void set_texts(const Texts& texts) override {
    const auto found = texts.find(kVocabularyFile);
    if (was_given_ || found == texts.end()) return;
    set_vocabulary(tokens_of(found->second), loaded_weights_);
  }
  Values values() const override {
    if (!rules_.is_tf_idf || !has_vocabulary_) return {};
    return {{kWeights, Tensor::from(vocabulary_.weights(depth()))}};
  }
  void set_values(const Values& values) override {
    const auto found = values.find(kWeights);
    if (found == values.end()) return;
    const std::vector<float> weights = ops::cast(found->second, DType::float32).to_vector<float>();
    loaded_weights_.assign(weights.begin(), weights.end());
  }

  /// Special tokens and all others, each at its index.
  std::vector<int64_t> all_tokens() const {
    std::vector<int64_t> all(static_cast<size_t>(rules_.token_start()), config_.oov_token);
    if (rules_.oov_start()) all[0] = config_.mask_token;
    all.insert(all.end(), vocabulary_.tokens().begin(), vocabulary_.tokens().end());
    return all;
  }

 private:
  void take(LookupVocabulary<int64_t> vocabulary) {
    const int64_t size = vocabulary.size();
    if (!rules_.is_int && !rules_.pads && built() && size != config_.vocabulary_size)
      throw StateError(std::string(kLayer) + " " + in_quotes(name()) + ": expected a vocabulary of " +
                       std::to_string(config_.vocabulary_size) + " as before, received one of " +
                       std::to_string(size) + "; it says how long the layer's vectors are");
    vocabulary_ = std::move(vocabulary);
    config_.vocabulary_size = size;
    has_vocabulary_ = true;
    std::vector<std::pair<int64_t, int64_t>> entries;
    int64_t index = rules_.token_start();
    for (const int64_t token : vocabulary_.tokens())
      entries.emplace_back(rules_.invert ? std::pair(index++, token) : std::pair(token, index++));
    if (rules_.mask)
      entries.push_back(rules_.invert ? std::pair(int64_t{0}, *rules_.mask)
                                      : std::pair(*rules_.mask, masked_index()));
    table_ = LookupTable(std::move(entries));
  }
  /// What masked tokens become: 0, or what no vector has a place for.
  int64_t masked_index() const { return rules_.is_int ? 0 : std::numeric_limits<int64_t>::max(); }
  int64_t missing_index() const { return config_.num_oov_indices == 1 ? rules_.oov_start() : -1; }
  int64_t depth() const { return rules_.pads ? config_.max_tokens : config_.vocabulary_size; }

  /// Several indices for tokens out of the vocabulary: which one says the token.
  Tensor with_oov_indices(const Tensor& x, const Tensor& indices) const {
    if (config_.num_oov_indices < 2) return indices;
    const Tensor chosen =
        config_.oov_method == "floormod"
            ? ops::mod(x, config_.num_oov_indices)
            : ops::hash_buckets(x, bucket_descriptor(config_.num_oov_indices, config_.salt));
    return ops::where(indices == -1, chosen + rules_.oov_start(), indices);
  }

  Tensor encoded(const Tensor& indices) const {
    if (depth() < 0)
      throw StateError(
          "there is no vocabulary yet, whose size says how long the vectors are: give one, or call "
          "adapt() first, or set pad_to_max_tokens");
    const CategoryCode code =
        rules_.is_tf_idf ? CategoryCode::count : category_code_of(kLayer, config_.output_mode);
    const Tensor vectors = encode_categories(indices, {code, depth(), DType::int64});
    if (!rules_.is_tf_idf) return vectors;
    const Tensor weights = Tensor::from(vocabulary_.weights(depth())).to(indices.device());
    return ops::cast(vectors, DType::float32) * weights;
  }

  std::vector<int64_t> tokens_of(const std::string& text) const {
    std::vector<int64_t> tokens;
    for (const char *at = text.data(), *const end = at + text.size(); at < end;) {
      int64_t token = 0;
      const auto [next, error] = std::from_chars(at, end, token);
      if (error != std::errc() || (next < end && *next != '\n' && *next != '\r'))
        throw FileFormatError(std::string(kLayer) + " " + in_quotes(name()) + ": line " +
                              std::to_string(tokens.size() + 1) + " of its " + kVocabularyFile +
                              " is no whole number");
      tokens.push_back(token);
      at = next;
      while (at < end && (*at == '\n' || *at == '\r')) ++at;
    }
    return tokens;
  }

  IntegerLookupConfig config_;
  LookupRules<int64_t> rules_;
  LookupVocabulary<int64_t> vocabulary_;
  LookupTable table_;
  std::vector<double> loaded_weights_;  // of a file, until its tokens come
  bool has_vocabulary_ = false;
  bool was_given_;  // with the configuration, which keeps it then
};

IntegerLookupNode& node_of(const IntegerLookup& layer) {
  return static_cast<IntegerLookupNode&>(layer.node());
}

/// Each row of the data is a document; one axis is a document for each token, of a batch one document.
void add_documents(TokenCounts<int64_t>& counts, const Tensor& data, bool is_whole) {
  const std::vector<int64_t> tokens = ops::cast(data.detached(), DType::int64).to_vector<int64_t>();
  const int64_t rows = data.rank() > 1 ? data.shape()[0] : is_whole ? data.num_elements() : 1;
  if (rows == 0) return;
  const size_t length = tokens.size() / static_cast<size_t>(rows);
  for (size_t row = 0; row < static_cast<size_t>(rows); ++row)
    counts.add_document(std::span(tokens).subspan(row * length, length));
}

}  // namespace

IntegerLookup::IntegerLookup(const Config& config)
    : Layer(node_from<IntegerLookupNode>(with_todays_names(config))) {}

void IntegerLookup::adapt(const Tensor& data) const {
  node_of(*this).check_adapts();
  TokenCounts<int64_t> counts;
  add_documents(counts, data, true);
  node_of(*this).learn(counts);
}

void IntegerLookup::adapt(const Dataset& data) const {
  node_of(*this).check_adapts();
  TokenCounts<int64_t> counts;
  for (const Batch& batch : data) {
    if (batch.x.size() != 1)
      throw InvalidArgumentError("adapt: expected elements of one x, received " +
                                 std::to_string(batch.x.size()));
    add_documents(counts, batch.x[0], false);
  }
  node_of(*this).learn(counts);
}

void IntegerLookup::set_vocabulary(const std::vector<int64_t>& vocabulary,
                                   const std::vector<double>& idf_weights) const {
  node_of(*this).set_vocabulary(vocabulary, idf_weights);
}

std::vector<int64_t> IntegerLookup::get_vocabulary(bool include_special_tokens) const {
  const IntegerLookupNode& node = node_of(*this);
  return include_special_tokens ? node.all_tokens() : node.vocabulary().tokens();
}

int64_t IntegerLookup::vocabulary_size() const { return node_of(*this).vocabulary().size(); }

}  // namespace nyala
