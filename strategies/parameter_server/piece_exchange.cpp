#include <nyala/strategies/parameter_server/piece_exchange.h>

#include <cstring>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/communicators/combine.h>

namespace nyala::detail {

namespace {

using Bytes = std::vector<std::byte>;

Bytes bytes_on_host(const Tensor& value) {
  Bytes bytes(value.bytes());
  value.copy_to_host(bytes.data());
  return bytes;
}

[[noreturn]] void refuse_brought(std::string_view what) {
  throw CommunicationError(std::string(what) + ": the pieces of a step came with values of different sizes " +
                           "or dtypes; all processes run the same program");
}

/// Several tensors as bytes: how many, their dtype and axes, then sizes, then elements.
Bytes packed_tensors(const Tensors& values) {
  std::vector<int64_t> head = {std::ssize(values), static_cast<int64_t>(values.at(0).dtype().index()),
                               values[0].rank()};
  for (const Tensor& value : values)
    for (const int64_t size : value.shape()) head.push_back(size);
  Bytes bytes(head.size() * sizeof(int64_t));
  std::memcpy(bytes.data(), head.data(), bytes.size());
  for (const Tensor& value : values) {
    const Bytes elements = bytes_on_host(value);
    bytes.insert(bytes.end(), elements.begin(), elements.end());
  }
  return bytes;
}

void unpack_tensors(std::span<const std::byte> bytes, const Tensor& like, std::string_view what,
                    Tensors& values) {
  const auto take = [&](void* to, size_t size) {
    if (size > bytes.size()) refuse_brought(what);
    if (size > 0) std::memcpy(to, bytes.data(), size);
    bytes = bytes.subspan(size);
  };
  int64_t head[3];
  take(head, sizeof head);
  if (head[0] < 1 || head[1] != static_cast<int64_t>(like.dtype().index()) || head[2] != like.rank())
    refuse_brought(what);
  std::vector<Shape> shapes;
  for (int64_t i = 0; i < head[0]; ++i) {
    std::vector<int64_t> sizes(static_cast<size_t>(head[2]));
    take(sizes.data(), sizes.size() * sizeof(int64_t));
    uint64_t total = 1;
    for (const int64_t size : sizes)
      if (size < 0 || __builtin_mul_overflow(total, static_cast<uint64_t>(size), &total) ||
          total > kMaxBrought)
        refuse_brought(what);
    shapes.emplace_back(sizes);
  }
  for (const Shape& shape : shapes) {
    const size_t size = static_cast<size_t>(shape.num_elements()) * size_of(like.dtype());
    if (size > bytes.size()) refuse_brought(what);
    values.push_back(Tensor::empty(shape, like.dtype(), Device{}));
    if (size > 0) values.back().copy_from_host(bytes.data());
    bytes = bytes.subspan(size);
  }
}

}  // namespace

std::vector<Bytes> PieceExchange::meet(std::span<const std::byte> own, std::string_view what) {
  if (!is_over_) {
    auto brought = meet_(meetings_++, std::string(what), own);
    if (brought) return std::move(*brought);
    is_over_ = true;
  }
  throw CommunicationError(std::string(what) + ": the step is over, or was begun again for a lost worker");
}

void PieceExchange::abort(const std::string& reason) noexcept {
  try {
    if (tell_) tell_(reason);
  } catch (...) {  // the chief is gone
  }
}

std::vector<Bytes> PieceExchange::meet_alike(std::span<const std::byte> own, std::string_view what) {
  std::vector<Bytes> brought = meet(own, what);
  for (const Bytes& other : brought)
    if (other.size() != own.size()) refuse_brought(what);
  return brought;
}

void PieceExchange::all_reduce_sum(const Tensor& values, std::string_view what) {
  const Bytes own = bytes_on_host(values);
  const std::vector<Bytes> brought = meet_alike(own, what);
  if (own.empty()) return;
  std::vector<const std::byte*> sources;
  for (const Bytes& bytes : brought) sources.push_back(bytes.data());
  if (sources.size() == 1) return;
  Bytes sum(own.size());
  combine(values.dtype(), CollectiveOp::sum, sources, sum.data(), values.num_elements());
  values.copy_from_host(sum.data());
}

Tensors PieceExchange::all_values(const Tensors& own, std::string_view what) {
  Tensors all;
  for (const Bytes& bytes : meet(packed_tensors(own), what)) unpack_tensors(bytes, own.at(0), what, all);
  return all;
}

Tensor PieceExchange::all_gather(const Tensor& local, std::string_view what) {
  const Tensor all = Tensor::empty(local.shape().with(0, num_replicas()), local.dtype(), Device{});
  Bytes stacked;
  for (const Bytes& bytes : meet_alike(bytes_on_host(local), what))
    stacked.insert(stacked.end(), bytes.begin(), bytes.end());
  if (!stacked.empty()) all.copy_from_host(stacked.data());
  return all;
}

void PieceExchange::all_numbers(std::span<const int64_t> own, std::span<int64_t> all, std::string_view what) {
  std::byte* to = reinterpret_cast<std::byte*>(all.data());
  for (const Bytes& bytes : meet_alike(std::as_bytes(own), what)) {
    if (!bytes.empty()) std::memcpy(to, bytes.data(), bytes.size());
    to += bytes.size();
  }
}

void PieceExchange::broadcast(const Tensor& value, std::string_view what) {
  const std::vector<Bytes> brought = meet_alike(bytes_on_host(value), what);
  if (!brought[0].empty()) value.copy_from_host(brought[0].data());
}

void PieceExchange::agree(uint64_t number, std::string_view what) {
  const auto own = static_cast<int64_t>(number);
  for (const int64_t other : said_by_all(*this, own, what))
    if (other != own)
      throw CommunicationError(std::string(what) +
                               ": the pieces of a step differ; all processes have to run the same program");
}

}  // namespace nyala::detail
