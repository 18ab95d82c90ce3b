#include <nyala/strategies/communicators/process_link.h>

#include <algorithm>
#include <numeric>

#include <nyala/backend/core/error.h>
#include <nyala/backend/runtime/random.h>

namespace nyala {

using namespace nyala::detail;

namespace {

std::span<std::byte> bytes_of(const Tensor& host) {
  return {static_cast<std::byte*>(host.raw()), host.bytes()};
}

/// Calls body(tensor in host memory that holds the values), and copies back what it left there.
template <class Body>
void in_host_memory(const Tensor& values, Body&& body) {
  if (is_on_host(values.device())) return body(values);
  const Tensor host = Tensor::empty(values.shape(), values.dtype(), Device{});
  host.copy_from(values);
  body(host);
  values.copy_from(host);
}

/// What a process announces of its values before their sizes.
struct Announced {
  int64_t count, dtype, axes;
  friend bool operator==(const Announced& a, const Announced& b) = default;
};

int64_t total(const std::vector<int64_t>& sizes) {
  return std::accumulate(sizes.begin(), sizes.end(), int64_t{0});
}

template <class T>
std::span<const std::byte> as_bytes(const T& value) {
  return std::as_bytes(std::span(&value, 1));
}

}  // namespace

ProcessLink::ProcessLink(std::shared_ptr<Communicator> communicator, int local_replicas)
    : local_replicas_(local_replicas) {
  connect(std::move(communicator), 0);
}

namespace {

/// What a process says of itself.
struct Introduction {
  int64_t replicas, training;
  uint64_t seed;
};

}  // namespace

void ProcessLink::connect(std::shared_ptr<Communicator> communicator, int64_t training,
                          std::optional<std::chrono::milliseconds> timeout) {
  communicator_ = std::move(communicator);
  const Introduction own{local_replicas_, training, global_seed()};
  std::vector<Introduction> all(static_cast<size_t>(size()));
  communicator_->all_gather(as_bytes(own), std::as_writable_bytes(std::span(all)),
                            {.what = "the number of replicas", .timeout = timeout});
  const auto latest = std::ranges::max_element(all, {}, &Introduction::training);  // of several the first
  training_ = latest->training;
  furthest_ = static_cast<int>(latest - all.begin());
  has_newcomers_ =
      std::ranges::any_of(all, [&](const Introduction& one) { return one.training < training_; });
  seed_ = latest->seed;
  had_other_seeds_ = std::ranges::any_of(all, [&](const Introduction& one) { return one.seed != seed_; });
  apart_ = training < training_;
  replicas_.clear();
  for (const Introduction& one : all) replicas_.push_back(one.replicas);
  const auto mine = replicas_.begin() + rank();
  first_replica_ = static_cast<int>(std::accumulate(replicas_.begin(), mine, int64_t{0}));
  num_replicas_ = static_cast<int>(std::accumulate(mine, replicas_.end(), int64_t{first_replica_}));
}

void ProcessLink::check_together(std::string_view what) const {
  if (apart_)
    throw StateError(
        std::string(what) +
        ": this process was started in the middle of the others' training, or stood still meanwhile, and has "
        "not come to where they are; until the call of fit, evaluate, predict or save that they wait in has "
        "taken their state it can make, build, compile and load, but not train or predict");
}

void ProcessLink::all_reduce_sum(const Tensor& values, std::string_view what) {
  check_together(what);
  in_host_memory(values, [&](const Tensor& host) {
    communicator_->all_reduce({host.raw(), host.num_elements(), host.dtype()}, CollectiveOp::sum,
                              {.what = what});
  });
}

// What there is, how large it is, then the bytes: nobody takes a size from a peer on trust that the data does
// not have.
Tensors ProcessLink::all_values(const Tensors& own, std::string_view what) {
  check_together(what);
  const Announced mine{std::ssize(own), static_cast<int64_t>(own.at(0).dtype().index()), own[0].rank()};
  std::vector<Announced> all(static_cast<size_t>(size()));
  communicator_->all_gather(as_bytes(mine), std::as_writable_bytes(std::span(all)), {.what = what});
  std::vector<int64_t> bytes_of_sizes;
  for (size_t other = 0; other < all.size(); ++other) {
    if (all[other].dtype != mine.dtype || all[other].axes != mine.axes || all[other].count < 1)
      throw CommunicationError(std::string(what) + ": ranks " + std::to_string(rank()) + " and " +
                               std::to_string(other) + " came with values of different dtypes or ranks");
    bytes_of_sizes.push_back(all[other].count * mine.axes * 8);
  }
  std::vector<int64_t> own_sizes;
  for (const Tensor& value : own)
    for (const int64_t size : value.shape()) own_sizes.push_back(size);
  std::vector<int64_t> sizes(static_cast<size_t>(total(bytes_of_sizes) / 8));
  communicator_->all_gather_v(std::as_bytes(std::span(own_sizes)), bytes_of_sizes,
                              std::as_writable_bytes(std::span(sizes)), {.what = what});
  Tensors values;
  std::vector<int64_t> bytes;
  auto next = sizes.begin();
  for (const Announced& other : all) {
    bytes.push_back(0);
    for (int64_t i = 0; i < other.count; ++i) {
      Shape shape;
      for (int64_t axis = 0; axis < mine.axes; ++axis) shape.append(*next++);
      values.push_back(Tensor::empty(shape, own[0].dtype(), Device{}));
      bytes.back() += static_cast<int64_t>(values.back().bytes());
    }
  }
  gather_bytes(own, bytes, values, what);
  return values;
}

// Values of one process go as one run of bytes.
void ProcessLink::gather_bytes(const Tensors& own, const std::vector<int64_t>& bytes, const Tensors& values,
                               std::string_view what) {
  std::vector<std::byte> sent, received(static_cast<size_t>(total(bytes)));
  for (const Tensor& value : own) {
    sent.resize(sent.size() + value.bytes());
    value.copy_to_host(sent.data() + sent.size() - value.bytes());
  }
  communicator_->all_gather_v(sent, bytes, received, {.what = what});
  const std::byte* from = received.data();
  for (const Tensor& value : values) {
    value.copy_from_host(from);
    from += value.bytes();
  }
}

Tensor ProcessLink::all_gather(const Tensor& local, std::string_view what) {
  check_together(what);
  Tensor all = Tensor::empty(local.shape().with(0, num_replicas_), local.dtype(), Device{});
  const int64_t bytes = static_cast<int64_t>(local.bytes() / static_cast<size_t>(local.shape()[0]));
  std::vector<int64_t> sizes;
  for (const int64_t replicas : replicas_) sizes.push_back(replicas * bytes);
  in_host_memory(local, [&](const Tensor& host) {
    communicator_->all_gather_v(bytes_of(host), sizes, bytes_of(all), {.what = what});
  });
  return all;
}

void ProcessLink::all_numbers(std::span<const int64_t> own, std::span<int64_t> all, std::string_view what) {
  check_together(what);
  communicator_->all_gather(std::as_bytes(own), std::as_writable_bytes(all), {.what = what});
}

void ProcessLink::broadcast(const Tensor& value, std::string_view what) {
  if (apart_) return;
  in_host_memory(value,
                 [&](const Tensor& host) { communicator_->broadcast(bytes_of(host), 0, {.what = what}); });
}

void ProcessLink::agree(uint64_t number, std::string_view what) {
  if (apart_) return;
  std::vector<uint64_t> all(static_cast<size_t>(size()));
  communicator_->all_gather(as_bytes(number), std::as_writable_bytes(std::span(all)), {.what = what});
  for (size_t other = 1; other < all.size(); ++other)
    if (all[other] != all[0])
      throw CommunicationError(std::string(what) + ": ranks 0 and " + std::to_string(other) +
                               " differ; all processes have to run the same program");
}

void ProcessLink::abort(const std::string& reason) noexcept { communicator_->abort(reason); }

}  // namespace nyala
