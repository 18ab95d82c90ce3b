#include <nyala/strategies/values_by_ranks.h>

#include <map>

namespace nyala {

std::string detail::values_by_ranks(const std::vector<std::string>& of_ranks) {
  std::map<std::string, std::string> ranks;
  for (size_t rank = 0; rank < of_ranks.size(); ++rank) {
    std::string& list = ranks[of_ranks[rank]];
    list += (list.empty() ? "" : ", ") + std::to_string(rank);
  }
  if (ranks.size() == 1) return "";
  std::string text;
  for (const auto& [value, list] : ranks)
    text += (text.empty() ? "" : " and ") + value +
            (list.find(',') == std::string::npos ? " in rank " : " in ranks ") + list;
  return text;
}

}  // namespace nyala
