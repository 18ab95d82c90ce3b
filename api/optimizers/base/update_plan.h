#pragma once

#include <vector>

#include <nyala/backend/ops/update/optimizer_updates.h>
#include <nyala/backend/parameters/parameter_store.h>

namespace nyala {

/// One run of elements that a formula updates: flat tensors of equal length on one device.
struct UpdateRange {
  Tensor weight;
  Tensor gradient;
  std::vector<Tensor> slot_tensors;
  /// Undefined unless moving averages are kept.
  Tensor average;
  /// What gradients are multiplied by: float64 (1) on the device.
  Tensor factor;
  /// The numbers of this step, float64 on the device: three common ones
  /// (backend/ops/update/optimizer_updates.h), then those of UpdateFormula::step_scalars.
  Tensor scalars;
  /// Where whole variables are wanted: which one this is, and its shape.
  Variable variable;
  Shape shape;
  /// Weight decay and clipping by value of this range.
  ops::UpdateDescriptor preparation;
};

/// A run of gradients whose sums of squares are wanted.
struct NormRange {
  Tensor gradient;
  Tensor partials;
};

/// What clips gradients; at most one.
enum class Clipping { none, value, norm, global_norm };

/// What an optimizer wants of each plan.
struct UpdatePlanOptions {
  Variables variables;
  std::vector<double> decays;    // weight decay per variable, 0: none
  bool whole_variables = false;  // a range for each variable, however large
  Clipping clipping = Clipping::none;
  double clip_limit = 0.0;
  size_t num_slots = 0;
  size_t num_formula_scalars = 0;
  bool averages = false;
};

/// The tensors with which an optimizer updates one set of weights, cut into slices for as many threads. Made
/// once: later steps take no memory. Where it is cut changes no result.
class UpdatePlan {
 public:
  UpdatePlan(const UpdatePlanOptions& options, ParameterStore& store, int copy,
             std::vector<Plane>& slot_planes, Plane* averages);

  /// Takes the gradients of `replica` and makes `slices` slices, unless that is how things are.
  void arrange(int replica, int slices);
  /// 0 before arrange().
  int slices() const { return slices_; }

  /// This step's numbers: as many as kFirstFormulaScalar and the formula's.
  void set_scalars(const std::vector<double>& values) const { scalars_.copy_from_host(values.data()); }

  bool measures_norms() const { return partials_.defined(); }
  /// Partial sums of one slice's gradients.
  void measure(int slice) const;
  /// The factors from all partial sums.
  void combine_norms() const;

  const std::vector<UpdateRange>& ranges(int slice) const { return ranges_[static_cast<size_t>(slice)]; }

 private:
  /// A segment of weights that is treated alike.
  struct Part {
    Segment segment;
    double decay = 0.0;
    size_t variable = 0;
    int64_t first_partial = 0;
  };
  /// Elements [begin, end) of one part.
  struct Piece {
    size_t part = 0;
    int64_t begin = 0;
    int64_t end = 0;
  };

  void add_parts();
  void make_norm_tensors();
  std::vector<std::vector<Piece>> cut(int slices, int64_t alignment, bool whole = false) const;
  Segment segment_of(const Piece& piece) const;
  UpdateRange range_of(const Piece& piece, int replica) const;
  NormRange norm_range_of(const Piece& piece, int replica) const;

  UpdatePlanOptions options_;
  ParameterStore& store_;
  DType dtype_;
  int copy_;
  std::vector<Plane>& slots_;
  Plane* averages_;
  std::vector<Part> parts_;
  Tensor scalars_, partials_, offsets_, factors_;
  int replica_ = -1;
  int slices_ = 0;
  std::vector<std::vector<UpdateRange>> ranges_;
  std::vector<std::vector<NormRange>> norm_ranges_;
};

}  // namespace nyala
