// Macros that programs define before they include nyala.h.
#include <string>

#include <gtest/gtest.h>

#include <nyala/tests/repo/compiler.h>

namespace nyala {
namespace {

TEST(UsersMacros, OfCommonNamesNeitherDisturbTheHeadersNorAreLost) {
  if (!there_is_a_compiler()) GTEST_SKIP() << "no g++ here";
  const std::string text = what_the_compiler_says(
      "#define M 1\n#define B 2\n#define U 3\n#define F 4\n#define T 5\n#define R 6\n#define P 7\n"
      "#define N 10\n#define index 3\n#define id int\n#define minmax(x) x\n#define Mean 1\n#define Sum 0\n"
      "#define I 3\n#define ERROR 0\n#define small char\n#define CHECK(x)\n#define major(x) x\n"
      "#include <nyala/nyala.h>\n"
      "static_assert(N == 10 && index == 3 && minmax(4) == 4 && Mean == 1 && Sum == 0);\n"
      "id f() { return nyala::Sequential({nyala::Input({N}), nyala::Dense(2)}).layers().size() > 0; }\n");
  EXPECT_EQ(text, "");
}

}  // namespace
}  // namespace nyala
