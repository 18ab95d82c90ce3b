#pragma once

#include <optional>

#include <nyala/backend/core/tensor.h>

namespace nyala::ops {

/// Tensors from nothing; untracked, computed on the host and copied to `device`, by default the one of this
/// thread's work (a replica's, a device() guard's, cpu:0).

/// start, start + step, ... before `stop`: ceil((stop - start) / step) elements. Without a dtype int32 where
/// start, stop and step are whole, else float32. Throws InvalidArgumentError for a step of 0, and for
/// integers where the dtype does not hold them all, or start or step is not whole.
struct ArangeOptions {
  double step = 1.0;
  std::optional<DType> dtype = {};
  Device device = current_device();
};
Tensor arange(double start, double stop, const ArangeOptions& options = {});
Tensor arange(double stop);

/// `num` numbers at equal distances from `start` to `stop`, which is the last one with `endpoint`; as
/// integers the next ones below, as in NumPy. Throws InvalidArgumentError for numbers that such a dtype does
/// not hold.
struct LinspaceOptions {
  bool endpoint = true;
  DType dtype = DType::float32;
  Device device = current_device();
};
Tensor linspace(double start, double stop, int64_t num = 50, const LinspaceOptions& options = {});

/// (rows, columns) with ones on diagonal `diagonal` (above the main one where positive), zeros elsewhere.
/// Columns of -1: as many as rows. Throws InvalidArgumentError for others below 0.
struct EyeOptions {
  int64_t columns = -1;
  int64_t diagonal = 0;
  DType dtype = DType::float32;
  Device device = current_device();
};
Tensor eye(int64_t rows, const EyeOptions& options = {});

Tensor zeros(const Shape& shape, DType dtype = DType::float32, Device device = current_device());
Tensor ones(const Shape& shape, DType dtype = DType::float32, Device device = current_device());

/// Throws InvalidArgumentError for a value that an integer dtype does not hold.
Tensor full(const Shape& shape, Number value, DType dtype = DType::float32, Device device = current_device());

}  // namespace nyala::ops
