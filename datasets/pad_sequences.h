#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

struct PadSequencesConfig {
  std::optional<int64_t> maxlen = {};  // nothing: the length of the longest sequence
  std::string dtype = "int32";         // "int64", "uint8", "bool", "float32", "float64"
  std::string padding = "pre";         // "post"
  std::string truncating = "pre";      // "post"
  double value = 0.0;
};

/// Sequences of steps of one shape, such as word vectors, as (sequences, maxlen, ...). An empty tensor stands
/// for an empty sequence. Throws as below, and ShapeError for steps of different shapes.
Tensor pad_tensor_sequences(const Tensors& sequences, const PadSequencesConfig& config = {});

/// Rows of one length, (sequences, maxlen), as keras.utils.pad_sequences: shorter ones get `value` before
/// them, longer ones lose their beginning ("post": their end). Fractions are cut off for an integer dtype.
/// Throws InvalidArgumentError for no sequences without maxlen, maxlen below 1, unknown words, or values that
/// the dtype cannot hold.
template <class T = int64_t>
Tensor pad_sequences(const std::vector<std::vector<T>>& sequences, const PadSequencesConfig& config = {}) {
  Tensors tensors;
  tensors.reserve(sequences.size());
  for (const std::vector<T>& sequence : sequences)
    tensors.push_back(
        Tensor::from(std::span<const T>(sequence), {static_cast<int64_t>(sequence.size())}, Device{}));
  return pad_tensor_sequences(tensors, config);
}

}  // namespace nyala
