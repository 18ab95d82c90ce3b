// Tables of a server as its callers see them: what a call asks for is checked before anything is changed.
#include <cstring>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/parameter_server/parameter_server.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::row_tables_test {

namespace {

using detail::ParameterCallKind;
using detail::ParameterEntry;
using detail::ParameterRequest;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// w -= g; while it is idle a row that was touched grows by one in each update, whose number counts `rate`.
class GrowingRows final : public RowRule {
 public:
  size_t num_slots() const override { return 1; }
  double slot_initial(size_t) const override { return 0.0; }
  Idle idle() const override { return Idle::moves_once_touched; }
  void update(int64_t, double rate, const RowBlock& rows) const override {
    for (int64_t i = 0; i < rows.value.num_elements(); ++i)
      rows.value.raw_as<float>()[i] += static_cast<float>(rate) - rows.gradient.raw_as<float>()[i];
  }
};

class GrowingRule final : public ServerRule {
 public:
  void build(ParameterStore&, const Variables&) override {}
  UpdateRule& rule_for(ParameterStore&, const Variables&) override { throw StateError("no variables"); }
  std::vector<std::pair<std::string, Tensor>> state() const override { return {}; }
  void load_state(const Tensors&) override {}
  void set_learning_rate(double, size_t) override {}
  std::unique_ptr<RowRule> for_rows(const std::string&) const override {
    return std::make_unique<GrowingRows>();
  }
};

/// A server with one part of a table: rows 2 to 5 of 7, two columns, row r begins with r, r.
class RowTables : public ::testing::Test {
 protected:
  RowTables() {
    ParameterRequest request{.kind = ParameterCallKind::create_table, .seen = 2};
    request.entries = {{.name = "table", .shape = {4, 2}}, {.name = "table", .shape = {7, 2}}};
    call(request);
    call({.kind = ParameterCallKind::set_rule, .text = "grow", .entries = {rows(0)}});
    call({.kind = ParameterCallKind::set_step, .id = 0, .number = 1.0});
  }
  static ParameterEntry rows(int64_t count) { return {.name = "table", .shape = {4, 2}, .rows = count}; }

  std::vector<float> call(const ParameterRequest& request, const std::vector<int64_t>& ids = {},
                          const std::vector<float>& values = {}) {
    std::vector<std::byte> sent(ids.size() * sizeof(int64_t) + values.size() * sizeof(float));
    if (!ids.empty()) std::memcpy(sent.data(), ids.data(), ids.size() * sizeof(int64_t));
    if (!values.empty())
      std::memcpy(sent.data() + ids.size() * sizeof(int64_t), values.data(), values.size() * sizeof(float));
    std::vector<float> got;
    const auto place = [&](const std::string&, uint64_t bytes) {
      got.resize(bytes / sizeof(float));
      return detail::ReceivedBytes{std::as_writable_bytes(std::span(got))};
    };
    way_->start(encode(request), {sent}, place, std::chrono::seconds(10))->wait();
    return got;
  }
  std::vector<float> pull(const std::vector<int64_t>& ids) {
    return call({.kind = ParameterCallKind::pull_rows, .entries = {rows(std::ssize(ids))}}, ids);
  }
  void push(uint64_t id, const std::vector<int64_t>& ids, const std::vector<float>& values) {
    call({.kind = ParameterCallKind::exchange, .process = 1, .id = id, .entries = {rows(std::ssize(ids))}},
         ids, values);
  }

  static RowFillerReader counting() {
    return [](const std::string&, uint64_t, const Shape&) -> RowFiller {
      return [next = 0](const Tensor& rows) mutable {
        for (int64_t i = 0; i < rows.num_elements(); ++i)
          rows.raw_as<float>()[i] = static_cast<float>(next + i / 2);
        next += static_cast<int>(rows.shape()[0]);
      };
    };
  }
  std::shared_ptr<detail::ParameterServer> server_ = std::make_shared<detail::ParameterServer>(
      [](const std::string&, const std::vector<std::string>&) { return std::make_unique<GrowingRule>(); }, "",
      counting());
  std::unique_ptr<detail::ParameterConnection> way_ = detail::connect_locally(server_);
};

TEST_F(RowTables, FirstValuesAreThoseOfTheirPlaceInTheWhole) {
  EXPECT_THAT(pull({0, 3}), ElementsAre(2.0f, 2.0f, 5.0f, 5.0f));
}

TEST_F(RowTables, RowsAreBroughtUpToDateWhenTheyAreRead) {
  push(1, {1}, {3.0f, 3.0f});
  EXPECT_THAT(pull({1}), ElementsAre(1.0f, 1.0f));
  push(2, {0}, {0.0f, 0.0f});
  push(3, {}, {});
  EXPECT_THAT(pull({0, 1, 2}), ElementsAre(4.0f, 4.0f, 3.0f, 3.0f, 4.0f, 4.0f));
  push(4, {1}, {1.0f, 1.0f});
  EXPECT_THAT(pull({1}), ElementsAre(3.0f, 3.0f));
}

TEST_F(RowTables, APushThatComesAgainIsNotAppliedAgain) {
  push(1, {2}, {1.0f, 2.0f});
  const std::vector<float> once = pull({2});
  push(1, {2}, {1.0f, 2.0f});
  EXPECT_EQ(pull({2}), once);
}

TEST_F(RowTables, UpdatesThatWereMissedHaveTheirOwnRates) {
  push(1, {0}, {0.0f, 0.0f});
  call({.kind = ParameterCallKind::set_rate, .number = 10.0});
  push(2, {}, {});
  EXPECT_THAT(pull({0}), ElementsAre(13.0f, 13.0f));
}

TEST_F(RowTables, WhatItDoesNotHaveIsRefusedAndChangesNothing) {
  const std::vector<float> before = pull({0, 1, 2, 3});
  for (const int64_t id : {int64_t{-1}, int64_t{4}, int64_t{1} << 62}) {
    EXPECT_THAT(error_text<CommunicationError>([&] { pull({id}); }), HasSubstr("has 4 rows here"));
    EXPECT_THAT(error_text<CommunicationError>([&] { push(9, {0, id}, {1, 1, 1, 1}); }), HasSubstr("4 rows"));
  }
  EXPECT_THROW(pull({0, 1, 2, 3, 0}), CommunicationError);  // more than there are
  ParameterRequest as_variable{.kind = ParameterCallKind::create, .entries = {rows(1)}};
  EXPECT_THROW(call(as_variable, {0}, {1, 1}), CommunicationError);
  ParameterRequest whole{.kind = ParameterCallKind::pull_rows,
                         .entries = {{.name = "table", .shape = {4, 2}}}};
  EXPECT_THROW(call(whole), CommunicationError);
  ParameterRequest other{.kind = ParameterCallKind::pull_rows,
                         .entries = {{.name = "table", .shape = {4, 3}, .rows = 1}}};
  EXPECT_THAT(error_text<CommunicationError>([&] { call(other, {0}); }), HasSubstr("(4, 2)"));
  EXPECT_EQ(pull({0, 1, 2, 3}), before);
}

}  // namespace

}  // namespace nyala::row_tables_test
