#include <nyala/api/layers/preprocessing/image_tiles.h>

#include <nyala/api/layers/preprocessing/image_histograms.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/creation.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/elementwise/binary.h>
#include <nyala/backend/ops/elementwise/comparison.h>
#include <nyala/backend/ops/elementwise/rounding.h>
#include <nyala/backend/ops/reduction/reduction.h>
#include <nyala/backend/ops/shape/concatenate.h>
#include <nyala/backend/ops/shape/gather.h>
#include <nyala/backend/ops/shape/pad.h>
#include <nyala/backend/ops/shape/scatter_into.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/ops/shape/slice.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int64_t kValues = 256;

/// Images (batch, height, width, channels) cut into a grid of tiles of equal sizes.
struct Grid {
  Shape images;
  int64_t rows, columns, tile_height, tile_width;
  Device device;

  int64_t pixels() const { return tile_height * tile_width; }
  /// 0, times, 2 times ... along one axis of the images, int32.
  Tensor steps(int axis, int64_t times) const {
    Shape along{1, 1, 1, 1};
    const auto count = static_cast<double>(images[axis]), step = static_cast<double>(times);
    return ops::reshape(
        ops::arange(0.0, count * step, {.step = step, .dtype = DType::int32, .device = device}),
        along.with(axis, images[axis]));
  }
};

/// Where each pixel's value stands in tables (batch, rows, columns, channels, 256) as one axis, for tiles
/// `row` (1, height, 1, 1) and `column` (1, 1, width, 1).
Tensor entries(const Grid& grid, const Shape& tables, const Tensor& values, const Tensor& row,
               const Tensor& column) {
  const int64_t of_column = tables[3] * kValues, of_row = tables[2] * of_column;
  return values + grid.steps(3, kValues) + column * of_column + row * of_row +
         grid.steps(0, tables[1] * of_row);
}

Tensor tile_counts(const Grid& grid, const Tensor& values) {
  const Shape tables{grid.images[0], grid.rows, grid.columns, grid.images[3], kValues};
  const Tensor row = ops::floor_divide(grid.steps(1, 1), grid.tile_height),
               column = ops::floor_divide(grid.steps(2, 1), grid.tile_width);
  const Tensor counts = ops::zeros({tables.num_elements()}, DType::int32, grid.device);
  ops::detail::scatter_into(counts, ops::ScatterKind::add,
                            ops::ravel(entries(grid, tables, values, row, column)),
                            ops::ones({values.num_elements()}, DType::int32, grid.device));
  return ops::reshape(counts, tables);
}

/// What each tile makes of each value, from its counts.
Tensor tile_tables(const Grid& grid, const Tensor& counts, double clip_limit) {
  Tensor spread = ops::cast(counts, DType::float64);
  if (clip_limit > 0.0) {
    const double limit = clip_limit * static_cast<double>(grid.pixels()) / static_cast<double>(kValues);
    const Tensor cut = ops::clip(spread, 0.0, limit);
    spread = cut + ops::sum(spread - cut, {-1}, true) / static_cast<double>(kValues);
  }
  const Tensor sums = running_counts(spread), least = ops::min(sums, {-1}, true);
  const Tensor rest = static_cast<double>(grid.pixels()) - least;
  const Tensor table = (sums - least) * 255.0 / ops::where(rest == 0.0, 1.0, rest);
  return ops::cast(ops::clip(table, 0.0, 255.0), DType::float32);
}

/// The tables with those at the edges once more around them.
Tensor framed(Tensor tables) {
  for (const int axis : {1, 2})
    tables = ops::concatenate(
        {ops::slice_axis(tables, axis, {0, 1}), tables, ops::slice_axis(tables, axis, {-1})}, axis);
  return tables;
}

/// Between which framed tiles the places of an axis lie, and how far behind the first.
struct Between {
  Tensor first, second, part;
  Between(const Grid& grid, int axis, int64_t tile, int64_t tiles) {
    const auto size = static_cast<double>(tile), last = static_cast<double>(tiles + 1);
    const Tensor places = (ops::cast(grid.steps(axis, 1), DType::float32) - size / 2.0) / size + 1.0;
    const Tensor below = ops::floor(places);
    part = places - below;
    first = ops::cast(ops::clip(below, 0.0, last), DType::int32);
    second = ops::cast(ops::clip(below + 1.0, 0.0, last), DType::int32);
  }
};

Tensor interpolated(const Grid& grid, const Tensor& tables, const Tensor& values) {
  const Between rows(grid, 1, grid.tile_height, grid.rows), columns(grid, 2, grid.tile_width, grid.columns);
  const Tensor flat = ops::ravel(tables);
  const auto made = [&](const Tensor& row, const Tensor& column) {
    return ops::take(flat, entries(grid, tables.shape(), values, row, column));
  };
  const auto along = [&](const Tensor& row) {
    return made(row, columns.first) * (1.0 - columns.part) + made(row, columns.second) * columns.part;
  };
  return along(rows.first) * (1.0 - rows.part) + along(rows.second) * rows.part;
}

}  // namespace

Tensor detail::equalized_by_tiles(const Tensor& bytes, const TileOptions& options) {
  const int64_t height = bytes.shape()[1], width = bytes.shape()[2];
  const int64_t tile_height = (height + options.rows - 1) / options.rows,
                tile_width = (width + options.columns - 1) / options.columns;
  const Tensor padded = ops::pad(
      bytes,
      {{0, 0}, {0, tile_height * options.rows - height}, {0, tile_width * options.columns - width}, {0, 0}},
      "symmetric");
  const Grid grid = {padded.shape(), options.rows, options.columns, tile_height, tile_width, bytes.device()};
  const Tensor values = ops::cast(ops::clip(padded, 0.0, 255.0), DType::int32);
  const Tensor tables = framed(tile_tables(grid, tile_counts(grid, values), options.clip_limit));
  const Tensor result = interpolated(grid, tables, values);
  return ops::cast(ops::slice(result, {0, 0, 0, 0}, {-1, height, width, -1}), bytes.dtype());
}

}  // namespace nyala
