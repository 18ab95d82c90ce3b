#pragma once

#include <array>
#include <string>
#include <vector>

#include <nyala/api/layers/base/factor_range.h>
#include <nyala/api/layers/base/layer.h>

/// The layers that RandAugment and AugMix choose from.
namespace nyala {

enum class PolicyStep : uint8_t {
  shear,
  translation,
  rotation,
  brightness,
  color_degeneration,
  contrast,
  sharpness,
  posterization,
  solarization,
  auto_contrast,
  equalization
};

/// What they have in common.
struct AugmentationPolicy {
  FactorRange value_range = {0.0, 255.0};
  FactorRange factor = {0.0, 0.5};
  std::string interpolation = "bilinear";
};

namespace detail {

/// In Keras' order.
inline constexpr std::array<PolicyStep, 11> kRandAugmentSteps = {
    PolicyStep::shear,         PolicyStep::translation,        PolicyStep::rotation,
    PolicyStep::brightness,    PolicyStep::color_degeneration, PolicyStep::contrast,
    PolicyStep::sharpness,     PolicyStep::posterization,      PolicyStep::solarization,
    PolicyStep::auto_contrast, PolicyStep::equalization};

/// AugMix's, `all` of them or those that keep colours apart.
std::vector<PolicyStep> augmix_steps(bool all);

Layer layer_of(PolicyStep step, const AugmentationPolicy& policy);

}  // namespace detail

}  // namespace nyala
