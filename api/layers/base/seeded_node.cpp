#include <nyala/api/layers/base/seeded_node.h>

#include <algorithm>

#include <nyala/api/layers/base/arguments.h>
#include <nyala/backend/ops/random/gamma_rows.h>
#include <nyala/backend/ops/reduction/arg_reduction.h>
#include <nyala/backend/ops/shape/shape.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/strategies/contexts.h>
#include <nyala/strategies/shared_key.h>

namespace nyala {

using namespace nyala::detail;

uint64_t detail::seeded_key(int64_t seed, std::string_view kind) {
  return seed >= 0 ? mix_key(static_cast<uint64_t>(seed), kind) : next_shared_key(*current_strategy());
}

Tensor detail::drawing_step(const Call& c, const Tensor& x) {
  return c.step().defined() ? c.step() : Tensor::zeros({}, DType::int64, x.device());
}

namespace {

ops::UniformRowsDescriptor rows_of(int64_t rows, std::initializer_list<ops::UniformRange> ranges) {
  ops::UniformRowsDescriptor d{.rows = rows, .columns = static_cast<int64_t>(ranges.size())};
  std::ranges::copy(ranges, d.ranges.begin());
  return d;
}

}  // namespace

SeededNode::SeededNode(int64_t seed, std::string_view kind) : key_(seeded_key(seed, kind)) {}

Tensor SeededNode::dropped(Call& c, const Tensor& x, double rate, uint32_t noise_axes) const {
  check_floating(x);
  const RandomKey draw = c.random_key(key_);
  return ops::dropout(x, drawing_step(c, x),
                      {.rate = rate, .key = draw.key, .first_row = draw.first_row, .noise_axes = noise_axes});
}

Tensor SeededNode::noise(Call& c, const Tensor& x, double mean, double stddev) const {
  check_floating(x);
  const RandomKey draw = c.random_key(key_);
  return ops::noise_like(x, drawing_step(c, x),
                         {.mean = mean, .stddev = stddev, .key = draw.key, .first_row = draw.first_row});
}

Tensor SeededNode::uniform_for_each(Call& c, const Tensor& x,
                                    std::initializer_list<ops::UniformRange> ranges) const {
  ops::UniformRowsDescriptor d = rows_of(x.shape()[0], ranges);
  const RandomKey draw = c.random_key(key_);
  d.key = draw.key;
  d.first_row = draw.first_row;
  return ops::uniform_rows(drawing_step(c, x), d);
}

Tensor SeededNode::uniform_for_all(Call& c, const Tensor& x,
                                   std::initializer_list<ops::UniformRange> ranges) const {
  ops::UniformRowsDescriptor d = rows_of(1, ranges);
  d.key = c.random_key(key_).key;
  return ops::uniform_rows(drawing_step(c, x), d);
}

Tensor SeededNode::log_gamma_for_each(Call& c, const Tensor& x, const Tensor& alpha, int64_t count) const {
  const RandomKey draw = c.random_key(key_);
  return ops::log_gamma_rows(
      drawing_step(c, x), alpha,
      {.rows = x.shape()[0], .columns = count, .key = draw.key, .first_row = draw.first_row});
}

Tensor SeededNode::log_gamma_for_all(Call& c, const Tensor& x, const Tensor& alpha, int64_t count) const {
  const RandomKey draw = c.random_key(key_);
  return ops::log_gamma_rows(drawing_step(c, x), alpha, {.columns = count, .key = draw.key});
}

Tensor SeededNode::permutation_for_all(Call& c, const Tensor& x, int64_t count) const {
  ops::UniformRowsDescriptor d = rows_of(count, {{0.0, 1.0}});
  d.key = c.random_key(key_).key;
  if (count == 0) return Tensor::zeros({0}, DType::int32, x.device());
  const Tensor places = ops::reshape(ops::uniform_rows(drawing_step(c, x), d), {count});
  return ops::top_k(places, count).indices;
}

}  // namespace nyala
