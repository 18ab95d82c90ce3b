// Exceptions of a user's own classes, thrown where replicas run: they arrive as they were thrown.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/nyala.h>
#include <nyala/tests/support/mirrored.h>

namespace nyala {

using namespace nyala::detail;

namespace {

using ::testing::HasSubstr;

struct Refused : std::exception {
  int code = 42;
  const char* what() const noexcept override { return "refused"; }
};
struct TooNarrow : ShapeError {
  TooNarrow() : ShapeError("too narrow") {}
  int width = 3;
};

/// Calls `fails` on the last replica.
void fail_on_the_last(const std::function<void()>& fails) {
  const ReplicaContext* const replica = thread_context().replica_context;
  if (!replica || replica->replica_id_in_sync_group() == replica->num_replicas_in_sync() - 1) fails();
}

struct Failing : LayerNode {
  explicit Failing(std::function<void()> body) : fails(std::move(body)) {}
  std::function<void()> fails;
  std::string class_name() const override { return "Failing"; }
  Tensor call(Call&, const Tensor& x) const override {
    if (!x.is_abstract()) fail_on_the_last(fails);
    return x;
  }
};

struct FailingStep : ModelNode {
  explicit FailingStep(std::function<void()> body) : fails(std::move(body)) {}
  std::function<void()> fails;
  Dense dense = track("dense", Dense(1));
  std::string class_name() const override { return "FailingStep"; }
  Tensor call(Call& c, const Tensor& x) const override { return dense(c, x); }
  void train_step(ReplicaStep& step, const Batch& batch) override {
    fail_on_the_last(fails);
    ModelNode::train_step(step, batch);
  }
};

class OwnErrors : public ::testing::TestWithParam<int> {
 protected:
  void SetUp() override { configure_logical_devices("cpu", 3); }
  void TearDown() override { configure_logical_devices("cpu", 1); }

  MirroredStrategy strategy() const {
    return mirrored(GetParam());
  }
  std::string place() const {
    const std::string last = std::to_string(GetParam() - 1);
    return GetParam() == 1 ? "" : "replica " + last + " on cpu:" + last + ": ";
  }
  void fit(const Model& model) const {
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(Tensor::zeros({6, 2}), Tensor::zeros({6, 1}), {.verbose = 0});
  }

  /// Everything that throws on the replicas' threads.
  std::vector<std::function<void(const std::function<void()>&)>> ways() const {
    return {
        [this](const auto& fails) {
          strategy().scope([&] { fit(Sequential({Input({2}), make_layer<Failing>(fails), Dense(1)})); });
        },
        [this](const auto& fails) { strategy().scope([&] { fit(make_model<FailingStep>(fails)); }); },
        [this](const auto& fails) { strategy().run([&](Replica&) { fail_on_the_last(fails); }); },
    };
  }
};

TEST_P(OwnErrors, AClassOfTheUsersArrivesAsItWasThrown) {
  for (const auto& way : ways()) {
    try {
      way([] { throw Refused(); });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const Refused& error) {
      EXPECT_EQ(error.code, 42);
      EXPECT_STREQ(error.what(), "refused");
      EXPECT_EQ(error_place(), place());
    }
    try {
      way([] { throw 7; });
      ADD_FAILURE() << "nothing was thrown";
    } catch (int thrown) {
      EXPECT_EQ(thrown, 7);
    }
  }
}

TEST_P(OwnErrors, AClassDerivedFromNyalasKeepsItsTypeAndSaysWhere) {
  for (const auto& way : ways()) {
    try {
      way([] { throw TooNarrow(); });
      ADD_FAILURE() << "nothing was thrown";
    } catch (const TooNarrow& error) {
      EXPECT_EQ(error.width, 3);
      EXPECT_THAT(error.what(), HasSubstr(place()));
      EXPECT_THAT(error.what(), HasSubstr("too narrow"));
      EXPECT_EQ(error_place(), "");
    }
  }
}

TEST_P(OwnErrors, MergeCallThrowsThemOnEveryReplica) {
  try {
    strategy().run([](Replica& replica) {
      replica.merge_call([](const Strategy&) { throw Refused(); });
    });
    ADD_FAILURE() << "nothing was thrown";
  } catch (const Refused& error) {
    EXPECT_EQ(error.code, 42);
  }
}

// From fit it is an OutOfMemoryError: memory_test.cpp.
TEST_P(OwnErrors, BadAllocComesOutOfRunAsItIs) {
  EXPECT_THROW(strategy().run([](Replica&) { fail_on_the_last([] { throw std::bad_alloc(); }); }),
               std::bad_alloc);
}

INSTANTIATE_TEST_SUITE_P(Devices, OwnErrors, ::testing::Values(1, 2, 3));

}  // namespace

}  // namespace nyala
