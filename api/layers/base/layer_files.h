#pragma once

#include <map>
#include <string>

#include <nyala/backend/core/tensor.h>

namespace nyala {

/// What the node of a layer derives from, too, that keeps in files what is neither configuration nor
/// variable: the vocabulary of a lookup. Loading gives values first, then texts, and neither where the file
/// has none.
class LayerFiles {
 public:
  /// Texts by file name, which a .keras archive holds below assets/ at the layer's path (Keras' save_assets).
  /// Other formats have no place for them: none where nothing would be lost without.
  using Texts = std::map<std::string, std::string>;
  virtual Texts texts() const = 0;
  /// Throws FileFormatError for what texts() does not write.
  virtual void set_texts(const Texts& texts) = 0;

  /// Tensors by name, beside the layer's variables in files of weights (Keras' save_own_variables).
  using Values = std::map<std::string, Tensor>;
  virtual Values values() const { return {}; }
  virtual void set_values(const Values&) {}

 protected:
  virtual ~LayerFiles() = default;
};

}  // namespace nyala
