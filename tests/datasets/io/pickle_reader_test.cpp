#include <cmath>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/datasets/io/pickle_reader.h>
#include <nyala/tests/datasets/test_files.h>
#include <nyala/tests/support/error_text.h>

namespace nyala::datasets {

using namespace nyala::detail;
namespace {

/// The pickles that Python and NumPy wrote (tests/fuzz/make_corpus.py).
PickleValue corpus(const std::string& name) {
  return read_pickle(read_file(std::filesystem::path(NYALA_SOURCE_DIR) / "tests/fuzz/corpus/pickle" / name),
                     {.name = name});
}

PickleValue read(const std::string& text) {
  return read_pickle({reinterpret_cast<const uint8_t*>(text.data()), text.size()}, {.name = "p"});
}

std::string failure(const std::string& text) {
  return error_text<FileFormatError>([&] { read(text); });
}

class PickleProtocolTest : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Protocols, PickleProtocolTest, testing::Range(0, 6));

TEST_P(PickleProtocolTest, BatchesOfCifar) {
  const PickleValue batch = corpus("batch" + std::to_string(GetParam()));
  ASSERT_EQ(batch.kind(), PickleKind::dict);
  EXPECT_EQ(batch.size(), 4u);
  EXPECT_EQ(batch.at("batch_label").string(), "batch 1");
  const PickleValue labels = batch.at("labels");
  ASSERT_EQ(labels.size(), 3u);
  EXPECT_EQ(labels.item(0).integer(), 3);
  EXPECT_EQ(labels.item(2).integer(), 9);
  const Tensor data = batch.at("data").array();
  EXPECT_EQ(data.dtype(), DType::uint8);
  ASSERT_EQ(data.shape(), (Shape{3, 12}));
  for (int64_t i = 0; i < 36; ++i) EXPECT_EQ(data.raw_as<uint8_t>()[i], i);
  EXPECT_EQ(batch.at("filenames").item(1).string(), "b\xe4\n.png");
  EXPECT_EQ(batch.at("filenames").item(2).string(), "'c'.png");
}

TEST_P(PickleProtocolTest, PlainObjects) {
  const PickleValue all = corpus("plain" + std::to_string(GetParam()));
  EXPECT_EQ(all.at("none").kind(), PickleKind::none);
  // Protocol 0 and 1 write True as an integer that the reader knows again.
  EXPECT_TRUE(all.at("yes").boolean());
  EXPECT_FALSE(all.at("no").boolean());
  EXPECT_EQ(all.at("pair").item(1).integer(), -2);
  EXPECT_EQ(all.at("real").real(), 0.1);
  EXPECT_EQ(all.at("text").string(), "\xc3\xa4\xe2\x82\xac\xf0\x9f\x98\x80");
  EXPECT_EQ(all.at("big").integer(), int64_t{1} << 40);
  EXPECT_EQ(all.at("least").integer(), INT64_MIN);
  EXPECT_EQ(all.at("triple").size(), 3u);
  EXPECT_EQ(all.at("triple").item(0).string(), "");
  ASSERT_EQ(all.at("many").size(), 303u);
  for (size_t i = 0; i < 303; ++i) EXPECT_EQ(all.at("many").item(i).integer(), static_cast<int64_t>(i) - 3);
  EXPECT_EQ(all.at("nested").item(2).item(0).item(0).real(), 1.5);
}

TEST_P(PickleProtocolTest, ArraysOfEveryType) {
  {
    const std::string name = "arrays" + std::to_string(GetParam());
    const PickleValue all = corpus(name);
    const std::pair<const char*, DType> kinds[] = {
        {"u1", DType::uint8},   {"i4", DType::int32},   {"i8", DType::int64},  {"f2", DType::float16},
        {"f4", DType::float32}, {"f8", DType::float64}, {">i4", DType::int32}, {">f8", DType::float64}};
    for (const auto& [key, dtype] : kinds) {
      const Tensor array = all.at(key).array();
      EXPECT_EQ(array.dtype(), dtype) << name << key;
      ASSERT_EQ(array.shape(), (Shape{2, 3})) << name << key;
      dispatch_any(dtype, [&]<class T>(T) {
        for (int i = 0; i < 6; ++i)
          EXPECT_EQ(static_cast<float>(array.raw_as<T>()[i]), static_cast<float>(i)) << name << key;
      });
    }
    EXPECT_EQ(all.at("bool").array().to_vector<bool>(),
              (std::vector<bool>{false, true, true, true, true, true}));
    const Tensor columns = all.at("columns").array();
    ASSERT_EQ(columns.shape(), (Shape{2, 3, 4}));
    for (int i = 0; i < 24; ++i) EXPECT_EQ(columns.raw_as<float>()[i], static_cast<float>(i)) << name;
    EXPECT_EQ(all.at("none").array().shape(), (Shape{0, 3}));
    EXPECT_EQ(all.at("zero").array().to_vector<int64_t>(), (std::vector<int64_t>{7}));
    EXPECT_EQ(all.at("zero").array().shape(), Shape{});
    EXPECT_EQ(all.at("scalar").real(), 2.5);
  }
}

TEST_P(PickleProtocolTest, BytearraysTurnedArraysAndLongTexts) {
  const PickleValue all = corpus("more" + std::to_string(GetParam()));
  const std::string shared("\0ab\xff\n", 5);
  EXPECT_EQ(all.at("bytearray").string(), shared);
  EXPECT_EQ(all.at("again").item(1).string(), shared);
  for (size_t i = 0; i < 3; ++i) EXPECT_EQ(all.at("empty").item(i).string(), "");
  const Tensor turned = all.at("turned").array(), strided = all.at("strided").array();
  ASSERT_EQ(turned.shape(), (Shape{3, 2, 4}));
  ASSERT_EQ(strided.shape(), (Shape{2, 2, 4}));
  for (int64_t i = 0; i < 24; ++i)
    EXPECT_EQ(turned.raw_as<int64_t>()[i], i / 8 * 4 + i / 4 % 2 * 12 + i % 4) << i;
  for (int64_t i = 0; i < 16; ++i)
    EXPECT_EQ(strided.raw_as<int64_t>()[i], i / 8 * 12 + i / 4 % 2 * 8 + i % 4) << i;
  EXPECT_EQ(all.at("fixed").array().to_vector<uint8_t>(), (Bytes{1, 2, 3}));
  const PickleValue numbers = all.at("numbers");
  EXPECT_EQ(numbers.item(0).integer(), -5);
  EXPECT_EQ(numbers.item(1).real(), 0.5);
  EXPECT_TRUE(numbers.item(2).boolean());
  EXPECT_EQ(numbers.item(3).integer(), 200);
  EXPECT_EQ(all.at("inf").item(0).real(), HUGE_VAL);
  EXPECT_EQ(all.at("inf").item(1).real(), -HUGE_VAL);
  std::string text, bytes;
  for (int i = 0; i < 300; ++i) text += std::string("\xc3\xa4\\\n\r\0", 6);
  for (int i = 0; i < 512; ++i) bytes += static_cast<char>(i % 256);
  EXPECT_EQ(all.at("long text").string(), text);
  EXPECT_EQ(all.at("long bytes").string(), bytes);
  EXPECT_EQ(all.at("lone").string(), "\xed\xa0\x80");
  const int64_t wide[] = {255, 256, 65535, 65536, -1, INT32_MAX, int64_t{1} << 31, INT32_MIN, INT64_MAX};
  for (size_t i = 0; i < std::size(wide); ++i) EXPECT_EQ(all.at("wide").item(i).integer(), wide[i]) << i;
}

TEST(PickleReaderTest, BuffersOutsideOfThePickleAreAnError) {
  EXPECT_NE(error_text<FileFormatError>([] { corpus("outside5"); }).find("buffers outside of it"),
            std::string::npos);
}

/// An array of protocol 5: bytes of "i1"-sized elements, and what stands behind shape and order.
std::string buffer_text(const std::string& bytes, const std::string& rest) {
  return std::string("\x80\x05") + "cnumpy.core.numeric\n_frombuffer\n(\x96" +
         static_cast<char>(bytes.size()) + std::string(7, '\0') + bytes +
         "cnumpy\ndtype\n(S'u1'\nI0\nI1\ntR" + rest + "tR.";
}

TEST(PickleReaderTest, BuffersThatAreNotWhatTheySayAreErrors) {
  const std::string six = "abcdef", shape = "I2\nI3\n\x86";
  const auto turned = read(buffer_text(six, shape + "VK\nI1\nI0\n\x86")).array();
  EXPECT_EQ(turned.shape(), (Shape{3, 2}));
  EXPECT_EQ(turned.to_vector<uint8_t>(), (Bytes{'a', 'd', 'b', 'e', 'c', 'f'}));
  EXPECT_EQ(read(buffer_text(six, shape + "VF\n")).array().to_vector<uint8_t>(),
            (Bytes{'a', 'c', 'e', 'b', 'd', 'f'}));
  for (const std::string& rest :
       {shape + "VA\n", shape + "VK\n", shape + "VK\nI0\n\x85", shape + "VK\nI0\nI0\n\x86",
        shape + "VK\nI0\nI2\n\x86", shape + "VK\nI0\nI-1\n\x86", shape, std::string("I2\nI2\n\x86VC\n"),
        std::string("I-1\nI3\n\x86VC\n"), std::string("]VC\n"),
        std::string("I9223372036854775807\nI0\n\x86VC\n")})
    EXPECT_NE(failure(buffer_text(six, rest)), "") << rest;
  EXPECT_NE(failure("\x80\x05\x96\xff\xff\xff\xff\xff\xff\xff\x7f."), "");
  EXPECT_NE(failure("\x80\x06N."), "");
  EXPECT_NE(failure("cbuiltins\nbytearray\n(I5\ntR."), "");
  EXPECT_NE(failure("cbuiltins\nbytearray\n(Vx\nVlatin1\ntR."), "");
}

/// A small file that copies a long bytearray again and again.
TEST(PickleReaderTest, CopiesOfBytearraysAreBounded) {
  std::string text = "B" + std::string("\x00\x10\0\0", 4) + std::string(4096, 'x') + "q\x01" + "0(l";
  for (int i = 0; i < 400; ++i) text += "cbuiltins\nbytearray\n(h\x01tRa";
  EXPECT_NE(failure(text + ".").find("larger than itself"), std::string::npos);
}

TEST(PickleReaderTest, PythonTwo) {
  const PickleValue batch = corpus("python2");
  EXPECT_EQ(batch.at("data").array().to_vector<uint8_t>(), (Bytes{1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(batch.at("labels").item(1).integer(), 2);
}

TEST(PickleReaderTest, RealFileOfPythonTwo) {
  const auto path = test_data() / "cifar10/batches.meta";
  if (!std::filesystem::exists(path)) GTEST_SKIP() << "no batches.meta: set NYALA_TEST_DATA";
  const PickleValue meta = read_pickle(read_file(path), {.name = path.string()});
  const PickleValue names = meta.at("label_names");
  ASSERT_EQ(names.size(), 10u);
  EXPECT_EQ(names.item(0).string(), "airplane");
  EXPECT_EQ(names.item(9).string(), "truck");
  EXPECT_EQ(meta.at("num_vis").integer(), 3072);
}

TEST(PickleReaderTest, NothingIsEverRun) {
  EXPECT_NE(failure("cos\nsystem\n(S'touch /tmp/x'\ntR.").find("'os.system' is not among the names"),
            std::string::npos);
  EXPECT_NE(failure("\x80\x04\x8c\x02os\x8c\x06system\x93.").find("'os.system'"), std::string::npos);
  EXPECT_NE(failure("cbuiltins\neval\n(S'1'\ntR.").find("'builtins.eval'"), std::string::npos);
  EXPECT_NE(failure("cnumpy.core.multiarray\nfromfile\n.").find("fromfile"), std::string::npos);
  // INST, OBJ, NEWOBJ, persistent ids and extensions call or find objects without GLOBAL.
  for (const std::string text : {"(ios\nsystem\n.", "(co\n", "]]\x81.", "Pid\n.", "]Q.", "\x82\x01."})
    EXPECT_NE(failure(text), "") << text;
  // Names that are known, called as nothing that NumPy would write.
  EXPECT_NE(failure("cnumpy\nndarray\n)R.").find("cannot be called"), std::string::npos);
  EXPECT_NE(failure("c_codecs\nencode\n(Vx\nVzlib\ntR.").find("latin1"), std::string::npos);
  EXPECT_NE(failure("cbuiltins\nbytes\n(I9999999999\ntR.").find("empty bytes()"), std::string::npos);
  EXPECT_NE(failure("cnumpy\ndtype\n(S'O8'\ntR.").find("found 'O8'"), std::string::npos);
  EXPECT_NE(failure("I1\n)R."), "");
  EXPECT_NE(failure("](I1\nI2\ntb."), "");
}

/// An array of NumPy with the given shape, type and bytes.
std::string array_text(const std::string& shape, const std::string& dtype, const std::string& rest) {
  return "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR(I1\n(" + shape +
         "tcnumpy\ndtype\n(S'" + dtype + "'\nI0\nI1\ntR" + rest;
}

TEST(PickleReaderTest, ArraysThatAreNotWhatTheySayAreErrors) {
  EXPECT_EQ(read(array_text("I2\n", "u1", "I00\nS'ab'\ntb.")).array().to_vector<uint8_t>(),
            (Bytes{'a', 'b'}));
  EXPECT_NE(failure(array_text("I3\n", "u1", "I00\nS'ab'\ntb.")).find("found 2 bytes"), std::string::npos);
  EXPECT_NE(failure(array_text("I-1\n", "u1", "I00\nS'ab'\ntb.")), "");
  EXPECT_NE(failure(array_text("I4611686018427387904\nI4\n", "f4", "I00\nS''\ntb.")), "");
  EXPECT_NE(failure(array_text("I9223372036854775807\nI0\nI9223372036854775807\n", "u1", "I00\nS''\ntb.")),
            "");
  EXPECT_NE(failure(array_text("I1\nI1\nI1\nI1\nI1\nI1\nI1\nI1\nI1\n", "u1", "I00\nS'a'\ntb."))
                .find("at most 8 axes"),
            std::string::npos);
  EXPECT_NE(failure(array_text("I2\n", "u1", "tb.")).find("5 parts"), std::string::npos);
  EXPECT_NE(failure(array_text("I2\n", "u1", "I00\n]tb.")).find("bytes of an array"), std::string::npos);
  EXPECT_NE(failure(array_text("I2\n", "u1", "I00\nS'ab'\nt(I0\ntbb.")), "");
  const std::string unfinished = "cnumpy.core.multiarray\n_reconstruct\n(cnumpy\nndarray\n(I0\ntS'b'\ntR.";
  EXPECT_THROW(read(unfinished).array(), FileFormatError);
  // A second state for the same array.
  const std::string again = array_text("I2\n", "u1", "I00\nS'ab'\np1\ntb(I1\n(I2\ntg1\nI00\ng1\ntb.");
  EXPECT_NE(failure(again), "");
}

TEST(PickleReaderTest, ManyReferencesToOneLargeObjectAreNoBomb) {
  // 100 arrays that share 1000 bytes are larger than the file.
  std::string text = "](S'" + std::string(1000, 'a') + "'\np1\n0";
  for (int i = 0; i < 100; ++i) text += array_text("I1000\n", "u1", "I00\ng1\ntb");
  EXPECT_NE(failure(text + "e.").find("larger than itself"), std::string::npos);
}

TEST(PickleReaderTest, CirclesAndDepthAreHarmless) {
  const PickleValue circle = corpus("circle");
  ASSERT_EQ(circle.size(), 1u);
  EXPECT_EQ(circle.item(0).item(0).item(0).size(), 1u);
  EXPECT_EQ(corpus("deep").size(), 1u);
  const std::string deep = std::string(1'000'000, ']') + std::string(999'999, 'a') + ".";
  EXPECT_EQ(read(deep).size(), 1u);
}

TEST(PickleReaderTest, LimitsOfObjects) {
  const std::string many = "(" + std::string(100, 'N') + "l.";
  const std::span<const uint8_t> bytes(reinterpret_cast<const uint8_t*>(many.data()), many.size());
  EXPECT_EQ(read_pickle(bytes, {.max_objects = 101}).size(), 100u);
  EXPECT_NE(error_text<FileFormatError>([&] {
              read_pickle(bytes, {.max_objects = 100});
            }).find("at most 100 objects"),
            std::string::npos);
}

TEST(PickleReaderTest, EveryTruncationIsAnError) {
  for (const char* name : {"batch0", "batch2", "batch4", "plain0", "plain4", "arrays2", "python2"}) {
    const Bytes whole =
        read_file(std::filesystem::path(NYALA_SOURCE_DIR) / "tests/fuzz/corpus/pickle" / name);
    for (size_t size = 0; size < whole.size(); ++size)
      EXPECT_THROW(read_pickle(std::span(whole).first(size)), FileFormatError) << name << " " << size;
  }
}

TEST(PickleReaderTest, StacksThatDoNotFitAreErrors) {
  for (const std::string text : {".",
                                 "NN.",
                                 "(.",
                                 "a.",
                                 "Na.",
                                 "]N](e.",
                                 "e.",
                                 "Nd.",
                                 "(Nd.",
                                 "}Ns.",
                                 "}(Nu.",
                                 "t.",
                                 "0.",
                                 "(0",
                                 "1.",
                                 "2.",
                                 "g1\n.",
                                 "h\x01.",
                                 "b.",
                                 "Nb.",
                                 "R.",
                                 "NR.",
                                 "p1\n.",
                                 "(Np1\nl1.",
                                 "\x85.",
                                 "(N\x86.",
                                 "]N\x93.",
                                 "\x80\x06N.",
                                 "I1x\n.",
                                 "I\n.",
                                 "I99999999999999999999\n.",
                                 "Fx\n.",
                                 "Sx\n.",
                                 "S'\\q'\n.",
                                 "S'x\n.",
                                 "V\\u12\n.",
                                 "V\\U00110000\n.",
                                 "N.N",
                                 "\xff."})
    EXPECT_NE(failure(text), "") << text;
  EXPECT_NE(failure(std::string("\x8a\x09\x01\x01\x01\x01\x01\x01\x01\x01\x01.", 12)).find("at most 8 bytes"),
            std::string::npos);
}

TEST(PickleReaderTest, AccessorsNameTheKindThatIsThere) {
  const PickleValue value = read("(lp0\n(daI1\na.");
  EXPECT_EQ(error_text<FileFormatError>([&] { value.integer(); }),
            "p: expected int in the pickle, found list");
  EXPECT_THROW(value.item(0).integer(), FileFormatError);
  EXPECT_EQ(value.item(1).integer(), 1);
  EXPECT_THROW(value.item(2), FileFormatError);
  EXPECT_THROW(read("}.").at("x"), FileFormatError);
  EXPECT_FALSE(read("}.").find("x").has_value());
  EXPECT_THROW(read("N.").size(), FileFormatError);
  EXPECT_THROW(read("N.").array(), FileFormatError);
  EXPECT_EQ(read("}S'a'\nI1\nsS'a'\nI2\ns.").at("a").integer(), 2) << "the last of equal keys counts";
}

}  // namespace
}  // namespace nyala::datasets
