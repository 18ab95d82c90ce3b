#include <nyala/datasets/base/dataset_iterator.h>

#include <string>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/held.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr const char* kHowMade = "it was moved from; dataset.iterate() makes one";

}  // namespace

DatasetIterator::DatasetIterator(DatasetNodePointer node, int64_t epoch)
    : node_(std::move(node)), stream_(node_->elements({.epoch = epoch})), epoch_(epoch) {}

DatasetIterator& DatasetIterator::operator=(DatasetIterator&& other) noexcept {
  stream_ = std::move(other.stream_);  // first: a stream refers to its node
  node_ = std::move(other.node_);
  epoch_ = other.epoch_;
  position_ = other.position_;
  ended_ = other.ended_;
  return *this;
}

bool DatasetIterator::next(Batch& batch) {
  ElementStream& stream = held(stream_, "DatasetIterator", kHowMade);
  if (ended_) return false;
  ended_ = true;  // stays so if an exception leaves here
  if (!stream.next(batch)) return false;
  ended_ = false;
  ++position_;
  return true;
}

int64_t DatasetIterator::skip(int64_t count) {
  if (count < 0)
    throw InvalidArgumentError("DatasetIterator::skip: expected a count of at least 0, received " +
                               std::to_string(count));
  ElementStream& stream = held(stream_, "DatasetIterator", kHowMade);
  if (ended_) return 0;
  ended_ = true;
  const int64_t skipped = stream.skip(count);
  ended_ = skipped < count;
  position_ += skipped;
  return skipped;
}

DatasetIterator::RangeIterator::RangeIterator(std::unique_ptr<DatasetIterator> own, DatasetIterator& walked)
    : own_(std::move(own)), walked_(&walked) {
  ++*this;
}

DatasetIterator::RangeIterator DatasetIterator::begin() & { return RangeIterator(nullptr, *this); }

DatasetIterator::RangeIterator DatasetIterator::begin() && {
  auto own = std::make_unique<DatasetIterator>(std::move(*this));
  DatasetIterator& walked = *own;
  return RangeIterator(std::move(own), walked);
}

}  // namespace nyala
