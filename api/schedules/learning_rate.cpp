#include <nyala/api/base/fields.h>
#include <nyala/api/schedules/learning_rate.h>

namespace nyala {

void FieldVisitor::field(const char* name, LearningRate& value) {
  if (value.is_schedule()) return;
  double rate = value.rate();
  field(name, rate);
  value = LearningRate(rate);
}

}  // namespace nyala
