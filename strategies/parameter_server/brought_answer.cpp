#include <nyala/strategies/parameter_server/brought_answer.h>

#include <cstring>
#include <numeric>

#include <nyala/strategies/parameter_server/coordinator_message.h>

namespace nyala::detail {

ParameterAnswer as_answer(const std::shared_ptr<const std::vector<std::vector<std::byte>>>& brought) {
  if (!brought) return {.header = encode(CoordinatorReply{.kind = CoordinatorReply::Kind::again})};
  CoordinatorReply reply{.kind = CoordinatorReply::Kind::brought};
  for (const std::vector<std::byte>& bytes : *brought) reply.sizes.push_back(bytes.size());
  const uint64_t total = std::accumulate(reply.sizes.begin(), reply.sizes.end(), uint64_t{0});
  return {.header = encode(reply),
          .bytes = total,
          .fill = [brought](uint64_t offset, std::span<std::byte> chunk) {
            uint64_t first = 0;
            for (const std::vector<std::byte>& bytes : *brought) {
              if (!chunk.empty() && offset < first + bytes.size()) {
                const size_t begin = offset - first, count = std::min(bytes.size() - begin, chunk.size());
                std::memcpy(chunk.data(), bytes.data() + begin, count);
                chunk = chunk.subspan(count);
                offset += count;
              }
              first += bytes.size();
            }
          }};
}

}  // namespace nyala::detail
