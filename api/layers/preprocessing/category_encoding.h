#pragma once

#include <nyala/api/base/names_required.h>
#include <nyala/api/layers/base/layer.h>

namespace nyala {

struct CategoryEncodingConfig {
  NamesRequired names_required = NamesRequired();
  int64_t num_tokens = 0;                 // Keras has no default
  std::string output_mode = "multi_hot";  // or "one_hot", "count"
  bool sparse = false;                    // true is not supported
  std::string name = {};
  bool trainable = true;
  std::string dtype = {};

  void fields(FieldVisitor& v);
};

/// Numbers of categories, 0 to num_tokens - 1, as vectors: for each number where it is ("one_hot"), or for
/// each row which are in it ("multi_hot") or how often ("count"; called with weights of the numbers' shape
/// as second input, their sums). Other numbers are left out.
class CategoryEncoding : public Layer {
 public:
  using Config = CategoryEncodingConfig;
  /// Throws InvalidArgumentError unless num_tokens is above 0 and the mode is known.
  explicit CategoryEncoding(const Config& config);
  template <size_t N>
  explicit CategoryEncoding(const NoSuchField (&)[N]) = delete;
  explicit CategoryEncoding(int64_t num_tokens, Config config = {});
  template <size_t N>
  explicit CategoryEncoding(int64_t, const NoSuchField (&)[N]) = delete;
};

}  // namespace nyala
