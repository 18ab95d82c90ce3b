#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/runtime/random.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

class SafetensorsTest : public testing::Test {
 protected:
  /// A file of this header, padded with spaces, and these bytes of data.
  void write(const std::string& header, const std::string& data = "", uint64_t length = UINT64_MAX) const {
    std::string text;
    const uint64_t stated = length == UINT64_MAX ? header.size() : length;
    for (int i = 0; i < 8; ++i) text += static_cast<char>(stated >> (8 * i) & 0xff);
    std::ofstream(path_, std::ios::binary) << text << header << data;
  }
  void expect_refused(const std::string& reason) const {
    try {
      load_safetensors(path_);
      ADD_FAILURE() << "not refused: " << reason;
    } catch (const FileFormatError& error) {
      const std::string text = error.what();
      EXPECT_NE(text.find(reason), std::string::npos) << text;
      EXPECT_NE(text.find(path_), std::string::npos) << text;
    }
  }
  void expect_header_refused(const std::string& header, const std::string& reason) const {
    write(header, std::string(16, '\1'));
    expect_refused(reason);
  }
  static std::string entry(const std::string& dtype, const std::string& shape, const std::string& place) {
    return R"({"dtype": ")" + dtype + R"(", "shape": )" + shape + R"(, "data_offsets": )" + place + "}";
  }

  ScratchFolder folder_{"safetensors"};
  std::string path_ = folder_.file("w.safetensors");
};

TEST_F(SafetensorsTest, ADamagedMemberOfASmallArchiveChangesNothing) {
  const Sequential model({Input({3}), Dense(4), Dense(2)});
  const std::string path = folder_.file("w.npz");
  model.save_weights(path);
  const auto values = [&] {
    std::vector<std::vector<float>> all;
    for (const Tensor& value : model.get_weights()) all.push_back(value.to_vector<float>());
    return all;
  };
  Tensors zeros;
  for (const Tensor& value : model.get_weights()) zeros.push_back(Tensor::zeros(value.shape()));
  model.set_weights(zeros);
  const auto before = values();
  std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
  std::string bytes(std::istreambuf_iterator<char>(file), {});
  const size_t last = bytes.rfind("\x93NUMPY");
  ASSERT_NE(last, std::string::npos);
  file.clear();
  file.seekp(static_cast<std::streamoff>(last) + 128);  // the first value behind the header
  file.put('\x7f');
  file.close();
  EXPECT_THROW(model.load_weights(path), FileFormatError);
  EXPECT_EQ(values(), before);
}

TEST_F(SafetensorsTest, EveryDtypeComesBack) {
  const Tensor numbers = Tensor::from(std::vector<float>{1.5f, -2, 0, 4, 5, 250}, {2, 3});
  NamedArrays arrays;
  for (const DType dtype : {DType::uint8, DType::float32, DType::bool_, DType::float64, DType::int32,
                            DType::bfloat16, DType::int64, DType::float16})
    arrays.emplace_back("layer/\xc3\xa4 " + std::string(name_of(dtype)), ops::cast(numbers, dtype));
  arrays.emplace_back("scalar", Tensor(3.5f));
  arrays.emplace_back("none", Tensor::zeros({0, 4}));
  save_safetensors(path_, arrays);
  const NamedArrays read = load_safetensors(path_);
  ASSERT_EQ(read.size(), arrays.size());
  for (const auto& [name, value] : read) {
    const auto found =
        std::find_if(arrays.begin(), arrays.end(), [&](const auto& array) { return array.first == name; });
    ASSERT_NE(found, arrays.end()) << name;
    EXPECT_EQ(value.dtype(), found->second.dtype()) << name;
    EXPECT_EQ(value.shape(), found->second.shape()) << name;
    EXPECT_EQ(ops::cast(value, DType::float64).to_vector<double>(),
              ops::cast(found->second, DType::float64).to_vector<double>());
    if (value.num_elements() > 0) {
      EXPECT_EQ(reinterpret_cast<uintptr_t>(value.raw()) % size_of(value.dtype()), 0u) << name;
    }
  }
}

TEST_F(SafetensorsTest, OtherIntegersAndUnalignedBytes) {
  write(R"({"odd":)" + entry("U8", "[1]", "[0, 1]") + R"(,"x":)" + entry("F32", "[2]", "[1,9]") + R"(,"y":)" +
            entry("I16", "[2]", "[9,13]") + R"(,"__metadata__":{"format":"pt"}})",
        std::string("\x07\0\0\x80\x3f\0\0\0\xc0\xff\xff\x02\0", 13));
  const NamedArrays read = load_safetensors(path_);
  ASSERT_EQ(read.size(), 3u);
  EXPECT_EQ(read[1].second.to_vector<float>(), (std::vector<float>{1, -2}));
  EXPECT_EQ(read[2].second.to_vector<int32_t>(), (std::vector<int32_t>{-1, 2}));
}

TEST_F(SafetensorsTest, TensorsOutliveTheFileAndMayBeWrittenTo) {
  const Tensor large = Tensor::full({5, 1000, 1000}, 2.0);
  save_safetensors(path_, {{"large", large}});
  const Tensor read = load_safetensors(path_)[0].second;
  std::filesystem::remove(path_);
  read.data<float>()[7] = 3.0f;
  EXPECT_EQ(read.data<float>()[7], 3.0f);
  EXPECT_EQ(read.data<float>()[4999999], 2.0f);
}

TEST_F(SafetensorsTest, WrongHeadersAreRefused) {
  const std::string four = entry("F32", "[4]", "[0,16]");
  expect_header_refused("{\"x\"", "not sound JSON");
  expect_header_refused("[1]", "not a .safetensors file");
  expect_header_refused("{\"x\":1}", "expected dtype, shape and data_offsets");
  expect_header_refused(R"({"x":)" + four + R"(,"x":)" + four + "}", "the key 'x' twice");
  expect_header_refused(R"({"x":)" + entry("F32", "[5]", "[0,16]") + "}", "takes 20 bytes");
  expect_header_refused(R"({"x":)" + entry("F8_E4M3", "[16]", "[0,16]") + "}", "F8_E4M3");
  expect_header_refused(R"({"x":)" + entry("F32", "[4]", "[0,17]") + "}", "lead out of");
  expect_header_refused(R"({"x":)" + entry("F32", "[4]", "[16,0]") + "}", "lead out of");
  expect_header_refused(R"({"x":)" + entry("F32", "[4]", "[0]") + "}", "lead out of");
  expect_header_refused(R"({"x":)" + entry("F32", "[-4]", "[0,16]") + "}", "something else than sizes");
  expect_header_refused(R"({"x":)" + entry("F32", "4", "[0,16]") + "}", "is no list");
  expect_header_refused(R"({"x":)" + entry("F32", "[4611686018427387904,4]", "[0,16]") + "}", "too large");
  expect_header_refused(R"({"x":)" + entry("F32", "[18446744073709551615]", "[0,16]") + "}", "too large");
  expect_header_refused(R"({"x":)" + entry("F32", "[1,1,1,1,1,1,1,1,4]", "[0,16]") + "}", "more axes");
  expect_header_refused(R"({"x":)" + four + R"(,"y":)" + entry("F32", "[2]", "[8,16]") + "}",
                        "those of another");
  expect_header_refused(R"({"x":)" + entry("F32", "[2]", "[8,16]") + "}", "bytes before it");
  expect_header_refused(R"({"x":)" + entry("F32", "[2]", "[0,8]") + "}", "behind the last");
  expect_header_refused(R"({"x":)" + std::string(1000, '[') + "}", "nested deeper than 3");
  for (const uint64_t length :
       {uint64_t{0}, uint64_t{1}, uint64_t{1000}, uint64_t{100000001}, UINT64_MAX - 7}) {
    write(R"({"x":)" + four + "}", std::string(16, '\1'), length);
    expect_refused("not a");
  }
}

TEST_F(SafetensorsTest, NamesThatCannotBeWritten) {
  const Tensor x(1.0f);
  EXPECT_THROW(save_safetensors(path_, {{"a", x}, {"a", x}}), InvalidArgumentError);
  EXPECT_THROW(save_safetensors(path_, {{"__metadata__", x}}), InvalidArgumentError);
  EXPECT_THROW(save_safetensors(path_, {{"\xff", x}}), InvalidArgumentError);
  EXPECT_FALSE(std::filesystem::exists(path_));
}

class NamedWeights : public testing::Test {
 protected:
  static Model network(int64_t units = 5) {
    clear_session();
    return Sequential({Input({3}), Dense(4), BatchNormalization(), Dense(units)});
  }
  static std::vector<float> all_values(const Model& model) {
    std::vector<float> all;
    for (const Tensor& weight : model.get_weights())
      for (const float value : weight.to_vector<float>()) all.push_back(value);
    return all;
  }
  ScratchFolder folder_{"named_weights"};
};

TEST_F(NamedWeights, KeysAreThePathsOfKeras) {
  const Model model = network();
  for (const char* name : {"w.safetensors", "w.npz"}) {
    model.save_weights(folder_.file(name));
    const NamedArrays arrays = std::string(name).ends_with("z") ? load_npz(folder_.file(name))
                                                                : load_safetensors(folder_.file(name));
    ASSERT_EQ(arrays.size(), 8u);
    EXPECT_EQ(arrays[0].first, "sequential/dense/kernel");
    EXPECT_EQ(arrays[5].first, "sequential/batch_normalization/moving_variance");
    EXPECT_EQ(arrays[7].first, "sequential/dense_1/bias");
  }
}

TEST_F(NamedWeights, LoadByPathAndWhereNamesCountOnInOrder) {
  const Model model = network(), same = network();
  const Model counted_on = Sequential({Input({3}), Dense(4), BatchNormalization(), Dense(5)});
  for (const char* name : {"w.safetensors", "w.npz"}) {
    model.save_weights(folder_.file(name));
    for (const Model& other : {same, counted_on}) {
      for (const Variable& weight : other.weights()) weight.assign(0.25);
      const LoadReport report = other.load_weights(folder_.file(name));
      EXPECT_TRUE(report.complete()) << report.to_string();
      EXPECT_EQ(all_values(other), all_values(model));
    }
    EXPECT_THROW(counted_on.load_weights(folder_.file(name), {.by_name = true}), NotFoundError);
  }
}

TEST_F(NamedWeights, NamesBelowTheModelsPairLayers) {
  const auto make = [](const char* one, const char* two) {
    return Sequential({Input({3}), Dense(3, {.name = one}), Dense(3, {.name = two})});
  };
  const Model model = make("first", "second"), turned = make("second", "first"),
              half = make("second", "other");
  for (const char* name : {"w.safetensors", "w.npz"}) {
    const std::string path = folder_.file(name);
    model.save_weights(path);
    for (const bool by_name : {true, false}) {
      for (const Variable& weight : turned.weights()) weight.assign(0.25);
      EXPECT_TRUE(turned.load_weights(path, {.by_name = by_name}).complete());
      EXPECT_EQ(turned.get_weights()[0].to_vector<float>(), model.get_weights()[2].to_vector<float>());
      EXPECT_EQ(turned.get_weights()[2].to_vector<float>(), model.get_weights()[0].to_vector<float>());
    }
    const std::vector<float> kept = half.get_weights()[2].to_vector<float>();
    const LoadReport report = half.load_weights(path, {.by_name = true});
    EXPECT_EQ(report.loaded.size(), 2u);
    EXPECT_EQ(report.missing.size(), 2u);
    EXPECT_EQ(half.get_weights()[0].to_vector<float>(), model.get_weights()[2].to_vector<float>());
    EXPECT_EQ(half.get_weights()[2].to_vector<float>(), kept);
  }
}

TEST_F(NamedWeights, WhatDoesNotFitIsRefusedOrReported) {
  const std::string path = folder_.file("w.safetensors");
  const Model model = network(), wider = network(7);
  model.save_weights(path);
  const std::vector<float> before = all_values(wider);
  EXPECT_THROW(wider.load_weights(path), ShapeError);
  EXPECT_EQ(all_values(wider), before);
  const LoadReport report = wider.load_weights(path, {.skip_mismatch = true});
  EXPECT_EQ(report.mismatched,
            (std::vector<std::string>{"sequential/dense_1/kernel", "sequential/dense_1/bias"}));
  EXPECT_EQ(report.loaded.size(), 6u);

  save_safetensors(path, {{"sequential/dense/kernel", Tensor::zeros({3, 4})}, {"other", Tensor(1.0f)}});
  EXPECT_THROW(model.load_weights(path), NotFoundError);
  const LoadReport part = model.load_weights(path, {.skip_mismatch = true});
  EXPECT_EQ(part.missing.size(), 7u);
  EXPECT_EQ(part.unexpected, std::vector<std::string>{"other"});
  EXPECT_EQ(part.loaded, std::vector<std::string>{"sequential/dense/kernel"});

  const Model skipped = network();
  const std::vector<float> untouched = all_values(skipped);
  model.save_weights(path);
  skipped.load_weights(path, {.objects_to_skip = skipped.layers()});
  EXPECT_EQ(all_values(skipped), untouched);
}

TEST_F(NamedWeights, ConvertBetweenDtypes) {
  const Model model = network();
  NamedArrays halves;
  for (const Variable& weight : model.weights())
    halves.emplace_back(weight.path(), ops::cast(weight.value(), DType::bfloat16));
  save_safetensors(folder_.file("half.safetensors"), halves);
  model.load_weights(folder_.file("half.safetensors"));
  EXPECT_EQ(model.weights()[0].dtype(), DType::float32);
  EXPECT_EQ(model.weights()[0].value().to_vector<float>(),
            ops::cast(halves[0].second, DType::float32).to_vector<float>());
}

/// Two lists of a subclassed model may hold layers of one name.
struct Twins final : ModelNode {
  Dense first = track("first", Dense(3, {.name = "d"}));
  Dense second = track("second", Dense(3, {.name = "d"}));
  std::string class_name() const override { return "Twins"; }
  Tensor call(Call& c, const Tensor& x) const override { return second(c, first(c, x)); }
};

TEST_F(NamedWeights, TwoVariablesOfOnePathAreRefused) {
  const Model model = make_model<Twins>();
  EXPECT_THROW(model.save_weights(folder_.file("w.safetensors")), StateError) << "not built";
  model.build({None, 3});
  EXPECT_THROW(model.save_weights(folder_.file("w.safetensors")), InvalidArgumentError);
  EXPECT_NO_THROW(model.save_weights(folder_.file("w.weights.h5")));
  EXPECT_THROW(model.save_weights(folder_.file("w.h5")), InvalidArgumentError) << "as in Keras";
}

}  // namespace
}  // namespace nyala
