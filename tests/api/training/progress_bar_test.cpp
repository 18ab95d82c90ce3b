#include <nyala/api/utils/progress_bar.h>

#include <cmath>
#include <limits>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>

namespace nyala {
namespace {

using Values = std::vector<ProgressBar::Value>;

const Values kLoss = {{"loss", 0.5}};

struct Scenario {
  int64_t target = -1;
  std::vector<int64_t> updates = {};
  double seconds_each = 0;
  Values values = kLoss;
  int64_t finalized_at = -1;
  int verbose = 1;
  ProgressDisplay display = ProgressDisplay::dynamic;
};

/// What the bar writes when a clock goes on by `seconds_each` before every update.
std::string output_of(const Scenario& run) {
  std::ostringstream stream;
  double time = 1000;
  ProgressBar bar({.target = run.target,
                   .verbose = run.verbose,
                   .display = run.display,
                   .stream = &stream,
                   .clock = [&time] { return time; }});
  for (int64_t current : run.updates) {
    time += run.seconds_each;
    bar.update(current, run.values, current == run.finalized_at ? std::optional(true) : std::nullopt);
  }
  return stream.str();
}

std::string cells(int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += "━";
  return out;
}

std::string back(int count) { return std::string(static_cast<size_t>(count), '\b'); }

/// The bold step counter and the bar of 20 cells.
std::string head(const std::string& counter, int done) {
  const std::string green = done > 0 ? "\x1b[32m" + cells(done) + "\x1b[0m" : "";
  return "\r\x1b[1m" + counter + "\x1b[0m " + green + "\x1b[37m" + cells(20 - done) + "\x1b[0m ";
}

std::string bold(const std::string& text) { return "\x1b[1m" + text + "\x1b[0m"; }

// The expected bytes below are those that Keras 3.15.1's Progbar wrote for the same calls.

TEST(ProgressBarTest, EveryStepIsDrawn) {
  EXPECT_EQ(output_of({.target = 3, .updates = {1, 2, 3}, .seconds_each = 2}),
            head("1/3", 6) + bold("4s") + " 2s/step - loss: 0.5000" + back(50) + head("2/3", 13) +
                bold("2s") + " 2s/step - loss: 0.5000" + back(50) + head("3/3", 20) + bold("6s") +
                " 2s/step - loss: 0.5000\n");
}

TEST(ProgressBarTest, ValuesAreFormattedAsInKeras) {
  const Values values = {{"a", 1e-3}, {"b", 1.0001e-3}, {"c", -5.0},
                         {"d", 0.0},  {"e", 12345.678}, {"f", std::nan("")}};
  const std::string text =
      " 100ms/step - a: 1.0000e-03 - b: 0.0010 - c: -5.0000 - d: 0.0000e+00 - e: 12345.6780 - f: nan";
  EXPECT_EQ(output_of({.target = 3, .updates = {1, 2, 3}, .seconds_each = 0.1, .values = values}),
            head("1/3", 6) + bold("0s") + text + back(120) + head("2/3", 13) + bold("0s") + text + back(120) +
                head("3/3", 20) + bold("0s") + text + "\n");
}

TEST(ProgressBarTest, ControlCharactersOfNamesAreWritten) {
  const std::string text =
      output_of({.target = 2, .updates = {2}, .values = {{"a\x1b[2J", 0.5}}, .verbose = 2});
  EXPECT_NE(text.find("a\\x1b[2J: "), std::string::npos) << text;
}

TEST(ProgressBarTest, NegativeNanHasNoSign) {
  const std::string text = output_of({.target = 1, .updates = {1}, .values = {{"f", -std::nan("")}}});
  EXPECT_NE(text.find("f: nan"), std::string::npos) << text;
}

TEST(ProgressBarTest, AnUpdateTooSoonAfterTheLastIsSuppressed) {
  EXPECT_EQ(output_of({.target = 10, .updates = {1, 5, 10}, .seconds_each = 0.035}),
            head(" 1/10", 2) + bold("0s") + " 35ms/step - loss: 0.5000" + back(54) + head("10/10", 20) +
                bold("0s") + " 8ms/step - loss: 0.5000 \n");
}

TEST(ProgressBarTest, MicrosecondsWithoutAFirstStep) {
  EXPECT_EQ(output_of({.target = 1000, .updates = {500, 1000}, .seconds_each = 0.001}),
            head(" 500/1000", 10) + bold("0s") + " 2us/step - loss: 0.5000" + back(57) +
                head("1000/1000", 20) + bold("0s") + " 2us/step - loss: 0.5000\n");
}

TEST(ProgressBarTest, RemainingTimeInHours) {
  EXPECT_EQ(output_of({.target = 200, .updates = {1, 2, 200}, .seconds_each = 70}),
            head("  1/200", 0) + bold("3:52:10") + " 70s/step - loss: 0.5000" + back(60) +
                head("  2/200", 0) + bold("3:51:00") + " 70s/step - loss: 0.5000" + back(60) +
                head("200/200", 20) + bold("210s") + " 704ms/step - loss: 0.5000 \n");
}

TEST(ProgressBarTest, HoursAreUnboundedAndAnEarlyEndKeepsTheBar) {
  EXPECT_EQ(output_of({.target = 4000, .updates = {1, 2}, .seconds_each = 3700, .finalized_at = 2}),
            head("   1/4000", 0) + bold("4110:05:00") + " 3700s/step - loss: 0.5000" + back(67) +
                head("   2/4000", 0) + bold("7400s") + " 3700s/step - loss: 0.5000     \n");
}

TEST(ProgressBarTest, UnknownTarget) {
  EXPECT_EQ(output_of({.updates = {1, 2, 3}, .seconds_each = 0.5, .finalized_at = 3}),
            "\r      1/Unknown " + bold("0s") + " 500ms/step - loss: 0.5000" + back(44) +
                "\r      2/Unknown " + bold("1s") + " 500ms/step - loss: 0.5000" + back(44) +
                "\r      3/Unknown " + bold("2s") + " 500ms/step - loss: 0.5000\n");
}

TEST(ProgressBarTest, OneLinePerEpoch) {
  EXPECT_EQ(output_of({.target = 3, .updates = {1, 2, 3}, .seconds_each = 0.5, .verbose = 2}),
            "3/3 - 2s - 500ms/step - loss: 0.5000\n");
}

TEST(ProgressBarTest, RemainingTimeOfManySteps) {
  EXPECT_EQ(output_of({.target = 1875, .updates = {1, 1875}, .seconds_each = 3}),
            head("   1/1875", 0) + bold("1:33:42") + " 3s/step - loss: 0.5000" + back(61) +
                head("1875/1875", 20) + bold("6s") + " 2ms/step - loss: 0.5000    \n");
}

TEST(ProgressBarTest, AClockThatStandsStill) {
  // Keras' clock starts far from 0, so its first update is always drawn; the second is the last one.
  EXPECT_EQ(output_of({.target = 2, .updates = {1, 2}}),
            head("1/2", 10) + bold("0s") + " 0s/step - loss: 0.5000" + back(50) + head("2/2", 20) +
                bold("0s") + " 0s/step - loss: 0.5000\n");
}

TEST(ProgressBarTest, WithoutATerminalThereIsOnePlainLine) {
  const std::string line = "3/3 - 2s - 500ms/step - loss: 0.5000\n";
  Scenario run{.target = 3, .updates = {1, 2, 3}, .seconds_each = 0.5, .display = ProgressDisplay::plain};
  EXPECT_EQ(output_of(run), line);
  run.display = ProgressDisplay::automatic;  // a string stream is no terminal
  EXPECT_EQ(output_of(run), line);
}

TEST(ProgressBarTest, TheLinePutsNegativeValuesInScientificNotationAsKerasDoes) {
  EXPECT_EQ(
      output_of({.target = 1, .updates = {1}, .seconds_each = 0.5, .values = {{"r", -5.0}}, .verbose = 2}),
      "1/1 - 0s - 500ms/step - r: -5.0000e+00\n");
}

TEST(ProgressBarTest, SilentWritesNothing) {
  EXPECT_EQ(output_of({.target = 2, .updates = {1, 2}, .seconds_each = 1, .verbose = 0}), "");
}

TEST(ProgressBarTest, TheTargetMayBecomeKnownAtTheEnd) {
  std::ostringstream stream;
  double time = 0;
  ProgressBar bar(
      {.display = ProgressDisplay::dynamic, .stream = &stream, .clock = [&time] { return time; }});
  time = 0.226;
  bar.update(1, kLoss, false);
  bar.set_target(3);
  time = 0.232;
  bar.update(3, kLoss, true);
  EXPECT_EQ(stream.str(), "\r      1/Unknown " + bold("0s") + " 226ms/step - loss: 0.5000" + back(44) +
                              head("3/3", 20) + bold("0s") + " 3ms/step - loss: 0.5000\n");
}

TEST(ProgressBarTest, StatelessValuesAreAveragedOverStepsAndTheLastOneIsShown) {
  std::ostringstream stream;
  double time = 0;
  ProgressBar bar({.target = 9,
                   .stateful_metrics = std::vector<std::string>{"lr"},
                   .display = ProgressDisplay::dynamic,
                   .stream = &stream,
                   .clock = [&time] { return time; }});
  time = 1;
  bar.update(1, {{"loss", 4.0}, {"lr", 4.0}});
  time = 2;
  bar.update(4, {{"loss", 2.0}, {"lr", 2.0}});
  EXPECT_NE(stream.str().find("loss: 2.5000 - lr: 2.0000"), std::string::npos) << stream.str();
  bar.update(9, {{"loss", 1.0}, {"lr", 1.0}});
  EXPECT_NE(stream.str().find("loss: 1.0000 - lr: 1.0000"), std::string::npos) << stream.str();
}

TEST(ProgressBarTest, WidthCountsCharactersNotBytes) {
  const std::string text =
      output_of({.target = 2, .updates = {1, 2}, .seconds_each = 1, .values = {{"größe", 1.0}}});
  EXPECT_NE(text.find(back(51) + "\r"), std::string::npos);
  EXPECT_EQ(text.find(back(52)), std::string::npos);
}

TEST(ProgressBarTest, IsDueTellsWhetherTheNextUpdateDraws) {
  std::ostringstream stream;
  double time = 0;
  const auto clock = [&time] { return time; };
  ProgressBar bar({.target = 9, .display = ProgressDisplay::dynamic, .stream = &stream, .clock = clock});
  EXPECT_TRUE(bar.is_due());
  bar.update(1, kLoss);
  time = 0.02;
  EXPECT_FALSE(bar.is_due());
  time = 0.06;
  EXPECT_TRUE(bar.is_due());
  ProgressBar plain({.target = 9, .display = ProgressDisplay::plain, .stream = &stream, .clock = clock});
  EXPECT_FALSE(plain.is_due());
}

TEST(ProgressBarTest, BadSettingsThrow) {
  const std::vector<std::string> names = {"loss"};
  EXPECT_THROW(ProgressBar({.stateful_metrics = names, .stateless_metrics = names}), InvalidArgumentError);
  EXPECT_THROW(ProgressBar({.verbose = 3}), InvalidArgumentError);
  EXPECT_THROW(ProgressBar({.width = -1}), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
