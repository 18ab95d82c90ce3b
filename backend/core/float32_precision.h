#pragma once

#include <cstdint>
#include <string_view>

namespace nyala {

/// How products of float32 tensors may be computed, by all layers and ops:
/// - highest: in float32, with errors like those of a plain loop;
/// - high: by algorithms of fewer products that lose up to two digits, as Winograd's F(4x4, 3x3) for 3x3
///   convolutions does;
/// - medium: also from factors rounded to bfloat16, summed in float32, where the processor has instructions
///   for that.
/// The names are PyTorch's (torch.set_float32_matmul_precision).
enum class Float32Precision : uint8_t { highest, high, medium };

/// Allows it on all threads, for what is computed from now on; at first it is "highest". Processes that train
/// together set the same. Throws InvalidArgumentError for another name.
void set_float32_precision(std::string_view name);
void set_float32_precision(Float32Precision precision);
/// What is allowed.
Float32Precision float32_precision();

}  // namespace nyala
