// The ops that have no row, or not for all that they do, and why.
#include <nyala/api/saving/ops/op_table.h>
#include <nyala/backend/ops/all.h>

namespace nyala {

namespace {

constexpr const char* kIsGradient = "it computes a gradient";
constexpr const char* kIsUpdate = "it belongs to an update";

constexpr const char* kIsPart = "it is part of a layer";
constexpr const char* kIsOwn = "Keras has no operation for it";

struct Reason {
  const OpDef* op;
  const char* text;
};

constexpr Reason kReasons[] = {
    {&ops::kAffine, "it scales and shifts at once; use Rescaling"},
    {&ops::kRelu, "Keras has no operation for this relu; use the ReLU layer"},
    {&ops::kClippedRelu, "Keras has no operation for this relu; use the ReLU layer"},
    {&ops::kAffineTransform, "Keras' AffineTransform is not built for files"},
    {&ops::kBatchNormalizationApply, "Keras' BatchNorm is not built for files"},
    {&ops::kConv2D, "Keras' Conv is not built for files"},
    {&ops::kConv2DBackwardInput, "Keras' ConvTranspose is not built for files"},
    {&ops::kConv3D, "Keras' Conv is not built for files"},
    {&ops::kConv3DBackwardInput, "Keras' ConvTranspose is not built for files"},
    {&ops::kSparseCategoricalCrossentropy, "Keras' SparseCategoricalCrossentropy is not built for files"},
    {&ops::kCategoricalCrossentropy, "Keras' CategoricalCrossentropy is not built for files"},
    {&ops::kBinaryCrossentropy, "Keras' BinaryCrossentropy is not built for files"},
    {&ops::kCtcLoss, "Keras' CTCLoss is not built for files"},
    {&ops::kDigitize, "Keras' Digitize is not built for files"},
    {&ops::kDotProductAttention, "Keras' DotProductAttention is not built for files"},
    {&ops::kLayerNormalization, "Keras' LayerNorm is not built for files"},
    {&ops::kMaxPooling2D, "Keras' MaxPool is not built for files"},
    {&ops::kAveragePooling2D, "Keras' AveragePool is not built for files"},
    {&ops::kResizeImages, "Keras' Resize is not built for files"},
    {&ops::kSpread, kIsGradient},
    {&ops::kAddInPlace, kIsUpdate},
    {&ops::kMovingAverage, kIsUpdate},
    {&ops::kSquaredSums, kIsUpdate},
    {&ops::kClipFactors, kIsUpdate},
    {&ops::kScatterInto, kIsUpdate},
    {&ops::kSumBuffers, kIsUpdate},
    {&ops::kMuonMomentum, kIsUpdate},
    {&ops::kMuonPolynomial, kIsUpdate},
    {&ops::kMuonStep, kIsUpdate},
    {&ops::kBatchMoments, kIsPart},
    {&ops::kMergeMoments, kIsPart},
    {&ops::kBatchNormalizationForward, kIsPart},
    {&ops::kBatchNormalizationSums, kIsPart},
    {&ops::kBatchNormalizationTrain, kIsPart},
    {&ops::kConv2DOnto, kIsPart},
    {&ops::kCrossedHashBuckets, kIsPart},
    {&ops::kDense, kIsPart},
    {&ops::kDropout, kIsPart},
    {&ops::kGru, kIsPart},
    {&ops::kHashBuckets, kIsPart},
    {&ops::kImageTransforms, kIsPart},
    {&ops::kLookup, kIsPart},
    {&ops::kLstm, kIsPart},
    {&ops::kNoise, kIsPart},
    {&ops::kUniformRows, kIsPart},
    {&ops::kLogGammaRows, kIsPart},
    {&ops::kMish, kIsOwn},
    {&ops::kSquaredDifference, kIsOwn},
    {&ops::kDeviceCopy, kIsOwn},
    {&ops::kCountNotFinite, kIsOwn},
    {&ops::kReplicaAllReduce, kIsOwn},
    {&ops::kReplicaAllGather, kIsOwn},
};

}  // namespace

const char* unsupported_reason(const OpDef& op) {
  for (const Reason& reason : kReasons)
    if (reason.op == &op) return reason.text;
  // Other gradients and updates are called so.
  const auto is_called = [&](std::string_view word) { return op.name.find(word) != std::string_view::npos; };
  if (is_called("gradient") || is_called("backward")) return kIsGradient;
  return is_called("update") ? kIsUpdate : nullptr;
}

}  // namespace nyala
