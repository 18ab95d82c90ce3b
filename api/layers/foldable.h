#pragma once

#include <optional>

#include <nyala/backend/ops/fused_activation.h>
#include <nyala/backend/ops/window.h>
#include <nyala/backend/parameters/call.h>

/// What layers show of themselves to models, which compute neighbours of a graph as one (folded_layer.h).
namespace nyala {

/// One call of a layer with a kernel, with what its neighbours do.
struct FoldedCall {
  const Tensor& kernel;
  const Tensor& bias;  // perhaps undefined
  ops::Activation activation = ops::Activation::linear;
  Tensor sum = {};  // what the result is added to before the activation: its bytes are overwritten
  const ops::Padding* padding = nullptr;  // in place of the layer's own
};

/// A layer with a kernel and perhaps a bias. Every element of the output belongs to a channel, the last axis.
class FoldableLayer {
 public:
  virtual ~FoldableLayer() = default;
  /// Whether the layer only multiplies by the kernel and adds the bias: it has no activation, and nothing
  /// else looks at its output. Others are not folded.
  virtual bool is_affine() const = 0;
  /// Whether call_with() takes an activation, a sum, a padding.
  virtual bool takes_activation() const { return false; }
  virtual bool takes_sum() const { return false; }
  virtual bool takes_padding() const { return false; }
  virtual const Variable& kernel() const = 0;
  virtual const Variable& bias() const = 0;  // empty: none
  /// `kernel` with what makes channel c of the output multiplied by scale[c].
  virtual Tensor scaled(const Tensor& kernel, const Tensor& scale) const = 0;
  /// What call() computes, with these changes.
  virtual Tensor call_with(Call& c, const Tensor& x, const FoldedCall& changes) const = 0;
};

/// What a layer does out of training to each channel: scale * x + offset, both (channels), float64.
struct ChannelMap {
  Tensor scale, offset;
};

/// A layer that is a ChannelMap out of training: BatchNormalization.
class MapsChannels {
 public:
  virtual ~MapsChannels() = default;
  /// Whether the channels are the last axis of inputs of rank `rank`.
  virtual bool maps_last_axis(int rank) const = 0;
  /// What the map is made of.
  virtual Variables map_variables() const = 0;
  virtual ChannelMap channel_map(Call& c) const = 0;
};

/// A layer that takes the largest values of windows. Zeros around values that are nowhere below zero change
/// nothing in it.
class PoolsMaxima {
 public:
  virtual ~PoolsMaxima() = default;
  /// Whether it may leave these zeros out: it pads by nothing itself, and no window lies on them alone.
  virtual bool takes_padding(const ops::Padding& padding) const = 0;
  /// What call() makes of `x` with these zeros around it.
  virtual Tensor call_padded(const Tensor& x, const ops::Padding& padding) const = 0;
};

/// A layer that adds zeros around an image: ZeroPadding2D.
class PadsWithZeros {
 public:
  virtual ~PadsWithZeros() = default;
  /// Nothing where the layer pads in a way that no convolution does.
  virtual std::optional<ops::Padding> zero_padding() const = 0;
};

}  // namespace nyala
