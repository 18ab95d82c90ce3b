#pragma once

#include <nyala/backend/core/tensor.h>

namespace nyala::ops {

/// Tensors from nothing; untracked, computed on the host and copied to `device`.

/// start, start + step, ... before `stop`: ceil((stop - start) / step) elements. Throws InvalidArgumentError
/// for a step of 0.
struct ArangeOptions {
  double step = 1.0;
  DType dtype = DType::int32;
  Device device = {};
};
Tensor arange(double start, double stop, const ArangeOptions& options = {});
Tensor arange(double stop);

/// `num` numbers at equal distances from `start` to `stop`, which is the last one with `endpoint`.
struct LinspaceOptions {
  bool endpoint = true;
  DType dtype = DType::float32;
  Device device = {};
};
Tensor linspace(double start, double stop, int64_t num = 50, const LinspaceOptions& options = {});

/// (rows, columns) with ones on diagonal `diagonal` (above the main one where positive), zeros elsewhere.
/// Columns of -1: as many as rows.
struct EyeOptions {
  int64_t columns = -1;
  int64_t diagonal = 0;
  DType dtype = DType::float32;
  Device device = {};
};
Tensor eye(int64_t rows, const EyeOptions& options = {});

Tensor zeros(const Shape& shape, DType dtype = DType::float32, Device device = {});
Tensor ones(const Shape& shape, DType dtype = DType::float32, Device device = {});
Tensor full(const Shape& shape, double value, DType dtype = DType::float32, Device device = {});

}  // namespace nyala::ops
