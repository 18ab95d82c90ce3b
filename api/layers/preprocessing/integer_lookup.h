#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>
#include <nyala/api/layers/preprocessing/hashing.h>
#include <nyala/datasets/base/dataset.h>

namespace nyala {

struct IntegerLookupConfig {
  NamesRequired names_required = NamesRequired();
  int64_t max_tokens = -1;        // of the vocabulary with its special tokens; below 0: any number
  int64_t num_oov_indices = 1;    // how many stand for tokens out of the vocabulary; 0: they are errors
  int64_t mask_token = kNoToken;  // becomes 0 where output_mode is "int", and is left out elsewhere
  int64_t oov_token = -1;         // what `invert` gives for an index out of the vocabulary
  std::vector<int64_t> vocabulary = {};  // empty: adapt() or set_vocabulary() gives it
  std::string vocabulary_dtype = "int64";
  std::vector<double> idf_weights = {};  // of each token, for "tf_idf"
  bool invert = false;                   // from indices to tokens
  std::string output_mode = "int";       // or "one_hot", "multi_hot", "count", "tf_idf"
  bool sparse = false;                   // true is not supported
  bool pad_to_max_tokens = false;        // encodes to max_tokens numbers whatever the vocabulary
  std::string oov_method = "floormod";   // or "farmhash": which of several indices stands for a token
  std::vector<int64_t> salt = {};        // for "farmhash", as for Hashing
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};
  int64_t vocabulary_size = -1;  // what a file says of a vocabulary that it keeps elsewhere

  void fields(FieldVisitor& v);
};

/// Whole numbers by their place in a vocabulary, int64: first the mask token, if there is one, then
/// num_oov_indices for those that it lacks, then its tokens. Or encoded: as by CategoryEncoding, or "tf_idf",
/// how often times the inverse document frequency, float32.
class IntegerLookup : public Layer {
 public:
  using Config = IntegerLookupConfig;
  /// Throws InvalidArgumentError for options that do not fit each other, or a token that is there twice.
  explicit IntegerLookup(const Config& config);
  template <size_t N>
  explicit IntegerLookup(const NoSuchField (&)[N]) = delete;

  /// Makes the vocabulary of what occurs in the data, the most frequent first (of equals the largest): of one
  /// array, whose rows are documents, or the x of a dataset. Throws StateError where a vocabulary was given,
  /// InvalidArgumentError where there is no data.
  void adapt(const Tensor& data) const;
  void adapt(const Dataset& data) const;

  /// Replaces the vocabulary. Special tokens at its beginning are taken as such. `idf_weights`: of each
  /// token, where output_mode is "tf_idf". Throws as the constructor does.
  void set_vocabulary(const std::vector<int64_t>& vocabulary,
                      const std::vector<double>& idf_weights = {}) const;
  /// With the special tokens: a token's place is what the layer gives for it.
  std::vector<int64_t> get_vocabulary(bool include_special_tokens = true) const;
  int64_t vocabulary_size() const;
};

}  // namespace nyala
