#include <nyala/backend/parameters/cast_cache.h>

#include <mutex>

#include <nyala/backend/ops/base/cast.h>

namespace nyala::detail {

Tensor CastCache::get(const Tensor& value, DType dtype, size_t copy) {
  const std::lock_guard lock(mutex_);
  if (of_copies_.size() <= copy) of_copies_.resize(copy + 1);
  Entry& entry = of_copies_[copy];
  const Storage* const storage = value.storage().get();
  const uint64_t version = storage->version();
  const bool is_current = entry.cast.defined() && entry.cast.dtype() == dtype && entry.storage == storage &&
                          entry.offset == value.storage_offset() && entry.version == version;
  if (!is_current) entry = {ops::cast(value.detached(), dtype), storage, value.storage_offset(), version};
  return entry.cast;
}

void CastCache::clear() {
  const std::lock_guard lock(mutex_);
  of_copies_.clear();
}

}  // namespace nyala::detail
