// An update as a list of ranges made once: neighbouring variables that decay alike are one range of the
// arena, cut into slices of equal size for the replicas' threads. Clipping by norm needs sums over variables
// first: squares are added in chunks of fixed size, in double, and the chunks in their order, so that the
// slices do not change the norm.
#include <algorithm>
#include <map>

#include <nyala/api/optimizers/base/update_plan.h>
#include <nyala/backend/ops/base/dispatch.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int64_t kCutAlignment = 64;

Tensor element(const Tensor& vector, int64_t index) { return vector.rows(index, 1); }

}  // namespace

UpdatePlan::UpdatePlan(const UpdatePlanOptions& options, ParameterStore& store, int copy,
                       std::vector<Plane>& slots, Plane* averages)
    : options_(options),
      store_(store),
      dtype_(options.variables.front().dtype()),
      copy_(copy),
      slots_(slots),
      averages_(averages) {
  const int64_t scalars = ops::kFirstFormulaScalar + static_cast<int64_t>(options.num_formula_scalars);
  scalars_ = Tensor::zeros({scalars}, DType::float64, store.weights_device(copy));
  add_parts();
  if (options.clipping == Clipping::norm || options.clipping == Clipping::global_norm) make_norm_tensors();
}

// Norms and formulas of single variables need a part for each; else neighbours that decay alike are one.
void UpdatePlan::add_parts() {
  std::map<double, Variables> groups;
  for (size_t i = 0; i < options_.variables.size(); ++i) {
    const Variable& variable = options_.variables[i];
    if (options_.clipping == Clipping::norm || options_.whole_variables)
      parts_.push_back({variable.node().segment, options_.decays[i], i});
    else
      groups[options_.decays[i]].push_back(variable);
  }
  for (const auto& [decay, variables] : groups)
    for (const Segment& segment : merged_segments(variables)) parts_.push_back({segment, decay});
}

void UpdatePlan::make_norm_tensors() {
  std::vector<int64_t> offsets = {0};
  int64_t total = 0;
  for (Part& part : parts_) {
    part.first_partial = total;
    total += (part.segment.count + ops::kNormChunk - 1) / ops::kNormChunk;
    if (options_.clipping == Clipping::norm) offsets.push_back(total);
  }
  if (options_.clipping == Clipping::global_norm) offsets.push_back(total);
  const Device device = store_.weights_device(copy_);
  partials_ = Tensor::zeros({total}, DType::float64, device);
  offsets_ = Tensor::from(offsets, {static_cast<int64_t>(offsets.size())}, device);
  factors_ = Tensor::zeros({static_cast<int64_t>(offsets.size()) - 1}, DType::float64, device);
}

// Slices of equal size over all parts, cut at multiples of `alignment` within a part, or between `whole`
// parts.
std::vector<std::vector<UpdatePlan::Piece>> UpdatePlan::cut(int slices, int64_t alignment, bool whole) const {
  int64_t total = 0;
  for (const Part& part : parts_) total += part.segment.count;
  std::vector<std::vector<Piece>> result(static_cast<size_t>(slices));
  int64_t before = 0;
  for (size_t i = 0; i < parts_.size(); ++i) {
    const int64_t count = parts_[i].segment.count;
    const auto place = [&](int slice) {
      if (slice == slices) return count;
      const int64_t local = std::max<int64_t>(total * slice / slices - before, 0);
      if (whole) return 2 * local > count ? count : 0;
      return std::min(local / alignment * alignment, count);
    };
    for (int slice = 0; slice < slices; ++slice)
      if (place(slice) < place(slice + 1))
        result[static_cast<size_t>(slice)].push_back({i, place(slice), place(slice + 1)});
    before += count;
  }
  return result;
}

Segment UpdatePlan::segment_of(const Piece& piece) const {
  const Segment& whole = parts_[piece.part].segment;
  return {whole.chunk, whole.offset + piece.begin, piece.end - piece.begin};
}

UpdateRange UpdatePlan::range_of(const Piece& piece, int replica) const {
  const Segment segment = segment_of(piece);
  const ArenaLayout& layout = store_.layout(dtype_);
  UpdateRange range;
  range.weight = store_.weights(copy_, dtype_, segment);
  range.gradient = store_.gradients(replica, dtype_, segment);
  for (Plane& slot : slots_) range.slot_tensors.push_back(slot.view(layout, segment));
  if (averages_) range.average = averages_->view(layout, segment);
  range.scalars = scalars_;
  range.factor = !factors_.defined()                   ? element(scalars_, ops::kGradientScaleScalar)
                 : options_.clipping == Clipping::norm ? element(factors_, static_cast<int64_t>(piece.part))
                                                       : factors_;
  const Part& part = parts_[piece.part];
  range.preparation.decay = part.decay;
  if (options_.whole_variables) {
    range.variable = options_.variables[part.variable];
    range.shape = range.variable.shape();
  }
  if (options_.clipping == Clipping::value) range.preparation.clip_value = options_.clip_limit;
  return range;
}

NormRange UpdatePlan::norm_range_of(const Piece& piece, int replica) const {
  const int64_t first = parts_[piece.part].first_partial + piece.begin / ops::kNormChunk;
  const int64_t count = (piece.end - piece.begin + ops::kNormChunk - 1) / ops::kNormChunk;
  return {store_.gradients(replica, dtype_, segment_of(piece)), partials_.rows(first, count)};
}

void UpdatePlan::arrange(int replica, int slices) {
  if (replica == replica_ && slices == slices_) return;
  slices_ = 0;  // until all ranges are there
  ranges_.assign(static_cast<size_t>(slices), {});
  norm_ranges_.assign(static_cast<size_t>(slices), {});
  const auto pieces = cut(slices, kCutAlignment, options_.whole_variables);
  for (size_t slice = 0; slice < pieces.size(); ++slice)
    for (const Piece& piece : pieces[slice]) ranges_[slice].push_back(range_of(piece, replica));
  if (measures_norms()) {
    const auto norm_pieces = cut(slices, ops::kNormChunk);
    for (size_t slice = 0; slice < norm_pieces.size(); ++slice)
      for (const Piece& piece : norm_pieces[slice])
        norm_ranges_[slice].push_back(norm_range_of(piece, replica));
  }
  replica_ = replica;
  slices_ = slices;
}

void UpdatePlan::measure(int slice) const {
  for (const NormRange& range : norm_ranges_[static_cast<size_t>(slice)])
    dispatch_into(ops::kSquaredSums, NoDescriptor{}, {&range.gradient}, range.partials);
}

void UpdatePlan::combine_norms() const {
  const ops::ClipFactorsDescriptor clip{options_.clip_limit, options_.clipping == Clipping::global_norm};
  dispatch_into(ops::kClipFactors, clip, {&partials_, &offsets_, &scalars_}, factors_);
}

}  // namespace nyala
