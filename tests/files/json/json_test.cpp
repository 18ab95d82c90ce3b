// Against nlohmann's library, whose text files had before this type was our own.
#include <nyala/files/json/json.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <sstream>
#include <string>
#include <vector>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include <nyala/files/json/json_text.h>
#include <nyala/files/json/strict_json.h>
#include <nyala/tests/support/error_text.h>

namespace nyala {
namespace {

using Library = nlohmann::ordered_json;
using testing::HasSubstr;

TEST(Json, TextIsReadAndWrittenAsTheLibraryDoes) {
  for (const char* text :
       {"null", "true", "[]", "{}", "[[], {}, [null, false]]",
        R"({"b": 1, "a": {"z": [1.5, -0.0, 1e300], "": ""}, "b2": "two"})",
        R"(["\" \\ \/ \b \f \n \r \t \u0000 \u001f \u007f", "caf\u00e9 \ud83d\ude00 <&>"])",
        "[9223372036854775807, -9223372036854775808, 18446744073709551615]",
        "[18446744073709551616, -9223372036854775809, 1E5, 1e-7, 123456789012345680.0]",
        "[0.1, 100, 1e15, 1e16, 123456.0, 0.0001, 0.00001, 5e-324]"}) {
    const Json json = parse_json(text, "text");
    EXPECT_EQ(json.dump(), Library::parse(text).dump());
    EXPECT_EQ(parse_json(json.dump(), "text"), json);
    std::ostringstream shown;
    shown << json;
    EXPECT_EQ(shown.str(), json.dump());
  }
}

TEST(Json, NumbersAreWrittenAsTheLibraryDoes) {
  std::mt19937_64 random(5);
  for (int i = 0; i < 20'000; ++i) {
    const uint64_t bits = random();
    for (const double value :
         {std::bit_cast<double>(bits), static_cast<double>(static_cast<float>(bits >> 40)),
          static_cast<double>(bits % 100'000) / 1000})
      ASSERT_EQ(Json(value).dump(), Library(value).dump());
    ASSERT_EQ(Json(bits).dump(), std::to_string(bits));
    ASSERT_EQ(Json(static_cast<int64_t>(bits)).dump(), std::to_string(static_cast<int64_t>(bits)));
  }
  for (const double value : {HUGE_VAL, -HUGE_VAL, std::nan("")}) EXPECT_EQ(Json(value).dump(), "null");
}

/// Python's json writes them where JSON has no numbers.
TEST(Json, NotANumberAndInfinityAreNumbers) {
  const Json json = parse_json(
      R"({"NaN": [NaN, null, -Infinity, "NaN, -Infinity \" null", Infinity, {"a": null}], "b": [-1, NaN]})",
      "text");
  const Json& list = json.at("NaN");
  EXPECT_TRUE(std::isnan(list.at(size_t{0}).get<double>()));
  EXPECT_TRUE(list.at(1).is_null());
  EXPECT_EQ(list.at(2).get<double>(), -HUGE_VAL);
  EXPECT_EQ(list.at(3).as_string(), "NaN, -Infinity \" null");
  EXPECT_EQ(list.at(4).get<double>(), HUGE_VAL);
  EXPECT_TRUE(list.at(5).at("a").is_null());
  EXPECT_EQ(json_text(json, "text"),
            R"({"NaN":[NaN,null,-Infinity,"NaN, -Infinity \" null",Infinity,{"a":null}],"b":[-1,NaN]})");
  EXPECT_EQ(readable_json(parse_json("-Infinity", "text")), "-Infinity");
  EXPECT_THAT(error_text<JsonError>([] { parse_json("NaN", "text").get<int>(); }), HasSubstr("received NaN"));
  EXPECT_THROW(parse_json("NaN", "text").get<bool>(), JsonError);
  for (const char* wrong : {"-NaN", "NaNs", "NaN1", "1Infinity", "--Infinity", "nan", "Infinity NaN",
                            "[null1]", R"({NaN: 1})", "[-null]"})
    EXPECT_THROW(parse_json(wrong, "text"), FileFormatError) << wrong;
  const std::string many = "[" + std::string("NaN,", 4) + "NaN,NaN]";
  EXPECT_THROW(parse_json(many, "text", JsonLimits{.values = 3}), FileFormatError);
  EXPECT_EQ(parse_json(many, "text", JsonLimits{.values = 4}).size(), 3u);
}

TEST(Json, MessagesQuoteTheBeginningOfAFileOnly) {
  const std::string number(100000, '9');
  for (const std::string& wrong : {number, "[1e" + number + "]", '"' + number, "{\"" + number + "\" 1}"}) {
    const std::string text = error_text<FileFormatError>([&] { parse_json(wrong, "text"); });
    EXPECT_LT(text.size(), 400u);
    EXPECT_THAT(text, HasSubstr("not sound JSON"));
  }
  EXPECT_EQ(quoted_json(Json("ab")), "\"ab\"");
  const std::string quoted = quoted_json(Json(number));
  EXPECT_EQ(quoted.size(), kMostQuoted + 3);
  EXPECT_THAT(quoted, testing::EndsWith("9..."));
}

TEST(Json, BytesThatAreNoText) {
  for (const std::string& text :
       std::vector<std::string>{"caf\xc3\xa9", "\xff\xfe", "a\xc3", "\xed\xa0\x80", {"\0\x7f", 2}}) {
    const Json json = {{text, 1}, {"key", text}};
    const Library library = {{text, 1}, {"key", text}};
    EXPECT_EQ(readable_json(json), library.dump(-1, ' ', false, Library::error_handler_t::replace));
    try {
      const std::string expected = library.dump();
      EXPECT_EQ(json.dump(), expected);
    } catch (const Library::type_error&) {
      EXPECT_THAT(error_text<InvalidArgumentError>([&] { json_text(json, "save"); }),
                  HasSubstr("save: a name or text is not UTF-8"));
      EXPECT_THROW(json.dump(), InvalidArgumentError);
    }
  }
}

TEST(Json, BracesAreListsOrObjectsOfPairs) {
  const Json json = {{"name", "dense"}, {"units", 3}, {"shape", {nullptr, 4}}, {"inner", {{"a", {1, 2}}}}};
  EXPECT_EQ(json.dump(), R"({"name":"dense","units":3,"shape":[null,4],"inner":{"a":[1,2]}})");
  EXPECT_EQ(Json::array({"a", 1}).dump(), R"(["a",1])");
  EXPECT_EQ(Json::array({json}).size(), 1u);
  EXPECT_EQ(Json::array({{"a", 1}, {"b", 2}}).dump(), R"([["a",1],["b",2]])");
  EXPECT_EQ(Json::object({{"a", Json::array()}}).dump(), R"({"a":[]})");
  EXPECT_THROW(Json::object({"a", "b"}), JsonError);
  EXPECT_EQ(Json(std::vector<std::vector<double>>{{1, 2}, {}}).dump(), "[[1.0,2.0],[]]");
}

TEST(Json, MembersAreFoundAddedAndErasedAsInTheLibrary) {
  for (const int n : {1, 15, 16, 17, 1000}) {
    Json json = Json::object();
    Library library = Library::object();
    const auto set = [&](const std::string& key, int value) { json[key] = value, library[key] = value; };
    for (int i = 0; i < n; ++i) set("key" + std::to_string(i), i);
    set("key0", -1);
    EXPECT_EQ(json.dump(), library.dump());
    EXPECT_FALSE(json.contains("key"));
    for (int i = 0; i < n; i += 3) {
      EXPECT_EQ(json.erase("key" + std::to_string(i)), 1u);
      library.erase("key" + std::to_string(i));
    }
    EXPECT_EQ(json.erase("key0"), 0u);
    set("new", 7);
    EXPECT_EQ(json.dump(), library.dump());
    for (const auto& [key, value] : library.items()) EXPECT_EQ(json.at(key), value.get<int>());
    Json copy = json;
    copy.clear();
    copy["new"] = 1;
    EXPECT_EQ(copy.dump(), R"({"new":1})");
    EXPECT_EQ(json["new"], 7);
  }
}

TEST(Json, ValuesAreCopiedAndMovedWhole) {
  Json json = parse_json(R"({"a": [1, {"b": "text"}], "c": null})", "text");
  const Json copy = json;
  json["a"][1]["b"] = 5;
  EXPECT_EQ(copy["a"][1]["b"], "text");
  json = Json(json["a"]);
  EXPECT_EQ(json.dump(), R"([1,{"b":5}])");
  json = json[1];
  EXPECT_EQ(json.dump(), R"({"b":5})");
  const Json moved = std::move(json);
  EXPECT_EQ(moved.dump(), R"({"b":5})");
  EXPECT_TRUE(json.is_null());  // NOLINT(bugprone-use-after-move)
}

TEST(Json, IterationGoesOverTheValuesOfListsAndObjects) {
  Json list = {1, 2}, object = {{"x", 1}, {"y", 2}};
  for (Json* const json : {&list, &object}) {
    for (Json& item : *json) item = item.get<int>() + 1;
    std::vector<int> seen;
    for (const Json& item : std::as_const(*json)) seen.push_back(item.get<int>());
    EXPECT_EQ(seen, (std::vector<int>{2, 3}));
    EXPECT_EQ(json->front(), 2);
  }
  EXPECT_EQ(object.items()[1].key, "y");
  for (Json nothing : {Json(), Json(5), Json("text"), Json::array(), Json::object()}) {
    EXPECT_EQ(nothing.begin(), nothing.end());
    EXPECT_TRUE(nothing.items().empty());
    EXPECT_THROW(nothing.front(), JsonError);
  }
}

TEST(Json, NumbersAreEqualByValue) {
  EXPECT_EQ(Json(5), Json(5u));
  EXPECT_EQ(Json(5), Json(5.0));
  EXPECT_NE(Json(-1), Json(UINT64_MAX));
  EXPECT_EQ(Json(int64_t{-1}), Json(-1.0));
  EXPECT_NE(Json(0), Json(false));
  EXPECT_NE(Json(), Json(0));
  EXPECT_NE(parse_json(R"({"a": 1, "b": 2})", "text"), parse_json(R"({"b": 2, "a": 1})", "text"));
}

TEST(Json, NumbersThatATypeCannotHoldAreErrors) {
  EXPECT_EQ(Json(2.9).get<int>(), 2);
  EXPECT_EQ(Json(-2.9).get<int64_t>(), -2);
  EXPECT_EQ(Json(UINT64_MAX).get<uint64_t>(), UINT64_MAX);
  EXPECT_EQ(Json(INT64_MIN).get<int64_t>(), INT64_MIN);
  EXPECT_EQ(Json(7u).get<double>(), 7.0);
  EXPECT_THROW((void)Json(UINT64_MAX).get<int64_t>(), JsonError);
  EXPECT_THROW((void)Json(-1).get<size_t>(), JsonError);
  EXPECT_THROW((void)Json(256).get<uint8_t>(), JsonError);
  EXPECT_THROW((void)Json(0x1p63).get<int64_t>(), JsonError);
  EXPECT_THROW((void)Json(0x1p64).get<uint64_t>(), JsonError);
  EXPECT_THROW((void)Json(std::nan("")).get<int>(), JsonError);
  EXPECT_THAT(error_text<JsonError>([] { (void)Json(1e10).get<int>(); }),
              HasSubstr("from -2147483648 to 2147483647, received 10000000000.0"));
}

TEST(Json, AnotherKindThanAskedForIsAnError) {
  const Json object = {{"a", 1}}, text = "text";
  const auto refuses = [](const auto& f, const std::string& expected) {
    EXPECT_THAT(error_text<FileFormatError>(f), HasSubstr(expected));
  };
  refuses([&] { (void)object.get<int>(); }, "expected a number, received object");
  refuses([&] { (void)text.get<bool>(); }, "expected a boolean, received string");
  refuses([&] { (void)object["a"].get<std::string>(); }, "expected a string, received number");
  refuses([&] { (void)Json(true).get<double>(); }, "expected a number, received boolean");
  refuses([&] { (void)Json(3).get<std::vector<int>>(); }, "expected an array, received number");
  refuses([&] { (void)object["b"]; }, "there is no 'b'");
  refuses([&] { (void)text["b"]; }, "expected an object, received string");
  refuses([&] { (void)Json::array({1})[1]; }, "there is no place 1 in an array of 1");
  refuses([] { Json("text").push_back(1); }, "expected an array, received string");
  refuses([] { Json("text").erase("a"); }, "expected an object, received string");
  EXPECT_EQ(text.find("a"), nullptr);
  EXPECT_EQ(object.value("b", 7), 7);
  EXPECT_EQ(object.value("b", "seven"), "seven");
  EXPECT_EQ(Json::object({{"c", object}}).value("c", Json()), object);
  Json null;
  null["a"]["b"].push_back(1);
  EXPECT_EQ(null.dump(), R"({"a":{"b":[1]}})");
}

}  // namespace
}  // namespace nyala
