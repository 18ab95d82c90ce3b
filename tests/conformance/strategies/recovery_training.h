#pragma once

#include <stdlib.h>

#include <string>
#include <vector>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/killed_processes.h>
#include <nyala/tests/conformance/strategies/training_support.h>

/// What tests of recovery train.
namespace nyala::recovery {

constexpr int64_t kRows = 44, kBatch = 8, kBatches = 6;
constexpr int kEpochs = 3;

inline Tensor inputs() { return wave({kRows, 5}, 0.37); }

inline Tensor labels() { return three_classes(kRows); }

inline Model classifier() {
  Sequential model({Input({5}), Dense(6, {.activation = "tanh"}), BatchNormalization(), Dropout(0.25),
                    Dense(3, {.activation = "softmax"})});
  model.compile(
      {.optimizer = Adam(0.01), .loss = "sparse_categorical_crossentropy", .metrics = {"accuracy"}});
  return model;
}

/// The bits of all numbers that training gave.
inline std::string bits_of(const Model& model, const History& history) {
  std::string text;
  for (const Tensor& weight : model.get_weights())
    for (const float number : numbers(weight))
      text.append(reinterpret_cast<const char*>(&number), sizeof number);
  for (const auto& [name, values] : history) {
    text += name;
    for (const double value : values) text.append(reinterpret_cast<const char*>(&value), sizeof value);
  }
  return text;
}

/// Whether nobody is killed in this run of expect_no_bit_changes().
inline bool is_undisturbed() { return ::getenv("NYALA_TEST_UNDISTURBED") != nullptr; }

/// Runs the test's processes undisturbed, and then with as many of them killed and started again: all leave
/// the bits of the undisturbed first one.
inline void expect_no_bit_changes(int kills) {
  Job undisturbed, disturbed;
  ::setenv("NYALA_TEST_UNDISTURBED", "1", 1);
  undisturbed.run();
  ::unsetenv("NYALA_TEST_UNDISTURBED");
  disturbed.run();
  EXPECT_EQ(undisturbed.kills, 0);
  EXPECT_EQ(disturbed.kills, kills);
  for (int slot = 0; slot < 3; ++slot) {
    EXPECT_EQ(disturbed.ends[slot].code, 0) << slot << ": " << disturbed.ends[slot].output;
    EXPECT_FALSE(disturbed.finals[slot].empty());
    EXPECT_EQ(disturbed.finals[slot], undisturbed.finals[0]) << slot << ": " << disturbed.ends[slot].output;
  }
}

}  // namespace nyala::recovery
