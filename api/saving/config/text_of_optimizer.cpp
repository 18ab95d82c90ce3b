#include <nyala/api/saving/config/training_config.h>
#include <nyala/api/training/training_by_workers.h>

namespace nyala {

std::string text_of_optimizer(BaseOptimizer& optimizer) { return optimizer_to_json(optimizer).dump(); }

}  // namespace nyala
