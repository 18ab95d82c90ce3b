// Metrics that a loop of a program's own updates in several processes, as often as each likes.
#include <gmock/gmock.h>

#include <nyala/nyala.h>
#include <nyala/tests/conformance/strategies/over_processes.h>
#include <nyala/tests/conformance/strategies/training_support.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::metrics_over_processes_test {

namespace {

using ::testing::HasSubstr;

using MetricsOverProcesses = OverProcesses;

/// Process r brings r batches, the first one none.
template <class Update>
void update_unevenly(const MultiWorkerMirroredStrategy& several, Update&& update) {
  for (int i = 0; i < several.rank(); ++i) several.run([&](Replica& replica) { update(replica.id, i); });
}

Tensor predictions(int id, int i) { return wave({4, 3}, 0.3 + 0.1 * id + 0.05 * i); }
Tensor classes(int id, int i) { return Tensor::from(std::vector<int64_t>{id % 3, i % 3, 1, 2}); }

/// What one process makes of the rows of all.
template <class Update>
void for_all_rows(const MultiWorkerMirroredStrategy& several, Update&& update) {
  const int of_each = several.num_local_replicas();
  for (int rank = 0; rank < several.num_processes(); ++rank)
    for (int i = 0; i < rank; ++i)
      for (int id = rank * of_each; id < (rank + 1) * of_each; ++id) update(id, i);
}

TEST_P(MetricsOverProcesses, MetricsAreThoseOfAllRowsHoweverOftenAProcessUpdatesThem) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const auto expect_alike = [&](const auto& make, const auto& update) {
      const Metric together = in_scope(several, make), alone = make();
      for (int epoch = 0; epoch < 2; ++epoch) {
        EXPECT_EQ(together.result(), alone.result());  // nobody has seen a row
        update_unevenly(several, [&](int id, int i) { update(together, id, i); });
        for_all_rows(several, [&](int id, int i) { update(alone, id, i); });
        EXPECT_NEAR(together.result(), alone.result(), 1e-6);
        EXPECT_NEAR(together.result(), alone.result(), 1e-6);
        together.reset_state();
        alone.reset_state();
      }
    };
    const auto by_class = [](const Metric& metric, int id, int i) {
      metric.update_state(classes(id, i), predictions(id, i));
    };
    expect_alike([] { return Metric("accuracy"); }, by_class);
    expect_alike([] { return Metric(metrics::SparseCategoricalCrossentropy({.from_logits = true})); },
                 by_class);
    expect_alike([] { return Metric(metrics::Mean({.name = "loss"})); },
                 [](const Metric& metric, int id, int i) { metric.update_state(predictions(id, i)); });
    expect_alike([] { return Metric(metrics::AUC()); },
                 [](const Metric& metric, int id, int i) {
                   metric.update_state(ops::cast(ops::greater(predictions(i, id), 0.0), DType::float32),
                                       ops::abs(predictions(id, i)));
                 });
  });
}

TEST_P(MetricsOverProcesses, AMetricIsReadTogetherWithItself) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const auto scope = several.scope();
    const metrics::Mean first({.name = "loss"}), second({.name = "loss"});
    several.run([&] {
      first.update_state(Tensor({1.0f}));
      second.update_state(Tensor({2.0f}));
    });
    const std::string text =
        error_text<CommunicationError>([&] { (several.is_chief() ? first : second).result(); });
    EXPECT_THAT(text, HasSubstr("of (Mean 1)"));
    EXPECT_THAT(text, HasSubstr("of (Mean 2)"));
  });
}

TEST_P(MetricsOverProcesses, AnExtraReadIsNotTakenForALaterOne) {
  in_processes([] {
    const MultiWorkerMirroredStrategy several = strategy();
    const auto scope = several.scope();
    const metrics::Mean loss({.name = "loss"});
    const auto epoch = [&] { several.run([&] { loss.update_state(Tensor({1.0f})); }); };
    epoch();
    EXPECT_EQ(loss.result(), 1.0);
    const std::string text = error_text<CommunicationError>([&] {
      if (several.is_chief()) (void)loss.result();
      loss.reset_state();
      epoch();
      (void)loss.result();
    });
    EXPECT_THAT(text, HasSubstr("result() 2 after reset 0"));
    EXPECT_THAT(text, HasSubstr("result() 1 after reset 1"));
  });
}

INSTANTIATE_TEST_SUITE_P(All, MetricsOverProcesses,
                         ::testing::Values(Layout{2, 1}, Layout{3, 1}, Layout{2, 2}),
                         [](const auto& instance) { return instance.param.name(); });

}  // namespace

}  // namespace nyala::metrics_over_processes_test
