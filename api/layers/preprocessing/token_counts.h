#pragma once

#include <algorithm>
#include <cmath>
#include <set>
#include <unordered_map>
#include <utility>
#include <vector>

namespace nyala {

/// What adapt() of a lookup remembers of the tokens it has seen: how often, and in how many documents.
template <class Token>
class TokenCounts {
 public:
  /// Takes a document in.
  template <class Tokens>
  void add_document(const Tokens& tokens) {
    std::set<Token> seen;
    for (const Token& token : tokens) {
      ++entries_[token].count;
      if (seen.insert(token).second) ++entries_[token].documents;
    }
    ++documents_;
  }
  bool empty() const { return entries_.empty(); }
  void forget(const Token& token) { entries_.erase(token); }

  /// The tokens, the most frequent ones first, and of equally frequent ones the largest; at most `most`.
  std::vector<Token> ranked(size_t most) const {
    std::vector<std::pair<int64_t, Token>> all;
    for (const auto& [token, entry] : entries_) all.emplace_back(entry.count, token);
    std::sort(all.rbegin(), all.rend());
    std::vector<Token> tokens;
    for (size_t i = 0; i < std::min(most, all.size()); ++i) tokens.push_back(all[i].second);
    return tokens;
  }
  /// log(1 + documents / (1 + documents with the token)): Keras' inverse document frequency.
  double inverse_document_frequency(const Token& token) const {
    return std::log(1.0 + static_cast<double>(documents_) /
                              (1.0 + static_cast<double>(entries_.at(token).documents)));
  }

 private:
  struct Entry {
    int64_t count = 0, documents = 0;
  };
  std::unordered_map<Token, Entry> entries_;
  int64_t documents_ = 0;
};

}  // namespace nyala
