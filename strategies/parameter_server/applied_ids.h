#pragma once

#include <cstdint>
#include <iterator>
#include <map>
#include <utility>

namespace nyala::detail {

/// A set of numbers that come nearly in order, kept as the ranges that they fill.
class AppliedIds {
 public:
  AppliedIds() = default;
  explicit AppliedIds(std::map<uint64_t, uint64_t> ranges) : ranges_(std::move(ranges)) {}

  /// False where it was there already.
  bool insert(uint64_t id) {
    auto behind = ranges_.upper_bound(id);
    if (behind != ranges_.begin()) {
      const auto before = std::prev(behind);
      if (id <= before->second) return false;
      if (id == before->second + 1) {
        before->second = id;
        if (behind != ranges_.end() && behind->first == id + 1) {
          before->second = behind->second;
          ranges_.erase(behind);
        }
        return true;
      }
    }
    if (behind != ranges_.end() && behind->first == id + 1) {
      const uint64_t last = behind->second;
      ranges_.erase(behind);
      ranges_.emplace(id, last);
    } else {
      ranges_.emplace(id, id);
    }
    return true;
  }
  bool contains(uint64_t id) const {
    const auto behind = ranges_.upper_bound(id);
    return behind != ranges_.begin() && id <= std::prev(behind)->second;
  }
  /// First and last of each range.
  const std::map<uint64_t, uint64_t>& ranges() const { return ranges_; }

 private:
  std::map<uint64_t, uint64_t> ranges_;
};

}  // namespace nyala::detail
