#include <filesystem>
#include <functional>
#include <map>
#include <string>

#include <gtest/gtest.h>

#include <nyala/api/layers/all.h>
#include <nyala/api/saving/weights/weights_file.h>
#include <nyala/files/hdf5/file.h>
#include <nyala/files/hdf5/writer.h>
#include <nyala/tests/golden/make_model.h>

namespace nyala::golden::weights_test {
namespace {

/// The Keras class of the same name in areas/weights_files.py: an attribute tracked twice is a list.
struct WithList final : ModelNode {
  Dense first = track("blocks", Dense(4, {.activation = "tanh"}));
  Dense second = track("blocks", Dense(4, {.activation = "tanh"}));
  Dense head = track("head", Dense(2));
  Tensor call(Call& c, const Tensor& x) const override { return head(c, second(c, first(c, x))); }
};

Json case_of(const std::string& file) {
  const Json golden = load("weights_files.json");
  for (const Json& entry : golden.at("cases"))
    if (entry.at("file") == file) return entry;
  throw std::runtime_error("no case " + file);
}

hdf5::FileImage image_of(const Model& model) {
  hdf5::Writer writer;
  write_weights(model, writer);
  return writer.finish();
}

using Names = std::map<std::string, std::string>;

/// Path of every group -> its `name`, "-" where it has none.
void collect(const hdf5::Group& group, Names& names) {
  for (const std::string& child : group.names()) {
    if (!group.has_group(child)) continue;
    const hdf5::Group below = group.group(child);
    names[below.path()] = below.attributes().has("name") ? below.attributes().string("name") : "-";
    collect(below, names);
  }
}

Names names_of(const Model& model) {
  const hdf5::FileImage image = image_of(model);
  const hdf5::File file = hdf5::File::from_bytes(image.bytes, image.owner, "saved");
  Names names;
  collect(file.root(), names);
  return names;
}

Names expected_names(const Json& entry) {
  Names names;
  for (const Json& group : entry.at("groups"))
    names[group.at("path").as_string()] =
        group.at("name").is_null() ? "-" : group.at("name").get<std::string>();
  return names;
}

/// Groups, empty ones too, and their names are those of Keras' files. Automatic names differ between
/// sessions.
TEST(GoldenWeights, GroupsAndNamesAsKerasWritesThem) {
  const Json golden = load("weights_files.json");
  for (const Json& entry : golden.at("cases")) {
    if (!entry.at("model").is_object()) continue;
    clear_session();
    const Model model = make_model_of(entry.at("model"));
    if (!entry.at("compile").is_null())
      model.compile(make_compile_config(entry.at("compile"), entry.at("model")));
    Names found = names_of(model), expected = expected_names(entry);
    for (auto& [path, name] : found) {
      const bool automatic = path == "/optimizer/vars" || path.find("input_layer") != std::string::npos;
      if (automatic && name.starts_with(expected[path])) name = expected[path];
    }
    EXPECT_EQ(found, expected) << entry.at("file");
  }
}

TEST(GoldenWeights, ListsOfASubclassedModel) {
  const Json entry = case_of("subclassed_list.weights.h5");
  const Model model = make_model<WithList>();
  const Tensor x = tensor(entry.at("x").at(0));
  model.build(x.shape());
  model.load_weights((directory() / entry.at("file").as_string()).string());
  expect_close(model.predict(x, {.verbose = 0}), entry.at("predict"), entry.at("file").as_string());
  Names found = names_of(model), expected = expected_names(entry);
  for (auto& [path, name] : expected) {
    ASSERT_TRUE(found.contains(path)) << path;
    EXPECT_EQ(found[path] == "-", name == "-") << path;
  }
  EXPECT_EQ(found.size(), expected.size());
}

}  // namespace
}  // namespace nyala::golden::weights_test
