#include <barrier>
#include <fstream>
#include <iterator>
#include <thread>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/in_process.h>
#include <nyala/tests/strategies/parameter_server/flaky_connection.h>
#include <nyala/tests/strategies/parameter_server/parameter_server_fixture.h>
#include <nyala/tests/strategies/plain_descent.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala::parameter_server_test {

namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string file_text(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

void write_file_text(const std::string& path, const std::string& text) {
  std::ofstream(path, std::ios::binary) << text;
}

/// "RATE" or "RATE STEPS": PlainDescent, which gathers over that many steps.
class DescentRule final : public ServerRule {
 public:
  explicit DescentRule(const std::string& text) : rate_(std::stod(text)) {
    if (const size_t space = text.find(' '); space != std::string::npos)
      steps_ = std::stoi(text.substr(space));
  }
  void build(ParameterStore&, const Variables& variables) override {
    rule_ = std::make_unique<PlainDescent>(variables, rate_, steps_);
    while (places_.size() < variables.size()) places_.push_back(static_cast<double>(places_.size()));
  }
  UpdateRule& rule_for(ParameterStore&, const Variables& active) override {
    if (active == rule_->variables()) return *rule_;
    part_ = std::make_unique<PlainDescent>(active, rate_, steps_);
    return *part_;
  }
  std::vector<std::pair<std::string, Tensor>> state() const override {
    std::vector<std::pair<std::string, Tensor>> state = {
        {"iteration", Tensor::scalar(int64_t{rule_ ? rule_->steps : 0})}};
    for (size_t i = 0; i < places_.size(); ++i)
      state.emplace_back("place of " + rule_->variables()[i].path(), Tensor::scalar(places_[i]));
    return state;
  }
  void load_state(const Tensors& values) override {
    rule_->steps = static_cast<int>(values.at(0).item());
    for (size_t i = 0; i < places_.size(); ++i) places_[i] = values.at(i + 1).item();
  }
  void set_learning_rate(double rate, size_t) override {
    rule_ = std::make_unique<PlainDescent>(Variables(rule_->variables()), rate, steps_);
  }

 private:
  double rate_;
  int steps_ = 1;
  std::unique_ptr<PlainDescent> rule_, part_;
  std::vector<double> places_;  // of each variable when the rule was made
};

ServerRuleReader read_descent() {
  return [](const std::string& text, const std::vector<std::string>&) {
    return std::make_unique<DescentRule>(text);
  };
}

/// One process' end: variables of a store of its own.
struct Process {
  explicit Process(const LocalCluster& cluster) : Process(cluster.parameters()) {}
  explicit Process(std::unique_ptr<detail::RemoteParameters> parameters)
      : store(ParameterStore::make({Device{}}, true)), remote(std::move(parameters)) {
    store->set_created([this](const Variable& made) { remote->created(made); });
  }
  Variable make(const std::string& name, double value, bool trainable = true, const Shape& shape = {2}) {
    VariableSpec spec{.name = name, .path = name, .shape = shape, .trainable = trainable};
    spec.initialize = [value](const Tensor& host) {
      host.copy_from(Tensor::full(host.shape(), value, host.dtype()));
    };
    return store->create(spec);
  }
  void push(const Variable& variable, double gradient, uint64_t id = 0) {
    store->gradient(0, variable).copy_from(Tensor::full(variable.shape(), gradient, variable.dtype()));
    remote->set_batch(id);
    remote->exchange(*store, {variable}, {variable});
  }

  std::shared_ptr<ParameterStore> store;
  std::unique_ptr<detail::RemoteParameters> remote;
};

TEST(ParameterServer, TheFirstValueHolds) {
  LocalCluster cluster(2, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("a", 1.0), b = one.make("b", 2.0);
  const Variable a2 = other.make("a", 5.0), b2 = other.make("b", 6.0);
  EXPECT_THAT(floats(a2.value()), ElementsAre(1.0f, 1.0f));
  EXPECT_THAT(floats(b2.value()), ElementsAre(2.0f, 2.0f));
  EXPECT_THAT(floats(a.value()), ElementsAre(1.0f, 1.0f));
}

TEST(ParameterServer, VariablesOfOneNameAreCounted) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("v", 1.0), b = one.make("v", 2.0);
  const Variable a2 = other.make("v", 0.0), b2 = other.make("v", 0.0);
  EXPECT_THAT(floats(a2.value()), ElementsAre(1.0f, 1.0f));
  EXPECT_THAT(floats(b2.value()), ElementsAre(2.0f, 2.0f));
}

TEST(ParameterServer, AnotherShapeIsAnError) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("kernel", 1.0);
  EXPECT_THAT(error_text<CommunicationError>([&] { other.make("kernel", 1.0, true, {3}); }),
              AllOf(HasSubstr("'kernel'"), HasSubstr("(2,)"), HasSubstr("(3,)")));
}

TEST(ParameterServer, AnExchangeAppliesGradientsAndBringsValues) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("a", 1.0), a2 = other.make("a", 1.0);
  one.remote->set_rule({.text = "0.5", .variables = {a}});
  one.push(a, 1.0);
  EXPECT_THAT(floats(a.value()), ElementsAre(0.5f, 0.5f));
  other.push(a2, 1.0);
  EXPECT_THAT(floats(a2.value()), ElementsAre(0.0f, 0.0f));
  EXPECT_THAT(floats(a.value()), ElementsAre(0.5f, 0.5f));  // stale
  one.remote->pull();
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
  EXPECT_THAT(one.remote->describe(), AllOf(HasSubstr("2 exchanges"), HasSubstr("0: 1"), HasSubstr("1: 1")));
}

TEST(ParameterServer, AnExchangeCountsOnce) {
  LocalCluster cluster(2, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("a", 1.0), a2 = other.make("a", 1.0);
  one.remote->set_rule({.text = "1", .variables = {a}});
  one.push(a, 1.0, 17);
  other.push(a2, 1.0, 17);  // the batch of a worker that was thought lost
  EXPECT_THAT(floats(a2.value()), ElementsAre(0.0f, 0.0f));
  other.push(a2, 1.0, 16);
  EXPECT_THAT(floats(a2.value()), ElementsAre(-1.0f, -1.0f));
  EXPECT_THAT(one.remote->describe(), HasSubstr("1 came a second time"));
}

TEST(ParameterServer, PartsOfAVariableLieOnServersInTurns) {
  LocalCluster cluster(3, read_descent());
  cluster.partitioner = FixedShardsPartitioner(4);
  Process one(cluster), other(cluster);
  const Variable table = one.make("table", 1.0, true, {10, 2}), scalar = one.make("scalar", 3.0, true, {});
  const Variable table2 = other.make("table", 0.0, true, {10, 2}),
                 scalar2 = other.make("scalar", 0.0, true, {});
  EXPECT_EQ(floats(table2.value()), std::vector<float>(20, 1.0f));
  EXPECT_EQ(scalar2.value().item(), 3.0);
  one.remote->set_rule({.text = "1", .variables = {table, scalar}});
  std::vector<float> gradient(20), expected(20);
  for (size_t i = 0; i < 20; ++i) gradient[i] = static_cast<float>(i), expected[i] = 1.0f - gradient[i];
  other.store->gradient(0, table2).copy_from(Tensor::from(gradient, Shape{10, 2}));
  other.store->gradient(0, scalar2).copy_from(Tensor::scalar(1.0f));
  other.remote->exchange(*other.store, {table2, scalar2}, {table2, scalar2});
  EXPECT_EQ(floats(table2.value()), expected);
  one.remote->pull();
  EXPECT_EQ(floats(table.value()), expected);
  EXPECT_EQ(scalar.value().item(), 2.0);
  EXPECT_THAT(one.remote->describe(), AllOf(HasSubstr("server 0: 2 variables of 40 bytes"),
                                            HasSubstr("server 1: 2 variables of 28 bytes"),
                                            HasSubstr("server 2: 1 variables of 16 bytes")));
}

TEST(ParameterServer, StateOfOtherDtypesIsRefusedWhereItChanges) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster);
  const Variable a = one.make("a", 0.0);
  const Variable flag = one.store->create(
      {.name = "flag", .path = "flag", .shape = {}, .dtype = DType::bool_, .trainable = false});
  one.remote->set_rule({.text = "1", .variables = {a}});
  one.push(a, 1.0);
  flag.assign(1.0);
  EXPECT_THAT(error_text<DTypeError>([&] { one.push(a, 1.0); }), HasSubstr("'flag'"));
}

TEST(ParameterServer, StateIsAddedTo) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("a", 0.0), mean = one.make("mean", 10.0, false);
  const Variable a2 = other.make("a", 0.0), mean2 = other.make("mean", 0.0, false);
  one.remote->set_rule({.text = "1", .variables = {a}});
  mean.assign(11.0);
  one.push(a, 0.0);
  mean2.assign(12.0);
  other.push(a2, 0.0);
  EXPECT_THAT(floats(mean2.value()), ElementsAre(13.0f, 13.0f));
  one.push(a, 0.0);
  EXPECT_THAT(floats(mean.value()), ElementsAre(13.0f, 13.0f));
}

TEST(ParameterServer, WhatTheProgramAssignsIsPublished) {
  LocalCluster cluster(2, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("a", 1.0), b = one.make("b", 1.0);
  const Variable a2 = other.make("a", 1.0), b2 = other.make("b", 1.0);
  b2.assign(7.0);
  other.remote->publish();
  a.assign(3.0);
  one.remote->publish();
  other.remote->pull();
  one.remote->pull();
  EXPECT_THAT(floats(a2.value()), ElementsAre(3.0f, 3.0f));
  EXPECT_THAT(floats(b.value()), ElementsAre(7.0f, 7.0f));
}

TEST(ParameterServer, GradientsAreGatheredOverExchanges) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster);
  const Variable a = one.make("a", 0.0);
  one.remote->set_rule({.text = "1 3", .variables = {a}});
  one.push(a, 1.0);
  one.push(a, 2.0);
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
  one.push(a, 4.0);
  EXPECT_THAT(floats(a.value()), ElementsAre(-7.0f, -7.0f));
}

TEST(ParameterServer, TheSameRuleKeepsItsState) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster);
  const Variable a = one.make("a", 0.0);
  one.remote->set_rule({.text = "1", .variables = {a}});
  one.push(a, 1.0);
  one.remote->set_rule({.text = "1", .variables = {a}});
  EXPECT_EQ(one.remote->rule_state().tensors.at("iteration").item(), 1.0);
  one.remote->set_rule({.text = "2", .variables = {a}});
  EXPECT_EQ(one.remote->rule_state().tensors.at("iteration").item(), 0.0);
  one.remote->load_rule_state(
      {{"iteration", Tensor::scalar(int64_t{9})}, {"place of a", Tensor::scalar(0.0)}});
  EXPECT_EQ(one.remote->rule_state().tensors.at("iteration").item(), 9.0);
}

TEST(ParameterServer, GradientsWithoutARuleAreRefused) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster);
  const Variable a = one.make("a", 1.0), b = one.make("b", 1.0);
  EXPECT_THAT(error_text<CommunicationError>([&] { one.push(a, 1.0); }),
              HasSubstr("nobody has said yet how gradients are applied"));
  one.remote->set_rule({.text = "1", .variables = {a}});
  EXPECT_THAT(error_text<CommunicationError>([&] { one.push(b, 1.0); }), HasSubstr("'b'"));
  EXPECT_THAT(floats(a.value()), ElementsAre(1.0f, 1.0f));
}

/// One server that may be lost.
struct RestartedServer {
  explicit RestartedServer(std::string snapshot_path) : path(std::move(snapshot_path)) { restart(); }
  void restart() { server->service = std::make_shared<detail::ParameterServer>(read_descent(), path); }
  std::unique_ptr<detail::RemoteParameters> parameters(std::chrono::milliseconds timeout) const {
    std::vector<std::unique_ptr<detail::ParameterConnection>> ways;
    ways.push_back(std::make_unique<FlakyConnection>(server));
    return std::make_unique<detail::RemoteParameters>(std::move(ways),
                                                      detail::RemoteParameters::Options{timeout, {}});
  }

  std::string path;
  std::shared_ptr<FlakyServer> server = std::make_shared<FlakyServer>();
};

TEST(ParameterServer, AnExchangeWhoseAnswerIsLostIsNotAppliedTwice) {
  RestartedServer server("");
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable a = one.make("a", 1.0), mean = one.make("mean", 5.0, false);
  one.remote->set_rule({.text = "1", .variables = {a}});
  mean.assign(6.0);
  server.server->answers_lost = 2;
  one.push(a, 1.0);
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
  EXPECT_THAT(floats(mean.value()), ElementsAre(6.0f, 6.0f));
  EXPECT_THAT(one.remote->describe(), HasSubstr("2 came a second time"));
}

TEST(ParameterServer, OneThatStaysAwayIsAnError) {
  RestartedServer server("");
  Process one(server.parameters(std::chrono::milliseconds(250)));
  const Variable a = one.make("a", 1.0);
  server.server->service = nullptr;
  EXPECT_THROW(one.remote->pull(), PeerLostError);
}

TEST(ParameterServer, OneThatIsStartedAgainGoesOnFromItsSnapshot) {
  const ScratchFolder folder;
  RestartedServer server(folder.file("ps-0.snapshot"));
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable a = one.make("a", 1.0), mean = one.make("mean", 5.0, false);
  one.remote->set_rule({.text = "1", .variables = {a}});
  EXPECT_TRUE(one.remote->restarts().empty());
  one.push(a, 1.0, 1);
  EXPECT_EQ(one.remote->snapshot(77), detail::SnapshotState::written);
  one.push(a, 1.0, 2);
  EXPECT_THAT(floats(a.value()), ElementsAre(-1.0f, -1.0f));
  server.restart();
  EXPECT_THAT(one.remote->restarts(), ElementsAre(77u));
  EXPECT_TRUE(one.remote->restarts().empty());
  one.remote->pull();
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
  EXPECT_THAT(floats(mean.value()), ElementsAre(5.0f, 5.0f));
  EXPECT_EQ(one.remote->rule_state().tensors.at("iteration").item(), 1.0);
  one.push(a, 1.0, 1);  // is in the snapshot
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
  one.push(a, 1.0, 2);
  EXPECT_THAT(floats(a.value()), ElementsAre(-1.0f, -1.0f));
}

/// A server that keeps snapshots, and a process of each of two jobs.
struct TwoChiefs {
  TwoChiefs() {
    first.remote->set_job(10);
    second.remote->set_job(20);
  }
  const ScratchFolder folder;
  RestartedServer server{folder.file("ps-0.snapshot")};
  Process first{server.parameters(std::chrono::seconds(10))},
      second{server.parameters(std::chrono::seconds(10))};
};

TEST(ParameterServer, AnotherChiefBeginsAnew) {
  TwoChiefs chiefs;
  auto& [folder, server, first, second] = chiefs;
  const Variable a = first.make("a", 1.0);
  first.remote->set_rule({.text = "1", .variables = {a}});
  first.push(a, 1.0, 1);
  EXPECT_EQ(first.remote->snapshot(1), detail::SnapshotState::written);
  server.restart();
  first.push(a, 1.0, 1);  // is in the snapshot
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
  const Variable b = second.make("a", 5.0);
  EXPECT_THAT(floats(b.value()), ElementsAre(5.0f, 5.0f));
  EXPECT_THAT(error_text<CommunicationError>([&] { first.push(a, 1.0, 2); }), HasSubstr("another chief"));
  second.remote->set_rule({.text = "2", .variables = {b}}, true);
  second.push(b, 1.0, 1);  // another one than the first chief's
  EXPECT_THAT(floats(b.value()), ElementsAre(3.0f, 3.0f));
  EXPECT_EQ(second.remote->rule_state().tensors.at("iteration").item(), 1.0);
}

// What the second chief gave it is nowhere.
TEST(ParameterServer, ASnapshotOfAnotherChiefsIsNone) {
  TwoChiefs chiefs;
  auto& [folder, server, first, second] = chiefs;
  first.make("a", 1.0);
  first.remote->restarts();
  EXPECT_EQ(first.remote->snapshot(5), detail::SnapshotState::written);
  second.make("a", 1.0);
  EXPECT_TRUE(second.remote->restarts().empty());
  server.restart();
  EXPECT_THAT(error_text<CommunicationError>([&] { second.remote->restarts(); }), HasSubstr("no snapshot"));
  EXPECT_THAT(error_text<CommunicationError>([&] { second.remote->restore(5); }), HasSubstr("no snapshot"));
}

// More servers than variables: those without any count no updates.
TEST(ParameterServer, UpdatesAreThoseOfTheServerThatCountsMost) {
  LocalCluster cluster(3, read_descent());
  Process one(cluster);
  const Variable a = one.make("a", 0.0), b = one.make("b", 0.0);
  one.remote->set_rule({.text = "1", .variables = {a, b}});
  one.push(a, 1.0);
  one.push(a, 1.0);
  EXPECT_EQ(one.remote->rule_state().text, "1");
  EXPECT_EQ(one.remote->rule_state().tensors.at("iteration").item(), 2.0);
}

TEST(ParameterServer, OneThatWentBackGoesOnFromThereWhenItIsStartedAgain) {
  const ScratchFolder folder;
  RestartedServer server(folder.file("ps-0.snapshot"));
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable a = one.make("a", 1.0);
  one.remote->set_rule({.text = "1", .variables = {a}});
  one.remote->restarts();
  one.remote->snapshot(1);
  one.push(a, 1.0, 1);
  one.remote->snapshot(2);
  one.remote->restore(1);
  server.restart();
  EXPECT_THAT(one.remote->restarts(), ElementsAre(1u));
  one.remote->pull();
  EXPECT_THAT(floats(a.value()), ElementsAre(1.0f, 1.0f));
}

TEST(ParameterServer, BeforeItsEndItKeepsWhatItHas) {
  const ScratchFolder folder;
  RestartedServer server(folder.file("ps-0.snapshot"));
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable a = one.make("a", 1.0);
  one.remote->restarts();
  one.remote->snapshot(5);
  one.remote->set_rule({.text = "1", .variables = {a}});
  one.push(a, 1.0, 1);
  static_cast<detail::ParameterServer&>(*server.server->service).keep();
  server.restart();
  EXPECT_THAT(one.remote->restarts(), ElementsAre(5u));
  one.push(a, 1.0, 1);  // it has that, and the rule
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
}

TEST(ParameterServer, ARuleThatWasSetAfterTheSnapshotIsKept) {
  const ScratchFolder folder;
  RestartedServer server(folder.file("ps-0.snapshot"));
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable a = one.make("a", 1.0);
  one.remote->restarts();
  one.remote->snapshot(0);
  one.remote->set_rule({.text = "1", .variables = {a}});
  server.restart();
  EXPECT_THAT(one.remote->restarts(), ElementsAre(0u));
  one.push(a, 1.0, 1);
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
}

TEST(ParameterServer, PartsOfAStepAreUndoneWhereItIsBegunAgain) {
  LocalCluster cluster(2, read_descent());
  Process one(cluster), other(cluster);
  const Variable a = one.make("a", 1.0), b = one.make("b", 2.0);
  const Variable a2 = other.make("a", 1.0), b2 = other.make("b", 2.0);
  one.remote->set_rule({.text = "1", .variables = {a}});
  one.remote->set_rule({.text = "2", .variables = {b}, .name = "net.second"});
  one.remote->restarts();
  std::barrier meeting(2);
  const auto work = [&](Process& process, const Variables& own, int piece, int64_t attempt, int parts) {
    process.remote->set_piece({.id = 1, .attempt = attempt, .piece = piece, .pieces = 2},
                              [&] { meeting.arrive_and_wait(); });
    process.remote->pull();
    for (int part = 0; part < parts; ++part) {
      process.remote->use_rule(part % 2 == 0 ? "" : "net.second");
      process.push(own[static_cast<size_t>(part % 2)], 1.0 + piece);
    }
    process.remote->set_piece({});
  };
  const auto work_together = [&](int64_t attempt, int parts) {
    std::jthread second(work, std::ref(other), Variables{a2, b2}, 1, attempt, parts);
    work(one, {a, b}, 0, attempt, parts);
  };
  work_together(0, 2);
  EXPECT_THAT(floats(a.value()), ElementsAre(-2.0f, -2.0f));
  EXPECT_THAT(floats(b2.value()), ElementsAre(-4.0f, -4.0f));
  work_together(1, 3);
  EXPECT_THAT(floats(a2.value()), ElementsAre(-5.0f, -5.0f));
  EXPECT_THAT(floats(b.value()), ElementsAre(-4.0f, -4.0f));
  EXPECT_TRUE(one.remote->commit({.id = 1, .attempt = 1, .pieces = 2}));
  other.remote->set_piece({.id = 2, .pieces = 1}, [] {});
  other.remote->pull();
  EXPECT_THAT(floats(a2.value()), ElementsAre(-5.0f, -5.0f));
  EXPECT_EQ(one.remote->rule_state().tensors.at("iteration").item(), 2.0);
  EXPECT_EQ(one.remote->rule_state("net.second").tensors.at("iteration").item(), 1.0);
  EXPECT_EQ(one.remote->rule_state("net.second").variables, Variables{b});
}

TEST(ParameterServer, ASnapshotThatCannotBeWrittenLeavesTheOneBefore) {
  const ScratchFolder folder;
  const std::string path = folder.file("ps-0.snapshot");
  RestartedServer server(path);
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable a = one.make("a", 1.0);
  one.remote->restarts();
  EXPECT_EQ(one.remote->snapshot(1), detail::SnapshotState::written);
  std::filesystem::create_directory(path + ".next");
  EXPECT_EQ(one.remote->snapshot(2), detail::SnapshotState::failed);
  server.restart();
  EXPECT_THAT(one.remote->restarts(), ElementsAre(1u));
}

TEST(ParameterServer, ACancelledJobIsKnownToWhoWaitsForAServer) {
  RestartedServer server("");
  Process one(server.parameters(std::chrono::hours(1)));
  const Variable a = one.make("a", 1.0);
  server.server->service = nullptr;
  std::thread cancels([&] {
    std::this_thread::sleep_for(std::chrono::milliseconds(50));
    one.remote->cancel();
  });
  EXPECT_THAT(error_text<PeerLostError>([&] { one.remote->pull(); }), HasSubstr("the chief is gone"));
  cancels.join();
}

TEST(ParameterServer, ASnapshotKeepsTheOrderOfTheRulesVariables) {
  const ScratchFolder folder;
  RestartedServer server(folder.file("ps-0.snapshot"));
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable b = one.make("b", 1.0), a = one.make("a", 1.0);
  one.remote->set_rule({.text = "1", .variables = {b, a}});
  one.remote->snapshot(1);
  server.restart();
  EXPECT_EQ(one.remote->rule_state().tensors.at("place of b").item(), 0.0);
  EXPECT_EQ(one.remote->rule_state().tensors.at("place of a").item(), 1.0);
}

TEST(ParameterServer, OneThatHasLostItsVariablesIsAnError) {
  RestartedServer server("");
  Process one(server.parameters(std::chrono::seconds(10)));
  const Variable a = one.make("a", 1.0);
  EXPECT_TRUE(one.remote->restarts().empty());
  EXPECT_EQ(one.remote->snapshot(1), detail::SnapshotState::none);
  server.restart();
  EXPECT_THAT(error_text<CommunicationError>([&] { one.remote->restarts(); }), HasSubstr("no snapshot"));
}

TEST(ParameterServer, ADamagedSnapshotIsRefused) {
  const ScratchFolder folder;
  const std::string path = folder.file("ps-0.snapshot");
  {
    RestartedServer server(path);
    Process one(server.parameters(std::chrono::seconds(10)));
    const Variable a = one.make("a", 1.0);
    one.remote->set_rule({.text = "1", .variables = {a}});
    one.push(a, 1.0);
    one.remote->snapshot(3);
  }
  const std::string whole = file_text(path);
  EXPECT_NO_THROW(detail::ParameterServer(read_descent(), path));
  for (size_t at = 0; at < whole.size(); ++at) {
    std::string damaged = whole;
    damaged[at] = static_cast<char>(damaged[at] ^ 0x10);
    write_file_text(path, damaged);
    EXPECT_THAT(error_text<FileFormatError>([&] { detail::ParameterServer(read_descent(), path); }),
                HasSubstr("ps-0.snapshot"))
        << at;
    write_file_text(path, whole.substr(0, at));
    EXPECT_THROW(detail::ParameterServer(read_descent(), path), FileFormatError) << at;
  }
}

TEST(ParameterServer, VariablesThatAreGoneAreForgotten) {
  LocalCluster cluster(1, read_descent());
  Process one(cluster);
  const Variable a = one.make("a", 1.0);
  { const Variable gone = one.make("b", 1.0); }
  one.remote->set_rule({.text = "1", .variables = {a}});
  one.push(a, 1.0);
  one.remote->pull();
  EXPECT_THAT(floats(a.value()), ElementsAre(0.0f, 0.0f));
}

}  // namespace

}  // namespace nyala::parameter_server_test
