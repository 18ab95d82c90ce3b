#include <limits>
#include <optional>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/utils/progress_bar.h>
#include <nyala/tests/golden/golden_data.h>

namespace nyala::golden {
namespace {

std::vector<ProgressBar::Value> values_of(const Json& entry) {
  std::vector<ProgressBar::Value> values;
  for (const Json& pair : entry.at("values"))
    values.emplace_back(pair.at(0).get<std::string>(), number(pair.at(1)));
  return values;
}

std::vector<std::string> names_of(const std::vector<ProgressBar::Value>& values) {
  std::vector<std::string> names;
  for (const auto& [name, value] : values) names.push_back(name);
  return names;
}

/// What the bar writes on a terminal when a clock goes on by the entry's seconds before every update.
std::string bytes_of(const Json& entry) {
  const auto values = values_of(entry);
  std::ostringstream stream;
  double time = 1000;
  ProgressBar bar({.target = entry.at("target").is_null() ? -1 : entry.at("target").get<int64_t>(),
                   .verbose = entry.at("verbose").get<int>(),
                   .stateful_metrics = names_of(values),
                   .display = ProgressDisplay::dynamic,
                   .stream = &stream,
                   .clock = [&time] { return time; }});
  for (const Json& current : entry.at("updates")) {
    time += entry.at("seconds_each").get<double>();
    bar.update(current.get<int64_t>(), values,
               current == entry.at("finalized_at") ? std::optional(true) : std::nullopt);
  }
  return stream.str();
}

TEST(GoldenProgress, BytesOnATerminal) {
  const Json golden = load("console.json");
  for (const Json& entry : golden.at("progress"))
    EXPECT_EQ(bytes_of(entry), entry.at("bytes").get<std::string>())
        << "target " << entry.at("target") << ", updates " << entry.at("updates");
}

}  // namespace
}  // namespace nyala::golden
