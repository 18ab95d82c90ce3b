#pragma once

#include <vector>

#include <nyala/api/model/model.h>

namespace nyala {

/// How many devices, or which: `.gpus = 2`, `.gpus = {0, 2}`; none: all that are visible.
class GpuSelection {
 public:
  GpuSelection() = default;
  GpuSelection(int count) : all_(false), counted_(true), count_(count) {}
  GpuSelection(std::vector<int> ids) : all_(false), ids_(std::move(ids)) {}
  GpuSelection(std::initializer_list<int> ids) : GpuSelection(std::vector<int>(ids)) {}

  bool all() const { return all_; }
  /// The numbers that are meant where `available` devices are there. Throws InvalidArgumentError for fewer
  /// than two.
  std::vector<int> ids(int available) const;

 private:
  bool all_ = true, counted_ = false;
  int count_ = 0;
  std::vector<int> ids_;
};

struct MultiGpuModelConfig {
  /// Accelerators by number; where there are none, logical CPU devices.
  GpuSelection gpus = {};
  /// Where the outputs come together: on cpu:0, or on the first of the devices.
  bool cpu_merge = true;
  /// Moves the template's weights to cpu:0 first. They stay the template's (Keras makes a copy).
  bool cpu_relocation = false;
};

/// Keras 2's multi_gpu_model: a model that cuts its inputs into one slice per device, runs `model`, the
/// template, on all of them at the same time with the same weights, and joins the outputs. Loss, metrics and
/// optimizer see whole batches, and the numbers are those of the template on one device, BatchNormalization
/// included. Slices are those of a strategy: sizes differ by at most one, larger first (Keras gives B // n
/// rows to each and the rest to the last). Output names are the template's; where several have one name they
/// get "_1", "_2".
///
/// compile() compiles the template, too: saving either, ModelCheckpoint and Checkpoint included, saves the
/// template with its optimizer's state, and the file loads on any number of devices.
///
/// Throws, as Keras does, InvalidArgumentError for fewer than two devices and DeviceNotFoundError naming
/// wanted and present devices; StateError for a model of a strategy with several replicas.
Model multi_gpu_model(const Model& model, const MultiGpuModelConfig& config = {});

}  // namespace nyala
