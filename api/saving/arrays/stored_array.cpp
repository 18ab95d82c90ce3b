#include <nyala/api/saving/arrays/stored_array.h>

#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/parameters/awaited_variable.h>

namespace nyala {

StoredArray read_ahead(const StoredArray& array) {
  if (!array.reads_ahead) return array;
  return {array.name, array.shape, array.dtype, [values = array.read()] { return values; }};
}

NamedArrays read_all(const StoredArrays& arrays) {
  NamedArrays values;
  for (const StoredArray& array : arrays) values.emplace_back(array.name, array.read());
  return values;
}

void load_array(const Variable& variable, const StoredArray& array) {
  const bool lies_in_one_place = variable.num_copies() == 1 && is_on_host(variable.value(0).device()) &&
                                 !variable.value(0).is_abstract() && !variable.node().home.defined();
  if (!array.copy || !lies_in_one_place || variable.dtype() != array.dtype || detail::is_awaited(variable))
    return variable.assign(ops::cast(array.read(), variable.dtype()));
  const Tensor& place = variable.value(0);
  array.copy({static_cast<std::byte*>(place.raw()), place.bytes()});
  if (place.bytes() == 0) return;
  place.storage()->bump_version();
  Tape::note_write(place);
}

}  // namespace nyala
