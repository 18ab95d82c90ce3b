#include <cmath>

#include <nyala/api/regularizers/factor.h>
#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

void detail::check_factor(const std::string& class_name, const std::string& field, double factor) {
  if (!std::isfinite(factor))
    throw InvalidArgumentError(class_name + ": expected a finite " + field + ", received " +
                               number_text(factor));
}

}  // namespace nyala
