// How many rows there are depends on the data: each rank announces that first, in 16 bytes.
#include <nyala/strategies/replicas/row_exchange.h>

#include <unordered_map>

#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/base/device_copy.h>
#include <nyala/backend/ops/base/dispatch.h>
#include <nyala/backend/ops/elementwise/arithmetic.h>
#include <nyala/backend/ops/shape/gather.h>

namespace nyala {

namespace {

constexpr const char* kWhat = "rows of gradients";

struct Announced {
  int64_t has_rows, count;
};

std::span<std::byte> bytes_in(const Tensor& tensor) {
  return {static_cast<std::byte*>(tensor.raw()), tensor.bytes()};
}

/// Of `own` those of this rank; all know the counts.
void gather(Communicator& ranks, const Tensor& own, const std::vector<Announced>& all, const Tensor& into) {
  const int64_t bytes_of_one = static_cast<int64_t>(into.bytes()) / into.shape()[0];
  std::vector<int64_t> sizes;
  for (const Announced& one : all) sizes.push_back(one.count * bytes_of_one);
  ranks.all_gather_v(bytes_in(own), sizes, bytes_in(into), {.what = kWhat});
}

/// Of each row that is named, the place that it gets.
class Places {
 public:
  explicit Places(int64_t rows) : rows_(rows) {}

  int64_t operator[](int64_t index) {
    if (index < 0) index += rows_;
    if (index < 0 || index >= rows_) return -1;
    const auto [found, is_new] = places_.try_emplace(index, std::ssize(named_));
    if (is_new) named_.push_back(index);
    return found->second;
  }
  const std::vector<int64_t>& named() const { return named_; }

 private:
  int64_t rows_;
  std::unordered_map<int64_t, int64_t> places_;
  std::vector<int64_t> named_;
};

}  // namespace

GradientRows merged_rows(const std::vector<GradientRows>& parts, const Shape& table, DType dtype) {
  Places places(table[0]);
  std::vector<std::vector<int64_t>> of_parts;
  for (const GradientRows& part : parts) {
    std::vector<int64_t>& of_part = of_parts.emplace_back();
    for (const int64_t index : ops::cast(part.indices, DType::int64).to_vector<int64_t>())
      of_part.push_back(places[index]);
  }
  const int64_t count = std::ssize(places.named());
  Tensor sum;
  for (size_t i = 0; i < parts.size(); ++i) {
    const int64_t size = std::ssize(of_parts[i]);
    for (int64_t& place : of_parts[i])
      if (place < 0) place = count;  // a row behind those that are named
    const Tensor values = ops::seen_from(parts[i].values.with_shape(table.with(0, size)), Device{}),
                 indices = Tensor::from(of_parts[i], {size}, Device{}),
                 part = dispatch(ops::kTakeBackward, ops::ScatterAddDescriptor{0, count + 1},
                                 {&values, &indices});
    sum = sum.defined() ? ops::add(sum, part) : part;
  }
  if (!sum.defined())
    return {Tensor::empty({0}, DType::int64, Device{}), Tensor::empty(table.with(0, 0), dtype, Device{})};
  return {Tensor::from(places.named(), {count}, Device{}), sum.rows(0, count)};
}

std::optional<GradientRows> rows_of_all_ranks(Communicator& ranks, const std::optional<GradientRows>& own,
                                              const Shape& table, DType dtype) {
  const Announced mine{own.has_value(), own ? own->indices.num_elements() : 0};
  std::vector<Announced> all(static_cast<size_t>(ranks.size()));
  ranks.all_gather(std::as_bytes(std::span(&mine, 1)), std::as_writable_bytes(std::span(all)),
                   {.what = kWhat});
  int64_t count = 0;
  bool are_few = true;
  for (const Announced& one : all) {
    if (one.count < 0) throw CommunicationError(std::string(kWhat) + ": a peer announced less than no rows");
    are_few = are_few && one.has_rows != 0 && one.count < table[0] - count;
    if (are_few) count += one.count;
  }
  if (!are_few) return std::nullopt;
  GradientRows rows{Tensor::empty({count}, DType::int64, Device{}),
                    Tensor::empty(table.with(0, count), dtype, Device{})};
  if (count == 0) return rows;
  gather(ranks, own->indices, all, rows.indices);
  gather(ranks, own->values, all, rows.values);
  return rows;
}

}  // namespace nyala
