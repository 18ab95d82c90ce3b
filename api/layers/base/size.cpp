#include <algorithm>

#include <nyala/api/base/shown_list.h>
#include <nyala/api/layers/base/size.h>
#include <nyala/backend/core/error.h>

namespace nyala {

template <size_t N>
int64_t Size<N>::smallest() const {
  return *std::min_element(sizes_.begin(), sizes_.end());
}

template <size_t N>
int64_t Size<N>::largest() const {
  return *std::max_element(sizes_.begin(), sizes_.end());
}

template <size_t N>
std::array<int, N> Size<N>::to_array() const {
  std::array<int, N> out;
  for (size_t i = 0; i < N; ++i) out[i] = static_cast<int>(sizes_[i]);
  return out;
}

template <size_t N>
std::string Size<N>::to_string() const {
  if (!given_) return "None";
  if constexpr (N == 1) return std::to_string(sizes_[0]);
  std::string text;
  for (const int64_t size : sizes_) text += (text.empty() ? "(" : ", ") + std::to_string(size);
  return text + ")";
}

template <size_t N>
void detail::visit_size(FieldVisitor& v, const char* name, Size<N>& size) {
  std::vector<int64_t> list;
  for (size_t i = 0; i < N && size.given(); ++i) list.push_back(size[i]);
  if (!shown_and_changed(v, name, list)) return;
  if (list.size() > 1 && list.size() != N)
    throw InvalidArgumentError(std::string(name) + ": expected " + (N > 1 ? "one or " : "") +
                               std::to_string(N) + (N > 1 ? " sizes" : " size") + ", received " +
                               std::to_string(list.size()));
  if (list.size() < N) {
    size = list.empty() ? Size<N>::none() : Size<N>(list.front());
    return;
  }
  std::array<int64_t, N> sizes{};
  std::copy(list.begin(), list.end(), sizes.begin());
  size = Size<N>(sizes);
}

template class Size<1>;
template class Size<2>;
template class Size<3>;
template void detail::visit_size(FieldVisitor&, const char*, Size<1>&);
template void detail::visit_size(FieldVisitor&, const char*, Size<2>&);
template void detail::visit_size(FieldVisitor&, const char*, Size<3>&);

}  // namespace nyala
