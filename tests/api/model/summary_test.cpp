// Tables of the real Keras are compared in tests/golden; here is what they do not show.
#include <cstdlib>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

using ::testing::HasSubstr;
using ::testing::Not;

struct Sub : ModelNode {
  Dense d1 = track("d1", Dense(3, {.name = "d1"}));
  Dense d2 = track("d2", Dense(1, {.name = "d2"}));
  Tensor call(Call& c, const Tensor& x) const override { return d2(c, d1(c, x)); }
};

class SummaryTest : public ::testing::Test {
 protected:
  void SetUp() override {
    clear_session();
    setenv("COLUMNS", "80", 1);
  }
  void TearDown() override { unsetenv("COLUMNS"); }
};

/// Names come from files, and a terminal obeys escape sequences.
TEST_F(SummaryTest, ControlCharactersOfNamesAreWritten) {
  Sequential net({Input({2}), Dense(1, {.name = "a\x1b[2Jb"})});
  net.node().set_name("m\x1b[31m");
  const std::string text = net.summary_text();
  EXPECT_THAT(text, HasSubstr("Model: \"m\\x1b[31m\""));
  EXPECT_THAT(text, HasSubstr("a\\x1b[2Jb"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST_F(SummaryTest, OfASubclassBeforeAndAfterItsFirstCall) {
  const auto net = make_model<Sub>();
  net.node().set_name("sub");
  EXPECT_EQ(net.summary_text(), R"(Model: "sub"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ d1 (Dense)                      │ ?                      │   0 (unbuilt) │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ d2 (Dense)                      │ ?                      │   0 (unbuilt) │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 0 (0.00 B)
 Trainable params: 0 (0.00 B)
 Non-trainable params: 0 (0.00 B)
)");
  net(Tensor::zeros({2, 4}));
  EXPECT_EQ(net.summary_text(), R"(Model: "sub"
┏━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━━━━━━━━━━┳━━━━━━━━━━━━━━━┓
┃ Layer (type)                    ┃ Output Shape           ┃       Param # ┃
┡━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━━━━━━━━━━╇━━━━━━━━━━━━━━━┩
│ d1 (Dense)                      │ (2, 3)                 │            15 │
├─────────────────────────────────┼────────────────────────┼───────────────┤
│ d2 (Dense)                      │ (2, 1)                 │             4 │
└─────────────────────────────────┴────────────────────────┴───────────────┘
 Total params: 19 (76.00 B)
 Trainable params: 19 (76.00 B)
 Non-trainable params: 0 (0.00 B)
)");
}

TEST_F(SummaryTest, PrintFnTakesTheWholeTextAtOnce) {
  const Sequential net({Input({4}), Dense(2)});
  std::vector<std::string> calls;
  net.summary({.print_fn = [&](const std::string& text) { calls.push_back(text); }});
  ASSERT_EQ(calls.size(), 1u);
  EXPECT_EQ(calls[0], net.summary_text());
  EXPECT_THAT(calls[0], Not(HasSubstr("\x1b")));
}

TEST_F(SummaryTest, ALineThatIsTooShortIsAnError) {
  const Sequential net({Input({4}), Dense(2)});
  EXPECT_THROW(net.summary_text({.line_length = 5}), InvalidArgumentError);
}

TEST_F(SummaryTest, SizesCountTheDtype) {
  const Sequential net({Input({4}, {.dtype = "float64"}), Dense(2, {.dtype = "float64"})});
  EXPECT_THAT(net.summary_text(), HasSubstr(" Total params: 10 (80.00 B)"));
}

TEST_F(SummaryTest, AfterFitTheBatchIsNone) {
  const auto net = make_model<Sub>();
  const Sequential chain({Dense(3, {.name = "a"}), Dense(1, {.name = "b"})});
  for (const Model& model : {Model(net), Model(chain)}) {
    model.compile({.loss = "mse"});
    model.fit(Tensor::zeros({8, 4}), Tensor::zeros({8, 1}), {.batch_size = 4, .verbose = 0});
    model.predict(Tensor::zeros({8, 4}), {.verbose = 0});
    EXPECT_THAT(model.summary_text(), HasSubstr("(None, 3)"));
    EXPECT_THAT(model.summary_text(), Not(HasSubstr("(4, 3)")));
  }
}

TEST_F(SummaryTest, LayerRangeShowsAPart) {
  const Sequential model({Input({4}), Dense(3, {.name = "first"}), Dense(3, {.name = "block_1"}),
                          Dense(3, {.name = "block_2"}), Dense(1, {.name = "last"})});
  for (const std::vector<std::string>& range :
       {std::vector<std::string>{"block_1", "block_2"}, {"block_2", "block_1"}, {"block", "block"}}) {
    const std::string text = model.summary_text({.layer_range = range});
    EXPECT_THAT(text, HasSubstr("block_1"));
    EXPECT_THAT(text, HasSubstr("block_2"));
    EXPECT_THAT(text, Not(HasSubstr("first")));
    EXPECT_THAT(text, Not(HasSubstr("last")));
  }
  EXPECT_THROW(model.summary_text({.layer_range = {"nothing", "last"}}), InvalidArgumentError);
  EXPECT_THROW(model.summary_text({.layer_range = {"first"}}), InvalidArgumentError);
}

TEST_F(SummaryTest, LayerRangeOfNoPatternIsAnError) {
  const std::string longest(30'000, 'a');  // std::regex takes stack for each letter
  const Sequential model({Input({4}), Dense(3, {.name = longest}), Dense(1, {.name = "b(1"})});
  EXPECT_FALSE(model.summary_text({.layer_range = {longest, "b(1"}}).empty());  // names as they are
  for (const char* range : {"(a", "[x-z]*"})
    EXPECT_THAT(error_text<InvalidArgumentError>([&] {
                  model.summary_text({.layer_range = {range, "b"}});
                }),
                AllOf(HasSubstr("'layer_range'"), HasSubstr(range)));
}

TEST_F(SummaryTest, PositionsAreWhereColumnsEnd) {
  const Sequential model({Input({4}), Dense(3, {.name = "d"})});
  const auto first_line = [&](const SummaryConfig& config) {
    const std::string text = model.summary_text(config);
    const size_t begin = text.find("\n") + 1;
    return text.substr(begin, text.find("\n", begin) - begin);
  };
  EXPECT_EQ(first_line({.line_length = 60, .positions = {0.45, 0.80, 1.0}}), first_line({.line_length = 60}));
  EXPECT_EQ(first_line({.line_length = 60, .positions = {30, 45, 60}}),
            first_line({.line_length = 60, .positions = {0.5, 0.75, 1.0}}));
  EXPECT_NE(first_line({.line_length = 60, .positions = {0.5, 0.75, 1.0}}), first_line({.line_length = 60}));
  EXPECT_THROW(model.summary_text({.positions = {0.5, 1.0}}), InvalidArgumentError);
}

}  // namespace

}  // namespace nyala
