#include <nyala/api/layers/preprocessing/augmentation_policy.h>

#include <algorithm>
#include <cmath>

#include <nyala/api/layers/preprocessing/auto_contrast.h>
#include <nyala/api/layers/preprocessing/equalization.h>
#include <nyala/api/layers/preprocessing/random_brightness.h>
#include <nyala/api/layers/preprocessing/random_color_degeneration.h>
#include <nyala/api/layers/preprocessing/random_contrast.h>
#include <nyala/api/layers/preprocessing/random_posterization.h>
#include <nyala/api/layers/preprocessing/random_rotation.h>
#include <nyala/api/layers/preprocessing/random_sharpness.h>
#include <nyala/api/layers/preprocessing/random_shear.h>
#include <nyala/api/layers/preprocessing/random_translation.h>
#include <nyala/api/layers/preprocessing/solarization.h>
#include <nyala/backend/core/error.h>

namespace nyala {

std::vector<PolicyStep> detail::augmix_steps(bool all) {
  std::vector<PolicyStep> steps = {
      PolicyStep::shear,        PolicyStep::translation,   PolicyStep::rotation,    PolicyStep::posterization,
      PolicyStep::solarization, PolicyStep::auto_contrast, PolicyStep::equalization};
  if (all)
    for (const PolicyStep step : {PolicyStep::brightness, PolicyStep::color_degeneration,
                                  PolicyStep::contrast, PolicyStep::sharpness})
      steps.push_back(step);
  return steps;
}

// The seed is given so that none is drawn: who makes these layers draws their numbers.
Layer detail::layer_of(PolicyStep step, const AugmentationPolicy& policy) {
  const auto& [values, factor, interpolation] = policy;
  switch (step) {
    case PolicyStep::shear:
      return RandomShear(factor, factor, {.interpolation = interpolation, .seed = 0});
    case PolicyStep::translation:
      return RandomTranslation(factor, factor, {.interpolation = interpolation, .seed = 0});
    case PolicyStep::rotation:
      return RandomRotation(factor, {.interpolation = interpolation, .seed = 0});
    case PolicyStep::brightness:
      return RandomBrightness(factor, {.value_range = values, .seed = 0});
    case PolicyStep::color_degeneration:
      return RandomColorDegeneration(factor, {.value_range = values, .seed = 0});
    case PolicyStep::contrast:
      return RandomContrast(factor, {.value_range = values, .seed = 0});
    case PolicyStep::sharpness:
      return RandomSharpness(factor, {.value_range = values, .seed = 0});
    case PolicyStep::posterization:
      return RandomPosterization(std::max(1.0, std::trunc(8.0 * factor.list().back())),
                                 {.value_range = values, .seed = 0});
    case PolicyStep::solarization:
      return Solarization(
          {.addition_factor = factor, .threshold_factor = factor, .value_range = values, .seed = 0});
    case PolicyStep::auto_contrast:
      return AutoContrast({.value_range = values});
    case PolicyStep::equalization:
      return Equalization({.value_range = values});
  }
  throw InternalError("unknown step of a policy");
}

}  // namespace nyala
