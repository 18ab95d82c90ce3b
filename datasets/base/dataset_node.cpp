#include <nyala/datasets/base/dataset_node.h>

#include <string>

#include <nyala/backend/core/error.h>

namespace nyala {

DatasetNode::DatasetNode(std::span<const DatasetNodePointer> inputs) {
  for (const DatasetNodePointer& input : inputs) steps_ = std::max(steps_, input->steps_ + 1);
  if (steps_ > kMostSteps)
    throw InvalidArgumentError("Dataset: expected at most " + std::to_string(kMostSteps) +
                               " steps (map, take, ...) one behind the other, received more; one map() can " +
                               "call many functions, one repeat() count");
}

}  // namespace nyala
