#include <nyala/strategies/texts_of_all.h>

#include <algorithm>
#include <cstdint>

#include <nyala/backend/core/tensor.h>
#include <nyala/backend/runtime/process_exchange.h>

namespace nyala::detail {

std::vector<std::string> texts_of_all(ProcessExchange& processes, const std::string& own,
                                      std::string_view what) {
  const std::vector<int64_t> sizes = said_by_all(processes, std::ssize(own), what);
  std::vector<std::string> texts(sizes.size());
  if (std::ranges::all_of(sizes, [](int64_t size) { return size == 0; })) return texts;
  const Tensors all =
      processes.all_values({Tensor::from(std::vector<uint8_t>(own.begin(), own.end()))}, what);
  for (size_t rank = 0; rank < texts.size(); ++rank) {
    const std::vector<uint8_t> bytes = all[rank].to_vector<uint8_t>();
    texts[rank].assign(bytes.begin(), bytes.end());
  }
  return texts;
}

}  // namespace nyala::detail
