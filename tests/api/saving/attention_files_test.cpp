#include <functional>
#include <string>
#include <utility>
#include <vector>

#include <gmock/gmock.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/saving/formats/legacy_ops.h>
#include <nyala/backend/core/error.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Model attention_model() {
  const Input x({4, 6});
  return Model(x, MultiHeadAttention(2, 3)(x, x));
}

TEST(AttentionFiles, PrivateNamesOfOlderFilesAreUnderstood) {
  const ScratchFolder folder("attention_files");
  for (const std::string container : {"layers", "_layer_checkpoint_dependencies"}) {
    SCOPED_TRACE(container);
    const Model model = attention_model(), other = attention_model();
    hdf5::Writer writer;
    const Tensors weights = model.get_weights();
    size_t next = 0;
    for (const char* name : {"_query_dense", "_key_dense", "_value_dense", "_output_dense"})
      for (const char* index : {"0", "1"}) {
        const Tensor& value = weights.at(next++);
        writer.write_dataset<float>(container + "/multi_head_attention/" + name + "/vars/" + index,
                                    value.shape(), value.data<float>());
      }
    const std::string path = folder.file("old.weights.h5");
    writer.save(path);
    other.load_weights(path);
    const Tensors loaded = other.get_weights();
    for (size_t i = 0; i < weights.size(); ++i)
      EXPECT_EQ(loaded[i].to_vector<float>(), weights[i].to_vector<float>()) << i;
  }
}

Json lambda(const std::string& function, const std::string& nodes) {
  return parse_json(R"({"class_name": "TFOpLambda", "config": {"name": "op", "function": ")" + function +
                        R"("}, "inbound_nodes": )" + nodes + "}",
                    "lambda");
}

/// The call of the operation that an op lambda becomes, tensors by the names of their layers.
std::string call_of(const std::string& function, const std::string& nodes) {
  const Json entry = op_of_lambda(lambda(function, nodes), "file");
  Json args = entry["inbound_nodes"][0]["args"];
  const std::function<void(Json&)> shorten = [&](Json& json) {
    if (json.is_object() && json.contains("config") && json["config"].contains("keras_history"))
      json = json["config"]["keras_history"][0];
    else if (json.is_structured())
      for (Json& item : json) shorten(item);
  };
  shorten(args);
  Json config = entry["config"];
  config.erase("name");
  return entry["class_name"].get<std::string>() + args.dump() + config.dump();
}

TEST(LegacyOps, BecomeOperations) {
  EXPECT_EQ(call_of("__operators__.add", R"([["a", 0, 0, {"y": ["b", 0, 0], "name": null}]])"),
            R"(Add["a","b"]{})");
  EXPECT_EQ(call_of("math.subtract", R"([["_CONSTANT_VALUE", -1, 1, {"y": ["a", 0, 0]}]])"),
            R"(Subtract[1,"a"]{})");
  EXPECT_EQ(call_of("math.reduce_sum", R"([["a", 0, 0, {"axis": [1, 2], "keepdims": true}]])"),
            R"(Sum["a"]{"axis":[1,2],"keepdims":true})");
  EXPECT_EQ(call_of("concat", R"([[["a", 0, 0, {"axis": -1}], ["b", 0, 0, {"axis": -1}]]])"),
            R"(Concatenate[["a","b"]]{"axis":-1})");
  EXPECT_EQ(call_of("linalg.matmul", R"([["a", 0, 0, {"b": ["b", 0, 0], "transpose_b": true}]])"),
            R"(Einsum["a","b"]{"subscripts":"...ik,...jk->...ij"})");
  EXPECT_EQ(call_of("where", R"([["a", 0, 0, {"x": ["b", 0, 0], "y": 2.5}]])"), R"(Where["a","b",2.5]{})");
  EXPECT_EQ(call_of("nn.gelu", R"([["a", 0, 0, {}]])"), R"(Gelu["a"]{"approximate":false})");
  EXPECT_THAT(call_of("__operators__.getitem",
                      R"([["a", 0, 0, {"slice_spec": [{"start": 1, "stop": null, "step": null}, 0]}]])"),
              HasSubstr(R"({"class_name":"__slice__","config":{"start":1,"stop":null,"step":null}},0)"));
}

TEST(LegacyOps, RefuseWhatIsNotBuilt) {
  const auto message = [](const std::string& function, const std::string& nodes, const std::string& part) {
    EXPECT_THAT([&] { op_of_lambda(lambda(function, nodes), "file"); },
                ThrowsMessage<FileFormatError>(HasSubstr(part)));
  };
  message("linalg.svd", R"([["a", 0, 0, {}]])", "'op' (tf.linalg.svd) is not built yet");
  message("math.reduce_sum", R"([["a", 0, 0, {"reduction_indices": [1]}]])", "'reduction_indices'");
  message("math.exp", R"([])", "one call");
  message("math.exp", R"([[]])", "called with nothing");
  message("math.exp", R"([3])", "called with nothing");
  message("math.exp", R"("x")", "one call");
}

}  // namespace
}  // namespace nyala
