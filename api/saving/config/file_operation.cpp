#include <nyala/api/saving/config/file_operation.h>

#include <nyala/api/saving/ops/op_constants.h>
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

/// An operation that a file described.
class FileOperation final : public GraphOperation {
 public:
  FileOperation(OpConfig op, std::string where, Tensors& inputs)
      : op_(std::move(op)), where_(std::move(where)) {
    const OpEntry* const entry = find_op(op_.class_name);
    if (!entry) throw FileFormatError(where_ + ": the operation " + op_.class_name + " is not built yet");
    read_ = entry->read;
    op_.module = entry->module;  // what a file says is a hint
    bound_ = op_;
    take_constants(bound_.args, inputs);
    take_constants(bound_.kwargs, inputs);
  }

  std::string class_name() const override { return op_.class_name; }
  const OpConfig& config() const { return op_; }

  Tensors run(const Tensors& inputs) const override {
    return read_(OpArguments({bound_, inputs, where_}));
  }

 private:
  void take_constants(Json& json, Tensors& inputs) {
    if (is_constant(json)) {
      inputs.push_back(constant_from_json(json, where_));
      json = Json::object({{"input", inputs.size() - 1}});
    } else if (json.is_structured()) {
      for (Json& item : json) take_constants(item, inputs);
    }
  }

  OpConfig op_, bound_;  // as the file has it, and with its constants among the inputs
  std::string where_;
  Tensors (*read_)(const OpArguments&) = nullptr;
};

}  // namespace

OpConfig op_to_config(const GraphNode& node) {
  if (const auto* operation = dynamic_cast<const FileOperation*>(node.operation.get()))
    return operation->config();
  Json args = Json::array();
  for (size_t i = 0; i < node.inputs.size(); ++i)
    args.push_back(symbolic(node.inputs[i]) ? Json::object({{"input", i}})
                                            : constant_to_json(node.inputs[i]));
  return write_op({*node.op, node.descriptor, node.inputs, node.outputs, node.name}, std::move(args));
}

std::shared_ptr<const GraphOperation> make_operation(OpConfig config, const std::string& where,
                                                     Tensors& inputs) {
  return std::make_shared<FileOperation>(std::move(config), where, inputs);
}

}  // namespace nyala
