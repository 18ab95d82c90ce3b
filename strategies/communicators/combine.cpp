#include <nyala/strategies/communicators/combine.h>

#include <algorithm>
#include <type_traits>

namespace nyala::detail {

namespace {

/// Pieces of all sources and of the result stay in the first cache.
constexpr int64_t kCombinedPiece = 1024;

template <CollectiveOp op, class T>
T combined(T a, T b) {
  if constexpr (op == CollectiveOp::sum) {
    if constexpr (std::is_integral_v<T>) {
      using Wide = std::common_type_t<std::make_unsigned_t<T>, unsigned>;
      return static_cast<T>(static_cast<Wide>(a) + static_cast<Wide>(b));
    } else {
      return a + b;
    }
  } else if constexpr (op == CollectiveOp::max) {
    return a > b || a != a ? a : b;
  } else {
    return a < b || a != a ? a : b;
  }
}

/// A bool of another process may be any byte.
struct BoolByte {
  uint8_t byte;
};
template <CollectiveOp op>
BoolByte combined(BoolByte a, BoolByte b) {
  const bool both = a.byte != 0 && b.byte != 0, any = a.byte != 0 || b.byte != 0;
  return {static_cast<uint8_t>(op == CollectiveOp::min ? both : any)};
}

template <CollectiveOp op, class T>
void combine_as(std::span<const std::byte* const> sources, std::byte* out, int64_t count) {
  T* const to = reinterpret_cast<T*>(out);
  const auto from = [&](size_t i) { return reinterpret_cast<const T*>(sources[i]); };
  for (int64_t begin = 0; begin < count; begin += kCombinedPiece) {
    const int64_t end = std::min(count, begin + kCombinedPiece);
    const T *a = from(0), *b = from(1);
    for (int64_t i = begin; i < end; ++i) to[i] = combined<op>(a[i], b[i]);
    for (size_t s = 2; s < sources.size(); ++s) {
      b = from(s);
      for (int64_t i = begin; i < end; ++i) to[i] = combined<op>(to[i], b[i]);
    }
  }
}

template <CollectiveOp op, class Half>
void combine_halves(std::span<const std::byte* const> sources, std::byte* out, int64_t count) {
  Half* const to = reinterpret_cast<Half*>(out);
  float sums[kCombinedPiece];
  for (int64_t begin = 0; begin < count; begin += kCombinedPiece) {
    const int64_t size = std::min(count - begin, kCombinedPiece);
    for (size_t s = 0; s < sources.size(); ++s) {
      const Half* const from = reinterpret_cast<const Half*>(sources[s]) + begin;
      for (int64_t i = 0; i < size; ++i) {
        const auto value = static_cast<float>(from[i]);
        sums[i] = s == 0 ? value : combined<op>(sums[i], value);
      }
    }
    for (int64_t i = 0; i < size; ++i) to[begin + i] = Half(sums[i]);
  }
}

template <CollectiveOp op>
void combine_with(DType dtype, std::span<const std::byte* const> sources, std::byte* out, int64_t count) {
  dispatch_any(dtype, [&](auto one) {
    using T = decltype(one);
    if constexpr (std::is_same_v<T, bool>) {
      combine_as<op, BoolByte>(sources, out, count);
    } else if constexpr (std::is_arithmetic_v<T>) {
      combine_as<op, T>(sources, out, count);
    } else {
      combine_halves<op, T>(sources, out, count);
    }
  });
}

}  // namespace

void combine(DType dtype, CollectiveOp op, std::span<const std::byte* const> sources, std::byte* out,
             int64_t count) {
  switch (op) {
    case CollectiveOp::sum:
      return combine_with<CollectiveOp::sum>(dtype, sources, out, count);
    case CollectiveOp::max:
      return combine_with<CollectiveOp::max>(dtype, sources, out, count);
    case CollectiveOp::min:
      return combine_with<CollectiveOp::min>(dtype, sources, out, count);
  }
}

}  // namespace nyala::detail
