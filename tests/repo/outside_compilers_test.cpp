// Nyala's headers behind those of others, and under compilers and flags that others choose.
#include <string>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nyala/tests/repo/compiler.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;

const char* const kInclude = "#include <nyala/nyala.h>\n";

size_t num_errors(const std::string& text) {
  size_t errors = 0;
  for (size_t at = text.find("error:"); at != std::string::npos; at = text.find("error:", at + 1)) ++errors;
  return errors;
}

/// Macros of Qt, X11, Windows, <complex.h> and of old Unix programs.
TEST(OutsideCompilers, MacrosOfOthersChangeNothing) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  const std::string text = what_the_compiler_says(
      "#define slots\n#define signals public\n#define emit\n#define foreach(a, b) for (a : b)\n"
      "#define None 0L\n#define Bool int\n#define Status int\n#define Success 0\n#define True 1\n"
      "#define False 0\n#define Always 2\n#define Unsorted 0\n#define KeyPress 2\n#define I 1.0f\n"
      "#define Complex int\n#define min(a, b) ((a) < (b) ? (a) : (b))\n"
      "#define max(a, b) ((a) > (b) ? (a) : (b))\n#define near\n#define far\n#define small char\n"
      "#define interface struct\n#define IN\n#define OUT\n#define ERROR 0\n#define DELETE 1\n"
      "#define check(x) x\n#define verify(x) x\n#define require(x) x\n#define major(x) x\n#define DEBUG 1\n"
      "#include <nyala/fwd.h>\n" +
      std::string(kInclude) +
      "nyala::Input input() { return nyala::Input({nyala::kNone, 4}); }\n"
      "nyala::Tensor rows(nyala::Tensor x) { return x[nyala::slice(2, nyala::kNone)]; }\n");
  EXPECT_EQ(text, "");
}

/// A layer overrides one of two forms of build() and call(); it need not bring the other one in, but may.
TEST(OutsideCompilers, ALayerOfOneFormIsNoWarning) {
  const std::string start = "std::string class_name() const override { return \"Mine\"; }\n";
  const std::string one =
      start +
      "void build(nyala::Builder&, const nyala::Shape&) override {}\n"
      "nyala::Tensor call(nyala::Call&, const nyala::Tensor& x) const override { return x; }\n";
  const std::string many =
      start +
      "void build(nyala::Builder&, const nyala::Shapes&) override {}\n"
      "nyala::Outputs call(nyala::Call&, nyala::Inputs in) const override { return {in[0]}; }\n";
  const std::string stray = "using nyala::LayerNode::build;\nusing nyala::LayerNode::call;\n";
  const std::string program =
      std::string(kInclude) + "struct One : nyala::LayerNode {\n" + one +
      "};\nstruct Many : nyala::LayerNode {\n" + many +
      "};\nstruct StrayOne : nyala::LayerNode {\n" + stray + one +
      "};\nstruct StrayMany : nyala::LayerNode {\n" + stray + many +
      "};\nnyala::Layer one() { return nyala::make_layer<One>(), nyala::make_layer<StrayOne>(); }\n"
      "nyala::Layer many() { return nyala::make_layer<Many>(), nyala::make_layer<StrayMany>(); }\n";
  for (const std::string compiler : {"g++", "clang++"}) {
    if (!there_is_a_compiler(compiler)) continue;
    const std::string command = compiler + " -std=c++20 -Wall -Wextra -Woverloaded-virtual";
    EXPECT_EQ(what_the_compiler_says(program, command), "") << compiler;
  }
}

TEST(OutsideCompilers, AnOlderLanguageIsOneError) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  const std::string text = what_the_compiler_says(kInclude, "g++ -std=c++17");
  EXPECT_EQ(num_errors(text), 1u) << text;
  EXPECT_THAT(text, HasSubstr("-std=c++20"));
}

TEST(OutsideCompilers, NoTypesAtRunTimeIsOneError) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  const std::string text = what_the_compiler_says(kInclude, "g++ -std=c++20 -fno-rtti");
  EXPECT_EQ(num_errors(text), 1u) << text;
  EXPECT_THAT(text, HasSubstr("-fno-rtti"));
}

/// Also says where fwd.h calls a struct a class.
TEST(OutsideCompilers, ClangTakesTheHeaders) {
  if (!there_is_a_compiler("clang++")) GTEST_SKIP() << "no clang++ here";
  const std::string source = "#include <nyala/fwd.h>\n" + std::string(kInclude);
  EXPECT_EQ(what_the_compiler_says(source, "clang++ -std=c++20 -Wall -Wextra"), "");
}

}  // namespace
}  // namespace nyala
