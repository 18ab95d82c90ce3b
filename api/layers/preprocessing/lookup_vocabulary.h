#pragma once

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <optional>
#include <set>
#include <string>
#include <vector>

#include <nyala/api/layers/preprocessing/token_counts.h>
#include <nyala/backend/core/error.h>

namespace nyala {

/// How a lookup numbers tokens, from its options.
template <class Token>
struct LookupRules {
  std::string layer;        // the class, for errors
  int64_t max_tokens = -1;  // below 0: any number
  int64_t num_oov_indices = 1;
  std::optional<Token> mask, oov;
  bool is_int = true, is_tf_idf = false, invert = false, pads = false;

  int64_t oov_start() const { return mask && is_int ? 1 : 0; }
  int64_t token_start() const { return oov_start() + num_oov_indices; }
  std::vector<Token> special_tokens() const {
    std::vector<Token> all;
    if (oov_start()) all.push_back(*mask);
    if (oov) all.insert(all.end(), static_cast<size_t>(num_oov_indices), *oov);
    return all;
  }
};

/// The tokens of a lookup in their order, without the special ones, and their weights.
template <class Token>
class LookupVocabulary {
 public:
  explicit LookupVocabulary(LookupRules<Token> rules) : rules_(std::move(rules)) {}

  /// Keras' set_vocabulary. Throws InvalidArgumentError for none, one that is there twice or too many of
  /// them, a special token among them, or weights that do not fit.
  void set(const std::vector<Token>& given, const std::vector<double>& weights) {
    if (given.empty()) fail("expected a vocabulary with at least one token, received an empty one");
    const std::vector<Token> special = rules_.special_tokens();
    const bool has_special = given.size() >= special.size() &&
                             std::equal(special.begin(), special.end(), given.begin()) &&
                             static_cast<int64_t>(special.size()) == rules_.token_start();
    std::vector<Token> tokens(given.begin() + (has_special ? rules_.token_start() : 0), given.end());
    check_tokens(tokens);
    std::vector<double> padded = weights;
    if (rules_.is_tf_idf) {
      if (weights.size() != given.size())
        fail("expected idf_weights of each of the " + std::to_string(given.size()) + " tokens, received " +
             std::to_string(weights.size()));
      if (!has_special) pad_front(padded);
    } else if (!weights.empty()) {
      fail("expected idf_weights with output_mode 'tf_idf' only");
    }
    tokens_ = std::move(tokens);
    weights_ = std::move(padded);
  }

  /// The vocabulary of what was counted.
  void learn(TokenCounts<Token>& counts) {
    if (rules_.mask) counts.forget(*rules_.mask);
    if (rules_.oov) counts.forget(*rules_.oov);
    const size_t most =
        rules_.max_tokens < 0
            ? std::numeric_limits<size_t>::max()
            : static_cast<size_t>(std::max<int64_t>(rules_.max_tokens - rules_.token_start(), 0));
    tokens_ = counts.ranked(most);
    weights_.clear();
    if (!rules_.is_tf_idf) return;
    for (const Token& token : tokens_) weights_.push_back(counts.inverse_document_frequency(token));
    pad_front(weights_);
  }

  const LookupRules<Token>& rules() const { return rules_; }
  const std::vector<Token>& tokens() const { return tokens_; }
  /// How many indices there are.
  int64_t size() const { return rules_.token_start() + static_cast<int64_t>(tokens_.size()); }
  /// Of each index up to `depth`; 0 behind the last token.
  std::vector<float> weights(int64_t depth) const {
    std::vector<float> all(weights_.begin(), weights_.end());
    all.resize(static_cast<size_t>(depth), 0.0f);
    return all;
  }

 private:
  [[noreturn]] void fail(const std::string& message) const {
    throw InvalidArgumentError(rules_.layer + ": " + message);
  }
  void check_tokens(const std::vector<Token>& tokens) const {
    std::set<Token> seen;
    for (const Token& token : tokens) {
      if (!seen.insert(token).second) fail("the vocabulary has a token twice: " + text_of(token));
      if (rules_.mask && token == *rules_.mask) fail_reserved("mask", token);
      if (rules_.invert && rules_.oov && token == *rules_.oov) fail_reserved("OOV", token);
    }
    const int64_t size = rules_.token_start() + static_cast<int64_t>(tokens.size());
    if (rules_.max_tokens >= 0 && size > rules_.max_tokens)
      fail("expected a vocabulary of at most max_tokens = " + std::to_string(rules_.max_tokens) +
           " with its special tokens, received " + std::to_string(size));
  }
  [[noreturn]] void fail_reserved(const std::string& what, const Token& token) const {
    fail("the " + what + " token " + text_of(token) +
         " stands among the tokens; leave special tokens out, or put all of them in front");
  }
  static std::string text_of(int64_t token) { return std::to_string(token); }
  static std::string text_of(const std::string& token) { return detail::in_quotes(token); }

  /// Special tokens weigh what the others do on average.
  void pad_front(std::vector<double>& weights) const {
    const double mean = weights.empty() ? 0.0
                                        : std::accumulate(weights.begin(), weights.end(), 0.0) /
                                              static_cast<double>(weights.size());
    weights.insert(weights.begin(), static_cast<size_t>(rules_.token_start()), mean);
  }

  LookupRules<Token> rules_;
  std::vector<Token> tokens_;
  std::vector<double> weights_;  // of special tokens, too
};

}  // namespace nyala
