// Each call in three steps: among the ranks of a host, among the first ranks of all hosts, and back to each
// host. Sums of 16-bit values stay in float32 on the whole way, so that they are rounded once; with a
// wire_dtype of 16 bits, what goes between hosts is rounded and nothing else: memory that ranks share is no
// wire.
#include <nyala/strategies/communicators/hierarchical_communicator.h>

#include <algorithm>
#include <cstring>
#include <numeric>

#include <nyala/backend/core/error.h>

namespace nyala {

using detail::CallHeader;
using detail::CollectiveKind;

namespace {

using std::chrono::milliseconds;
using FormedBy = std::optional<std::chrono::steady_clock::time_point>;

/// How much longer ranks wait for what their host's first one brings: it knows the better reason.
constexpr milliseconds kNewsFromOutside{500};

template <class T>
std::span<std::byte> bytes_of_all(std::vector<T>& values) {
  return std::as_writable_bytes(std::span(values));
}

std::vector<int64_t> gathered_numbers(Communicator& group, int64_t mine, const CollectiveOptions& how) {
  std::vector<int64_t> all(static_cast<size_t>(group.size()));
  group.all_gather(std::as_bytes(std::span(&mine, 1)), bytes_of_all(all), how);
  return all;
}

class HierarchicalCommunicator final : public Communicator {
 public:
  HierarchicalCommunicator(CommunicatorOptions options, std::shared_ptr<Communicator> inside,
                           std::shared_ptr<Communicator> between, FormedBy formed_by)
      : Communicator(std::move(options)), inside_(std::move(inside)), between_(std::move(between)) {
    if (inside_ == nullptr || (inside_->rank() == 0) != (between_ != nullptr))
      throw InvalidArgumentError(
          "hierarchical_communicator: every rank has an inside, and rank 0 of each inside, no other, a "
          "between");
    learn_places(formed_by);
  }

 protected:
  std::string kind() const override { return "hierarchical"; }
  void run(const Collective& call) override;
  bool rounds_by_itself() const override { return true; }
  void interrupt(const Failure& failure) noexcept override {
    give_up(*inside_, failure);
    if (between_) give_up(*between_, failure);
  }

 private:
  void learn_places(FormedBy formed_by);
  void reduce(const Collective& call, const CollectiveOptions& how, const CollectiveOptions& news);
  void reduce_values(const HostValues& values, CollectiveOp op, const CollectiveOptions& how,
                     const CollectiveOptions& news);
  void gather(const Collective& call, const CollectiveOptions& how, const CollectiveOptions& news);
  void broadcast_over_hosts(const Collective& call, const CollectiveOptions& how,
                            const CollectiveOptions& news);
  [[noreturn]] void give_up_for(const Collective& call, Failure::Kind kind, const std::string& text);
  int lost_of_all() const;
  int host_of(int rank) const { return hosts_[static_cast<size_t>(rank)]; }

  std::shared_ptr<Communicator> inside_, between_;
  std::vector<int> order_;       // ranks by host, inside each in its order
  std::vector<int> hosts_;       // of each rank
  std::vector<int64_t> counts_;  // ranks of each host
  std::vector<float> as_float_;  // values of 16 bits
  std::vector<std::byte> of_host_, of_all_;
};

/// Which rank of all is where: leaders exchange what they gathered, and tell their hosts.
void HierarchicalCommunicator::learn_places(FormedBy formed_by) {
  const auto how = [&] {
    milliseconds time = options().timeout;
    if (formed_by) time = std::chrono::ceil<milliseconds>(*formed_by - std::chrono::steady_clock::now());
    return CollectiveOptions{.what = "forming the hierarchy", .timeout = std::max(time, milliseconds(1))};
  };
  const std::vector<int64_t> here = gathered_numbers(*inside_, rank(), how());
  std::vector<int64_t> numbers(static_cast<size_t>(size()) + static_cast<size_t>(size()));
  int64_t hosts = 0;
  if (between_) {
    counts_ = gathered_numbers(*between_, static_cast<int64_t>(here.size()), how());
    hosts = between_->size();
    std::vector<int64_t> sizes;
    for (const int64_t count : counts_) sizes.push_back(count * static_cast<int64_t>(sizeof(int64_t)));
    std::vector<int64_t> all(
        static_cast<size_t>(std::accumulate(counts_.begin(), counts_.end(), int64_t{0})));
    between_->all_gather_v(std::as_bytes(std::span(here)), sizes, bytes_of_all(all), how());
    if (all.size() != static_cast<size_t>(size())) hosts = -1;  // told to all below
    if (hosts > 0) {
      std::copy(all.begin(), all.end(), numbers.begin());
      std::copy(counts_.begin(), counts_.end(), numbers.begin() + size());
    }
  }
  inside_->broadcast(std::as_writable_bytes(std::span(&hosts, 1)), 0, how());
  inside_->broadcast(bytes_of_all(numbers), 0, how());
  order_.assign(numbers.begin(), numbers.begin() + size());
  counts_.assign(numbers.begin() + size(), numbers.begin() + size() + std::clamp<int64_t>(hosts, 0, size()));
  std::vector<int> sorted = order_, expected(static_cast<size_t>(size()));
  std::sort(sorted.begin(), sorted.end());
  std::iota(expected.begin(), expected.end(), 0);
  if (hosts < 1 || sorted != expected ||
      std::accumulate(counts_.begin(), counts_.end(), int64_t{0}) != static_cast<int64_t>(size()))
    throw CommunicationError("hierarchical_communicator '" + options().name +
                             "': the ranks of all hosts are not 0 to " + std::to_string(size() - 1) +
                             ", each once");
  hosts_.resize(static_cast<size_t>(size()));
  size_t at = 0;
  for (size_t host = 0; host < counts_.size(); ++host)
    for (int64_t i = 0; i < counts_[host]; ++i)
      hosts_[static_cast<size_t>(order_[at++])] = static_cast<int>(host);
}

void HierarchicalCommunicator::run(const Collective& call) {
  // Different calls may do the same inside, so that the whole header goes into the name.
  const std::string what = detail::call_text(call.header) + " " +
                           std::to_string(detail::stable_hash(&call.header, sizeof call.header));
  const auto left = std::chrono::ceil<milliseconds>(call.deadline - std::chrono::steady_clock::now());
  const CollectiveOptions how{
      .what = what, .timeout = std::max(left, milliseconds(1)), .wire_dtype = call.wire_dtype};
  const CollectiveOptions news{.what = what, .timeout = *how.timeout + kNewsFromOutside};
  try {
    switch (call.header.kind) {
      case CollectiveKind::all_reduce:
      case CollectiveKind::reduce_scatter:
        return reduce(call, how, news);
      case CollectiveKind::all_gather:
        return gather(call, how, news);
      case CollectiveKind::broadcast:
        return broadcast_over_hosts(call, how, news);
      case CollectiveKind::barrier:
        inside_->barrier(how);
        if (between_) between_->barrier(how);
        return inside_->barrier(news);
    }
  } catch (const TimeoutError& error) {
    give_up_for(call, Failure::Kind::timeout, error.what());
  } catch (const PeerLostError& error) {
    give_up_for(call, Failure::Kind::peer_lost, error.what());
  } catch (const CommunicationError& error) {
    give_up_for(call, Failure::Kind::communication, error.what());
  }
}

void HierarchicalCommunicator::give_up_for(const Collective& call, Failure::Kind kind,
                                           const std::string& text) {
  const int lost = lost_of_all();
  fail(call, {kind, lost, (lost < 0 ? "" : "rank " + std::to_string(lost) + " is lost or late: ") + text});
}

int HierarchicalCommunicator::lost_of_all() const {
  const auto first_of = [&](int host) {
    return std::accumulate(counts_.begin(), counts_.begin() + host, int64_t{0});
  };
  if (const auto lost = inside_->lost_rank())
    return order_[static_cast<size_t>(first_of(host_of(rank())) + *lost)];
  if (!between_) return -1;
  if (const auto lost = between_->lost_rank()) return order_[static_cast<size_t>(first_of(*lost))];
  return -1;
}

void HierarchicalCommunicator::reduce_values(const HostValues& values, CollectiveOp op,
                                             const CollectiveOptions& how, const CollectiveOptions& news) {
  inside_->all_reduce(values, op, {.what = how.what, .timeout = how.timeout});
  if (between_) between_->all_reduce(values, op, how);
  const size_t bytes = static_cast<size_t>(values.count) * size_of(values.dtype);
  inside_->broadcast({static_cast<std::byte*>(values.data), bytes}, 0, news);
}

void HierarchicalCommunicator::reduce(const Collective& call, const CollectiveOptions& how,
                                      const CollectiveOptions& news) {
  const CallHeader& header = call.header;
  const auto in_float = [&]<class Half>(Half) {
    Half* const values = reinterpret_cast<Half*>(call.out);
    as_float_.resize(static_cast<size_t>(header.count));
    for (size_t i = 0; i < as_float_.size(); ++i) as_float_[i] = static_cast<float>(values[i]);
    reduce_values({as_float_.data(), header.count, DType::float32}, header.op, how, news);
    for (size_t i = 0; i < as_float_.size(); ++i) values[i] = Half(as_float_[i]);
  };
  if (header.dtype == DType::float16) return in_float(float16{});
  if (header.dtype == DType::bfloat16) return in_float(bfloat16{});
  reduce_values({call.out, header.count, header.dtype}, header.op, how, news);
}

void HierarchicalCommunicator::gather(const Collective& call, const CollectiveOptions& how,
                                      const CollectiveOptions& news) {
  std::vector<int64_t> inside_sizes, host_sizes(counts_.size());
  for (const int r : order_) {
    const int64_t bytes = call.sizes[static_cast<size_t>(r)];
    host_sizes[static_cast<size_t>(host_of(r))] += bytes;
    if (host_of(r) == host_of(rank())) inside_sizes.push_back(bytes);
  }
  of_host_.resize(static_cast<size_t>(host_sizes[static_cast<size_t>(host_of(rank()))]));
  of_all_.resize(static_cast<size_t>(call.header.count));
  const std::span mine(call.in, static_cast<size_t>(call.sizes[static_cast<size_t>(rank())]));
  inside_->all_gather_v(mine, inside_sizes, of_host_, how);
  if (between_) between_->all_gather_v(of_host_, host_sizes, of_all_, how);
  inside_->broadcast(of_all_, 0, news);
  std::vector<int64_t> begins(static_cast<size_t>(size()));
  std::exclusive_scan(call.sizes.begin(), call.sizes.end(), begins.begin(), int64_t{0});
  const std::byte* from = of_all_.data();
  for (const int r : order_) {
    const auto bytes = static_cast<size_t>(call.sizes[static_cast<size_t>(r)]);
    if (bytes > 0) std::memcpy(call.out + begins[static_cast<size_t>(r)], from, bytes);
    from += bytes;
  }
}

void HierarchicalCommunicator::broadcast_over_hosts(const Collective& call, const CollectiveOptions& how,
                                                    const CollectiveOptions& news) {
  const std::span data(call.out, static_cast<size_t>(call.header.count));
  const int root = call.header.root, host = host_of(root);
  if (host == host_of(rank())) {
    int place = 0;  // of the root inside its host
    for (const int r : order_) {
      if (r == root) break;
      place += host_of(r) == host ? 1 : 0;
    }
    inside_->broadcast(data, place, how);
  }
  if (between_) between_->broadcast(data, host, how);
  inside_->broadcast(data, 0, news);
}

}  // namespace

std::shared_ptr<Communicator> hierarchical_communicator(const CommunicatorOptions& options,
                                                        std::shared_ptr<Communicator> inside,
                                                        std::shared_ptr<Communicator> between,
                                                        FormedBy formed_by) {
  return std::make_shared<HierarchicalCommunicator>(options, std::move(inside), std::move(between),
                                                    formed_by);
}

}  // namespace nyala
