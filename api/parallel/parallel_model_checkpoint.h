#pragma once

#include <string>

#include <nyala/api/callbacks/model_checkpoint.h>
#include <nyala/api/model/model.h>

namespace nyala {

/// ModelCheckpoint that saves `model`, the template, while another model is trained: the class that users of
/// Keras' multi_gpu_model write. Here a plain ModelCheckpoint does the same for a model of multi_gpu_model or
/// DataParallel; this one also serves models that are parallel in another way.
class ParallelModelCheckpoint : public ModelCheckpoint {
 public:
  explicit ParallelModelCheckpoint(Model model, std::string filepath, const Config& config = {})
      : ModelCheckpoint(std::move(filepath), config), template_(std::move(model)) {}
  template <size_t N>
  explicit ParallelModelCheckpoint(Model, std::string, const NoSuchField (&)[N]) = delete;

 protected:
  const Model& saved_model() const override { return template_; }

 private:
  Model template_;
};

}  // namespace nyala
