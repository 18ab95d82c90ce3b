#include <nyala/api/saving/config/op_config.h>

#include <nyala/api/saving/config/drawn_ops.h>
#include <nyala/api/saving/config/op_table.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/ops/cast.h>

namespace nyala {

namespace {

bool is_constant(const Json& json) {
  return json.is_object() && json.contains("class_name") && json.contains("config") &&
         (json["class_name"] == "__tensor__" || json["class_name"] == "__numpy__");
}

Tensor constant_of(const Json& json, const std::string& where) {
  const Json& config = json["config"];
  if (!config.is_object() || !config.contains("value"))
    throw FileFormatError(where + ": a tensor without a value");
  const bool has_dtype = config.contains("dtype") && config["dtype"].is_string();
  return ops::cast(tensor_of_numbers(config["value"], where),
                   parse_dtype(has_dtype ? config["dtype"].get<std::string>() : "float32"));
}

/// An operation that a file described.
class FileOperation final : public GraphOperation {
 public:
  FileOperation(OpConfig op, std::string where) : op_(std::move(op)), where_(std::move(where)) {
    const auto found = op_table().find(op_.class_name);
    if (found == op_table().end())
      throw FileFormatError(where_ + ": the operation " + op_.class_name + " is not built yet");
    run_ = found->second.run;
    op_.module = found->second.module;  // what a file says is a hint
    bound_ = op_;
    take_constants(bound_.args);
    take_constants(bound_.kwargs);
  }

  std::string class_name() const override { return op_.class_name; }
  const OpConfig& config() const { return op_; }

  Tensors run(const Tensors& inputs) const override {
    return run_(OpArguments({bound_, inputs, constants_, where_}));
  }

 private:
  void take_constants(Json& json) {
    if (is_constant(json)) {
      constants_.push_back(constant_of(json, where_));
      json = Json::object({{"constant", constants_.size() - 1}});
    } else if (json.is_structured()) {
      for (Json& item : json) take_constants(item);
    }
  }

  OpConfig op_, bound_;  // as the file has it, and with constants in places of their own
  std::string where_;
  Tensors constants_;
  Tensors (*run_)(const OpArguments&) = nullptr;
};

}  // namespace

OpConfig op_to_config(const GraphNode& node) {
  if (const auto* operation = dynamic_cast<const FileOperation*>(node.operation.get()))
    return operation->config();
  return drawn_op_config(node);
}

bool is_op_class(const std::string& class_name) { return op_table().contains(class_name); }

std::shared_ptr<const GraphOperation> make_operation(OpConfig config, const std::string& where) {
  return std::make_shared<FileOperation>(std::move(config), where);
}

}  // namespace nyala
