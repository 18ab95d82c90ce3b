// The numbers of TensorFlow's own tests of training under a strategy (case numbers in the tests' names), on
// every strategy. Where TensorFlow's number depends on the count of replicas because it averages or scales by
// 1/N, the rule that makes ours different stands at the test: losses are sums over rows divided by the count
// of the whole batch, and gradients of replicas are summed.
#include <map>
#include <mutex>

#include <nyala/tests/conformance/strategies/training_support.h>

namespace nyala {

namespace {

using ::testing::ElementsAre;

/// Counts the rows of each replica's batches.
struct Counting : ModelNode {
  Dense last = track("last", Dense(1));
  std::mutex mutex;
  std::map<int, std::vector<int64_t>> rows;
  Tensor call(Call& c, const Tensor& x) const override { return last(c, x); }
  Tensor compute_loss(ReplicaStep& step, const Batch& batch, const Tensors& predictions) override {
    {
      const std::lock_guard lock(mutex);
      rows[step.replica().id].push_back(step.rows());
    }
    return step.compiled_loss(batch, predictions);
  }
};

TEST(TrainingCases, Case17_SquaresAndTheirGradients) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Tensor x = Tensor::from(std::vector<float>{5, 6, 7, 8});
    std::vector<std::vector<float>> squares, slopes;
    for (const DistributedBatch& batch : strategy.distribute(Dataset::from_tensor_slices(x).batch(2))) {
      const std::vector<PerReplica<>> both = strategy.run(
          [](const Batch& part) {
            GradientTape tape;
            const Tensor watched = tape.watch(part.x[0]);
            const Tensor y = watched * watched;
            return Tensors{y, tape.gradient(y, watched)};
          },
          batch);
      squares.push_back(numbers(strategy.gather(both[0])));
      slopes.push_back(numbers(strategy.gather(both[1])));
    }
    EXPECT_THAT(squares, ElementsAre(ElementsAre(25, 36), ElementsAre(49, 64)));
    EXPECT_THAT(slopes, ElementsAre(ElementsAre(10, 12), ElementsAre(14, 16)));
  });
}

// One splitting rule for all sources: the last 4 rows go to the replicas in pieces of equal size.
TEST(TrainingCases, Case20_StepsAndRowsOfFitOnArrays) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Model model = strategy.scope([] { return make_model<Counting>(); });
    model.compile({.optimizer = "sgd", .loss = "mse"});
    model.fit(wave({100, 2}, 0.3), wave({100, 1}, 0.7), {.batch_size = 16, .verbose = 0});
    auto& rows = static_cast<Counting&>(model.model_node()).rows;
    const std::vector<std::vector<int64_t>> whole{{16}, {8, 8}, {6, 5, 5}, {4, 4, 4, 4}},
        last{{4}, {2, 2}, {2, 1, 1}, {1, 1, 1, 1}};
    ASSERT_EQ(rows.size(), static_cast<size_t>(place.replicas));
    for (int id = 0; id < place.replicas; ++id) {
      const size_t n = static_cast<size_t>(place.replicas) - 1, r = static_cast<size_t>(id);
      std::vector<int64_t> expected(6, whole[n][r]);
      expected.push_back(last[n][r]);
      EXPECT_EQ(rows[id], expected) << "replica " << id;
    }
  });
}

// Gradients of replicas are summed: replica id brings id + 1.
TEST(TrainingCases, Case21_AggregatedGradients) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable v = made(strategy, Tensor{0.0f, 0.0f});
    const SGD sgd(0.1);
    strategy.run([&](Replica& replica) {
      const float own = static_cast<float>(replica.id + 1);
      sgd.apply_gradients({here(replica, {own, own})}, {v});
    });
    const float sum = static_cast<float>(place.replicas * (place.replicas + 1)) / 2;
    expect_copies(v, {-0.1f * sum, -0.1f * sum});
    if (place.replicas == 2) expect_copies(v, {-0.3f, -0.3f});
  });
}

// What TensorFlow calls un-aggregated is a write to the replica's own copy here.
TEST(TrainingCases, Case21_OneCopyAlone) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    if (!place.separate) return;
    const Variable v = strategy.scope([] { return Variable({0.0f, 0.0f}, {.trainable = false}); });
    strategy.run([&](Replica& replica) {
      const float own = 0.1f * static_cast<float>(replica.id + 1);
      v.assign_sub(here(replica, {own, own}));
    });
    for (size_t copy = 0; copy < v.num_copies(); ++copy) {
      const float expected = -0.1f * static_cast<float>(copy + 1);
      expect_numbers(v.value(copy), {expected, expected});
    }
  });
}

TEST(TrainingCases, Case22_ConstantGradients) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable kernel = made(strategy, Tensor::full({10, 1}, 1.0)), bias = made(strategy, Tensor{1.0f});
    const SGD sgd(0.25);
    strategy.run([&](Replica&) {
      GradientTape tape;
      const Tensor loss = ops::sum(kernel.value()) + ops::sum(bias.value());
      sgd.apply_gradients(tape.gradient(loss, Variables{kernel, bias}), {kernel, bias});
    });
    const float expected = 1 - 0.25f * static_cast<float>(place.replicas);  // 0.5 for two
    expect_copies(kernel, std::vector<float>(10, expected));
    expect_copies(bias, {expected});
  });
}

TEST(TrainingCases, Case23_AdamOnCentralAndMirroredStorage) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable v = made(strategy, Tensor(2.0f));
    const Adam adam({.learning_rate = 0.01, .beta_1 = 0.2, .beta_2 = 0.2});
    const float gradient = 0.25f * static_cast<float>(place.replicas * (place.replicas + 1));
    const auto step = [&] {
      strategy.run([&](Replica& replica) {
        GradientTape tape;
        const Tensor loss = v.value() * (0.5 * (replica.id + 1));
        adam.apply_gradients(tape.gradient(loss, Variables{v}), {v});
      });
    };
    const auto slot = [&](const char* name) {
      for (const OptimizerVariable& variable : adam.node().variables_for_file())
        if (variable.name.find(name) != std::string::npos) return numbers(variable.value)[0];
      return std::nanf("");
    };
    step();
    expect_copies(v, {1.99f});
    EXPECT_FLOAT_EQ(slot("momentum"), 0.8f * gradient);             // 1.2 for two
    EXPECT_FLOAT_EQ(slot("velocity"), 0.8f * gradient * gradient);  // 1.8
    step();
    expect_copies(v, {1.98f});
    EXPECT_FLOAT_EQ(slot("momentum"), 0.96f * gradient);             // 1.44
    EXPECT_FLOAT_EQ(slot("velocity"), 0.96f * gradient * gradient);  // 2.16
  });
}

TEST(TrainingCases, Case24_EveryReplicaSeesBothRows) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    for (const bool mean : {false, true}) {
      const Variable w = made(strategy, Tensor(2.0f));
      const SGD sgd(0.001);
      strategy.run([&](Replica& replica) {
        GradientTape tape;
        const Tensor error = w.value() * here(replica, {2, 7}) - here(replica, {6, 21});
        Tensor loss = ops::sum(ops::square(error));
        if (mean) loss = loss / (2.0 * replica.num_replicas);
        sgd.apply_gradients(tape.gradient(loss, Variables{w}), {w});
      });
      expect_copies(w, {mean ? 2.053f : 2 + 0.106f * static_cast<float>(place.replicas)}, 2e-6f);
    }
  });
}

// A tensor that is the same object on all replicas counts once per replica, as any other: sums do not depend
// on who made it.
TEST(TrainingCases, Case25_MomentumAndSummedGradients) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    for (const bool one_object : {false, true}) {
      const Variable v = made(strategy, Tensor{1, 2, 3, 4});
      const SGD sgd({.learning_rate = 0.5, .momentum = 0.06});
      const Tensor shared{1, 6, 7, 2};
      strategy.run([&](Replica& replica) {
        sgd.apply_gradients({one_object ? shared.to(replica.device) : here(replica, {1, 6, 7, 2})}, {v});
      });
      const float n = 0.5f * static_cast<float>(place.replicas);
      expect_copies(v, {1 - n, 2 - 6 * n, 3 - 7 * n, 4 - 2 * n});
      if (place.replicas == 2) expect_copies(v, {0, -4, -4, 2});
    }
  });
}

TEST(TrainingCases, Case26_WeightDecayIsAppliedOnce) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const auto decayed = [&](const std::function<Optimizer()>& make) {
      const Variable v = made(strategy, Tensor(2.0f));
      const Variable excluded = strategy.scope([] { return Variable(2.0, {.name = "excluded"}); });
      for (int i = 0; i < 3; ++i) {
        const Optimizer optimizer = make();
        optimizer.node().exclude_from_weight_decay({"excluded"});
        strategy.run([&](Replica& replica) {
          const Tensor zero = Tensor::zeros({}, DType::float32, replica.device);
          optimizer.apply_gradients({zero, zero}, {v, excluded});
        });
      }
      expect_copies(v, {1.9760959f}, 1e-5f);
      expect_copies(excluded, {2.0f});
    };
    decayed([] { return SGD({.learning_rate = 1.0, .weight_decay = 0.004}); });
    decayed([] { return AdamW({.learning_rate = 1.0, .weight_decay = 0.004}); });
  });
}

class TwoWeights final : public LayerNode {
 public:
  std::string class_name() const override { return "TwoWeights"; }
  void build(Builder& b, const Shape&) override {
    first_ = b.weight("first", {}, "ones");
    second_ = b.weight("second", {}, "ones");
  }
  Tensor call(Call& c, const Tensor& x) const override { return x * (c[first_] * 3.0 - c[second_] * 3.0); }

 private:
  Variable first_, second_;
};

// Clipping comes after the reduction, so the numbers are those of one device everywhere (Keras 3 clips before
// and gives 4 and -2 for two replicas).
TEST(TrainingCases, Case27_ClippingComesAfterTheReduction) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const std::vector<std::pair<SGDConfig, std::vector<float>>> cases{
        {{.learning_rate = 1.0, .clipnorm = 2.0}, {3, -1}},
        {{.learning_rate = 1.0, .clipvalue = 2.0}, {3, -1}},
        {{.learning_rate = 1.0, .global_clipnorm = 2.0}, {2.4142135f, -0.4142135f}}};
    for (const auto& [config, expected] : cases) {
      const Model model = strategy.scope([] { return Sequential({Input({1}), make_layer<TwoWeights>()}); });
      model.compile({.optimizer = SGD(config), .loss = "mae"});
      model.fit(Tensor::full({5, 1}, 1.0), Tensor::full({5, 1}, 1.0), {.batch_size = 5, .verbose = 0});
      expect_copies(model.weights()[0], {expected[0]});
      expect_copies(model.weights()[1], {expected[1]});
    }
  });
}

// Manual reduction: the replicas meet, what they bring is reduced and changed there, and applied as the
// gradient of the whole batch.
TEST(TrainingCases, Case28_TransformedGradients) {
  at_every_place([](const Place&, const Strategy& strategy) {
    const Variable v = made(strategy, Tensor{1, -1});
    const SGD sgd(1.0);
    strategy.run([&](Replica& replica) {
      GradientTape tape;
      const Tensor loss = ops::sum(ops::square(v.value())) * 7.0;
      const Tensor gradient = tape.gradient(loss, v);
      replica.merge_call(
          [&](const Strategy& inside, const PerReplica<>& gradients) {
            const Tensor sum = inside.reduce(ReduceOp::sum, gradients);
            sgd.apply_gradients({ops::ones_like(sum)}, {v});
          },
          gradient);
    });
    expect_copies(v, {0, -2});
  });
}

TEST(TrainingCases, Case29_Accumulation) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable v = made(strategy, Tensor::from(std::vector<float>{1, 2, 3, 4}, {2, 2}));
    const SGD sgd({.learning_rate = 1.0, .gradient_accumulation_steps = 3});
    const float n = static_cast<float>(place.replicas);
    const auto accumulated = [&] {
      for (const OptimizerVariable& variable : sgd.node().variables_for_file())
        if (variable.name.find("accumul") != std::string::npos) return numbers(variable.value);
      return std::vector<float>();
    };
    for (int step = 1; step <= 3; ++step) {
      strategy.run([&](Replica& replica) {
        sgd.apply_gradients({ops::reshape(here(replica, {1, 1, 2, 2}), {2, 2})}, {v});
      });
      EXPECT_EQ(sgd.iterations(), step / 3);
      const float k = step == 3 ? 0.0f : static_cast<float>(step) * n;
      EXPECT_THAT(accumulated(), ElementsAre(k, k, 2 * k, 2 * k)) << "step " << step;
      if (step < 3) expect_copies(v, {1, 2, 3, 4});
    }
    expect_copies(v, {1 - n, 2 - n, 3 - 2 * n, 4 - 2 * n});
  });
}

TEST(TrainingCases, Case30_MovingAveragesThatOverwrite) {
  at_every_place([](const Place& place, const Strategy& strategy) {
    const Variable v = made(strategy, Tensor::from(std::vector<float>{3, 4, 5, 6}, {2, 2}));
    const SGD sgd({.learning_rate = 1.0, .use_ema = true, .ema_momentum = 0.9, .ema_overwrite_frequency = 3});
    const float n = static_cast<float>(place.replicas);
    std::vector<float> value{3, 4, 5, 6}, average(4);
    for (int step = 1; step <= 3; ++step) {
      strategy.run([&](Replica& replica) {
        sgd.apply_gradients({Tensor::full({2, 2}, 1.0, DType::float32, replica.device)}, {v});
      });
      for (size_t i = 0; i < 4; ++i) {
        value[i] -= n;
        average[i] = step == 1 ? value[i] : 0.9f * average[i] + 0.1f * value[i];
      }
      expect_copies(v, step == 3 ? average : value, 1e-5f);
    }
    if (place.replicas == 1) expect_copies(v, {1.71f, 2.71f, 3.71f, 4.71f}, 1e-5f);
    if (place.replicas == 2) expect_copies(v, {0.42f, 1.42f, 2.42f, 3.42f}, 1e-5f);
  });
}

struct Itself final : RegularizerNode {
  std::string class_name() const override { return "Itself"; }
  Tensor penalty(const Tensor& weight) const override { return ops::sum(weight); }
};

class Shift final : public LayerNode {
 public:
  std::string class_name() const override { return "Shift"; }
  void build(Builder& b, const Shape&) override {
    shift_ = b.weight("shift", {}, "zeros",
                      {.regularizer = Regularizer(std::make_shared<Itself>()), .constraint = {}});
  }
  Tensor call(Call& c, const Tensor& x) const override { return x + c[shift_]; }

 private:
  Variable shift_;
};

// A regularizer counts once per batch, whatever the number of replicas.
TEST(TrainingCases, Case31_RegularizersCountOnce) {
  at_every_place([](const Place&, const Strategy& strategy) {
    for (const double data_counts : {0.0, 1.0}) {
      const Model model = strategy.scope([] { return Sequential({Input({1}), make_layer<Shift>()}); });
      model.compile({.optimizer = SGD(1.0), .loss = [=](const Tensor&, const Tensor& y_pred) {
                       return ops::mean(y_pred, {-1}) * data_counts;
                     }});
      model.fit(Tensor::full({5, 1}, 1.0), Tensor::zeros({5, 1}), {.batch_size = 5, .verbose = 0});
      expect_copies(model.weights()[0], {data_counts == 0.0 ? -1.0f : -2.0f});
    }
  });
}

}  // namespace

}  // namespace nyala
