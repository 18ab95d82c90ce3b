#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <iterator>
#include <memory>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace nyala {

/// A key's number between 0 and 2^31 - 2. It hangs on a number that each process draws, so that nobody can
/// write a file whose keys have all the same.
uint32_t hash_of_key(std::string_view key);

/// The object of basic_json, as nlohmann::ordered_map: keys keep their order. That one looks at all keys for
/// each that it finds or adds; this one finds them by hash from kFewKeys on, so that n keys take time n.
template <class Key, class T, class Less = std::less<Key>,
          class Allocator = std::allocator<std::pair<const Key, T>>>
class OrderedObject : public std::vector<std::pair<const Key, T>, Allocator> {
 public:
  using Container = std::vector<std::pair<const Key, T>, Allocator>;
  using key_type = Key;
  using mapped_type = T;
  using key_compare = std::equal_to<>;
  using typename Container::const_iterator;
  using typename Container::iterator;
  using typename Container::size_type;
  using typename Container::value_type;

  static constexpr size_t kFewKeys = 16;

  OrderedObject() = default;
  template <class It>
  OrderedObject(It first, It last) {
    insert(first, last);
  }

  iterator find(std::string_view key) { return this->begin() + offset_of(key); }
  const_iterator find(std::string_view key) const { return this->begin() + offset_of(key); }
  size_type count(std::string_view key) const { return find(key) == this->end() ? 0 : 1; }
  const T& at(std::string_view key) const {
    const const_iterator found = find(key);
    if (found == this->end()) throw std::out_of_range("key not found");
    return found->second;
  }
  T& at(std::string_view key) { return const_cast<T&>(std::as_const(*this).at(key)); }
  T& operator[](std::string_view key) { return emplace(key, T()).first->second; }
  const T& operator[](std::string_view key) const { return at(key); }

  std::pair<iterator, bool> emplace(std::string_view key, T value) {
    const iterator found = find(key);
    if (found != this->end()) return {found, false};
    const bool indexed = this->size() >= kFewKeys;
    if (indexed && 2 * (this->size() + 1) > slots_.size()) index(4 * (this->size() + 1));
    const size_t slot = indexed ? free_slot(key) : 0;
    Container::emplace_back(Key(key), std::move(value));
    if (indexed) slots_[slot] = static_cast<uint32_t>(this->size());
    return {std::prev(this->end()), true};
  }
  std::pair<iterator, bool> insert(value_type value) { return emplace(value.first, std::move(value.second)); }
  template <class It>
  void insert(It first, It last) {
    for (; first != last; ++first) emplace(first->first, first->second);
  }

  size_type erase(std::string_view key) {
    const iterator found = find(key);
    if (found == this->end()) return 0;
    erase(found);
    return 1;
  }
  iterator erase(iterator place) { return erase(place, std::next(place)); }
  iterator erase(iterator first, iterator last) {
    const auto begin = first - this->begin();
    Container kept;  // keys are constant: they cannot move up
    kept.reserve(this->size());
    for (iterator item = this->begin(); item != this->end(); ++item)
      if (item < first || item >= last) kept.push_back(std::move(*item));
    this->swap(kept);
    slots_.clear();
    if (this->size() >= kFewKeys) index(4 * this->size());
    return this->begin() + begin;
  }
  void clear() noexcept {
    Container::clear();
    slots_.clear();
  }

 private:
  /// Of the key, or of the end.
  std::ptrdiff_t offset_of(std::string_view key) const {
    size_t place = 0;
    if (slots_.empty()) {
      while (place < this->size() && Container::operator[](place).first != key) ++place;
    } else {
      size_t slot = first_slot(key);
      while (slots_[slot] != 0 && key_in(slot) != key) slot = next(slot);
      place = slots_[slot] != 0 ? slots_[slot] - 1 : this->size();
    }
    return static_cast<std::ptrdiff_t>(place);
  }
  size_t first_slot(std::string_view key) const { return hash_of_key(key) % slots_.size(); }
  size_t next(size_t slot) const { return slot + 1 == slots_.size() ? 0 : slot + 1; }
  const Key& key_in(size_t slot) const { return Container::operator[](slots_[slot] - 1).first; }
  size_t free_slot(std::string_view key) const {
    size_t slot = first_slot(key);
    while (slots_[slot] != 0) slot = next(slot);
    return slot;
  }
  void index(size_t slots) {
    slots_.assign(slots, 0);
    for (size_t i = 0; i < this->size(); ++i)
      slots_[free_slot(Container::operator[](i).first)] = static_cast<uint32_t>(i + 1);
  }

  std::vector<uint32_t> slots_;  // a key's place and 1, or 0; empty with few keys
};

}  // namespace nyala
