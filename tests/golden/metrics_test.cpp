#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/metrics/all.h>
#include <nyala/tests/golden/from_config.h>

namespace nyala::golden::metrics_test {
namespace {

const Tolerance kTolerance = {.absolute = 1e-6, .relative = 5e-6};

void expect_results(const Metric& metric, const Json& expected, const std::string& what) {
  const std::vector<double> got = metric.results(), want = numbers(expected.at("data"));
  ASSERT_EQ(got.size(), want.size()) << what;
  for (size_t i = 0; i < want.size(); ++i) expect_close(got[i], want[i], what, kTolerance);
}

void update(Metric& metric, const Json& given) {
  if (given.contains("values"))
    metric.update_state(tensor(given.at("values")), {}, tensor(given.at("sample_weight")));
  else
    metric.update_state(tensor(given.at("y_true")), tensor(given.at("y_pred")),
                        tensor(given.at("sample_weight")));
}

void check(const Json& entry, const Json& config) {
  Metric metric = make_one<Metric>(Metrics{}, entry.at("name").as_string(), config);
  const bool weighted = !entry.at("updates").at(0).at("sample_weight").is_null();
  const std::string what =
      entry.at("name").get<std::string>() + config.dump() + (weighted ? " weighted" : "");
  EXPECT_EQ(metric.name(), entry.at("displayed").get<std::string>()) << what;
  for (size_t i = 0; i < entry.at("updates").size(); ++i) {
    update(metric, entry.at("updates").at(i));
    expect_results(metric, entry.at("results").at(i), what + " update " + std::to_string(i));
  }
  metric.reset_state();
  expect_results(metric, entry.at("after_reset"), what + " after reset");
  update(metric, entry.at("updates").back());
  expect_results(metric, entry.at("after_reset_and_last"), what + " after reset and update");
}

void check_group(const char* group) {
  const Json golden = load("metrics.json");
  for (const Json& entry : golden.at(group)) check(entry, entry.value("config", Json::object()));
}

TEST(GoldenMetrics, OfTargetsAndPredictions) { check_group("cases"); }

TEST(GoldenMetrics, OfValues) { check_group("values"); }

TEST(GoldenMetrics, Ties) {
  const Json golden = load("metrics.json");
  for (const Json& entry : golden.at("ties")) {
    Metric metric = make_one<Metric>(Metrics{}, entry.at("name").as_string(), entry.at("config"));
    metric.update_state(tensor(entry.at("y_true")), tensor(entry.at("y_pred")));
    expect_results(metric, entry.at("result"), label(entry) + " " + entry.at("y_true").dump());
  }
}

TEST(GoldenMetrics, NamesAreThoseOfKeras) {
  const Json golden = load("metrics.json");
  for (const Json& entry : golden.at("names")) {
    const Metric metric(entry.at("name").get<std::string>());
    if (!metric.is_pending()) EXPECT_EQ(metric.node().class_name(), entry.at("class").get<std::string>());
  }
}

TEST(GoldenMetrics, AccuracyIsResolvedByShapes) {
  const Json golden = load("metrics.json");
  for (const Json& entry : golden.at("resolved")) {
    const Shape y_true(entry.at("y_true").get<std::vector<int64_t>>()),
        y_pred(entry.at("y_pred").get<std::vector<int64_t>>());
    const Metric metric = Metric("accuracy").resolved(y_true, y_pred);
    EXPECT_EQ(metric.node().class_name(), entry.at("accuracy").get<std::string>()) << entry;
    EXPECT_EQ(metric.name(), "accuracy");
  }
}

}  // namespace
}  // namespace nyala::golden::metrics_test
