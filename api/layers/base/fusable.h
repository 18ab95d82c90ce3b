#pragma once

#include <optional>

#include <nyala/backend/ops/base/window.h>
#include <nyala/backend/ops/elementwise/fused_activation.h>
#include <nyala/backend/parameters/call.h>

namespace nyala {

/// What a model computes in one pass with a layer, in the order in which it happens. The fields left out do
/// not.
struct FusedParts {
  std::optional<ops::Padding> padding = {};  // zeros around an image, in place of the layer's own
  bool sum = false;                          // another tensor is added to what the layer gives
  ops::Activation activation = ops::Activation::linear;

  bool any() const { return padding || sum || activation != ops::Activation::linear; }
};

/// One call of a layer with such parts.
struct FusedCall {
  const FusedParts& parts;
  Tensor sum = {};                // what is added: its bytes are overwritten
  Tensor kernel = {}, bias = {};  // of a layer with weights(): those to use, perhaps no bias
};

/// What a layer does out of training to each channel: scale * x + offset, both (channels), float64.
struct ChannelMap {
  Tensor scale, offset;
};

/// What a layer shows of itself to models, which compute neighbours of a graph as one (LayerNode::fusable).
/// Each layer overrides what it has an answer to.
class Fusable {
 public:
  virtual ~Fusable() = default;

  /// What the layer does, where it does nothing else: a neighbour can do it instead.
  virtual FusedParts does() const { return {}; }

  /// Whether call_fused() does all of these parts in its own pass. Of layers without weights() paddings are
  /// asked for only where no value is below zero.
  virtual bool takes(const FusedParts&) const { return false; }
  /// What call() computes, with these parts.
  virtual Tensor call_fused(Call& c, const Tensor& x, const FusedCall& fused) const;

  /// The kernel, and the bias if there is one, of a layer that only multiplies by the one and adds the other,
  /// and at whose output nothing else looks; none of other layers. The channels of the output are its last
  /// axis. A model may then fold a ChannelMap into both, and in passes without gradients it asks for an
  /// activation or a sum, too.
  virtual Variables weights() const { return {}; }
  /// `kernel` with what makes channel c of the output multiplied by scale[c].
  virtual Tensor scaled(const Tensor& kernel, const Tensor& scale) const;

  /// What the ChannelMap of the last axis is made of that the layer is out of training for inputs of rank
  /// `rank`; none for other layers.
  virtual Variables map_variables(int rank) const;
  virtual ChannelMap channel_map(Call& c) const;
};

}  // namespace nyala
