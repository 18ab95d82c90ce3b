#include <cstring>
#include <string>
#include <type_traits>

#include <nyala/api/training/state/training_state.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

class Packer {
 public:
  template <class T>
  requires std::is_trivially_copyable_v<T>
  void put(const T& value) {
    const auto* from = reinterpret_cast<const std::byte*>(&value);
    bytes.insert(bytes.end(), from, from + sizeof value);
  }
  void put(const std::string& text) {
    put(std::ssize(text));
    const auto* from = reinterpret_cast<const std::byte*>(text.data());
    bytes.insert(bytes.end(), from, from + text.size());
  }
  template <class T>
  void put(const std::vector<T>& list) {
    put(std::ssize(list));
    for (const T& one : list) put(one);
  }
  void put(const LoggedValue& one) {
    put(one.name);
    put(one.op);
    put(one.value.item());
    put(one.rows);
  }
  void put(const TrainingState::Built& one) {
    put(one.built);
    put(one.variables);
    put(one.values);
  }
  void put(const std::pair<int, Logs>& epoch) {
    put(epoch.first);
    put(std::ssize(epoch.second.values()));
    for (const auto& [name, value] : epoch.second) {
      put(name);
      put(epoch.second.values(name));
    }
  }
  void put(const SavedCallback& one) {
    put(one.name);
    put(one.state.numbers);
    put_kinds(one.state.values);
  }
  void put_kinds(const Tensors& values) {
    put(std::ssize(values));
    for (const Tensor& value : values) put_kind(value);
  }
  void put_kind(const Tensor& value) {
    put(static_cast<int64_t>(value.dtype().index()));
    put(static_cast<int64_t>(value.rank()));
    for (const int64_t size : value.shape()) put(size);
  }

  std::vector<std::byte> bytes;
};

class Unpacker {
 public:
  explicit Unpacker(std::span<const std::byte> bytes) : left_(bytes) {}

  template <class T>
  requires std::is_trivially_copyable_v<T>
  void get(T& value) { std::memcpy(&value, take(sizeof value), sizeof value); }
  void get(std::string& text) {
    const size_t size = count();
    text.assign(reinterpret_cast<const char*>(take(size)), size);
  }
  template <class T>
  void get(std::vector<T>& list) {
    list.clear();
    for (size_t left = count(); left > 0; --left) get(list.emplace_back());
  }
  void get(LoggedValue& one) {
    double value = 0;
    get(one.name);
    get(one.op);
    get(value);
    get(one.rows);
    one.value = Tensor::scalar(value);
  }
  void get(TrainingState::Built& one) {
    get(one.built);
    get(one.variables);
    get(one.values);
  }
  void get(std::pair<int, Logs>& epoch) {
    get(epoch.first);
    for (size_t left = count(); left > 0; --left) {
      std::string name;
      std::vector<double> values;
      get(name);
      get(values);
      epoch.second.set(name, values);
    }
  }
  void get(SavedCallback& one) {
    get(one.name);
    get(one.state.numbers);
    one.state.values = all_made();
  }
  Tensors all_made() {
    Tensors values;
    for (size_t left = count(); left > 0; --left) values.push_back(made());
    return values;
  }
  Tensor made() {
    int64_t dtype = 0, rank = 0;
    get(dtype);
    get(rank);
    Shape shape;
    for (; rank > 0; --rank) {
      int64_t size = 0;
      get(size);
      shape.append(size);
    }
    return Tensor::empty(shape, DType(static_cast<DType::Code>(dtype)), Device{});
  }
  size_t count() {
    int64_t count = 0;
    get(count);
    if (count < 0 || static_cast<size_t>(count) > left_.size()) refuse();
    return static_cast<size_t>(count);
  }

 private:
  [[noreturn]] static void refuse() {
    throw CommunicationError("the state of training: a peer sent fewer bytes than it said");
  }
  const std::byte* take(size_t size) {
    if (size > left_.size()) refuse();
    const std::byte* const from = left_.data();
    left_ = left_.subspan(size);
    return from;
  }

  std::span<const std::byte> left_;
};

/// What both do, in one order.
template <class Archive, class State>
void pass(const Archive& archive, State& state) {
  archive(state.position);
  archive(state.epoch_has_begun);
  archive(state.resume);
  archive(state.optimizers);
  archive(state.random_keys);
  archive(state.sums.parts);
  archive(state.sums.values);
  archive(state.sums.rows);
  archive(state.loss_is_tracked);
  archive(state.logged);
  archive(state.own_metrics);
  archive(state.finished);
  archive(state.stops);
  archive(state.callbacks);
}

}  // namespace

std::vector<std::byte> packed(const TrainingState& state) {
  Packer packer;
  pass([&](const auto& part) { packer.put(part); }, state);
  packer.put_kinds(state.values);
  return std::move(packer.bytes);
}

TrainingState unpacked(std::span<const std::byte> bytes) {
  Unpacker unpacker(bytes);
  TrainingState state;
  pass([&](auto& part) { unpacker.get(part); }, state);
  state.values = unpacker.all_made();
  return state;
}

}  // namespace nyala
