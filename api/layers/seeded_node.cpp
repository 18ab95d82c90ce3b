#include <nyala/api/layers/seeded_node.h>

#include <nyala/api/layers/arguments.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

namespace {

Tensor step_of(const Call& c, const Tensor& x) {
  return c.step().defined() ? c.step() : Tensor::zeros({}, DType::int64, x.device());
}

}  // namespace

SeededNode::SeededNode(int64_t seed, std::string_view kind)
    : key_(seed >= 0 ? mix_key(static_cast<uint64_t>(seed), kind) : next_unseeded_key()) {}

Tensor SeededNode::dropped(Call& c, const Tensor& x, double rate, uint32_t noise_axes) const {
  check_floating(x);
  const RandomKey draw = c.random_key(key_);
  return ops::dropout(x, step_of(c, x),
                      {.rate = rate, .key = draw.key, .first_row = draw.first_row, .noise_axes = noise_axes});
}

Tensor SeededNode::noise(Call& c, const Tensor& x, double mean, double stddev) const {
  check_floating(x);
  const RandomKey draw = c.random_key(key_);
  return ops::noise_like(x, step_of(c, x),
                         {.mean = mean, .stddev = stddev, .key = draw.key, .first_row = draw.first_row});
}

}  // namespace nyala
