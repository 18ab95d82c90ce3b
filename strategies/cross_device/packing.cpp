// Many small reductions cost more in starts than in bytes: entries of one dtype are laid end to end, reduced
// in few pieces and cut apart as views, as TensorFlow's cross_device_ops packs gradients.
#include <nyala/strategies/cross_device/packing.h>

#include <map>

#include <nyala/backend/core/error.h>
#include <nyala/strategies/cross_device/buffers.h>

namespace nyala {

namespace {

void check_entries(const CrossDeviceOps& ops, const std::vector<Tensors>& values,
                   const std::vector<Device>& destinations) {
  const std::string where = ops.name() + ".batch_reduce";
  if (destinations.empty())
    throw InvalidArgumentError(where + ": expected at least one destination, received none");
  for (const Tensors& entry : values) {
    if (entry.empty() || entry.size() != values[0].size())
      throw InvalidArgumentError(where + ": expected " + std::to_string(values[0].size()) +
                                 " values in every entry, received " + std::to_string(entry.size()));
    for (size_t replica = 0; replica < entry.size(); ++replica) {
      if (entry[replica].shape() != entry[0].shape() || entry[replica].dtype() != entry[0].dtype())
        throw ShapeError(where + ": expected values of one shape and dtype, received " +
                         entry[0].shape().to_string() + " and " + entry[replica].shape().to_string());
      if (entry[replica].device() != values[0][replica].device())
        throw InvalidArgumentError(where + ": expected all values of a replica on one device");
    }
  }
}

/// All entries of `members` laid end to end on one replica's device.
Tensor laid_out(const std::vector<Tensors>& values, const std::vector<size_t>& members, size_t replica) {
  int64_t total = 0;
  for (size_t i : members) total += values[i][replica].num_elements();
  const Tensor& sample = values[members[0]][replica];
  const Tensor flat = Tensor::empty({total}, sample.dtype(), sample.device());
  int64_t first = 0;
  for (size_t i : members) {
    const Tensor& value = values[i][replica];
    flat.rows(first, value.num_elements()).copy_from(value.with_shape({value.num_elements()}));
    first += value.num_elements();
  }
  return flat;
}

}  // namespace

void check_num_packs(const std::string& op, int num_packs) {
  if (num_packs < 0)
    throw InvalidArgumentError(op + ": num_packs must be 0 (no packing) or more, received " +
                               std::to_string(num_packs));
}

std::vector<Pack> packs_of(int64_t elements, int num_packs) {
  const int64_t size = elements / num_packs;
  std::vector<Pack> packs;
  for (int i = 0; i < num_packs; ++i) {
    const Pack pack{i * size, i + 1 == num_packs ? elements - i * size : size};
    if (pack.count > 0) packs.push_back(pack);
  }
  return packs;
}

std::vector<Tensors> packed_batch_reduce(const CrossDeviceOps& ops, ReduceOp op,
                                         const std::vector<Tensors>& values,
                                         const std::vector<Device>& destinations, int num_packs) {
  if (num_packs == 0 || values.empty()) return ops.CrossDeviceOps::batch_reduce(op, values, destinations);
  check_entries(ops, values, destinations);
  std::map<DType, std::vector<size_t>> by_dtype;
  for (size_t i = 0; i < values.size(); ++i) by_dtype[values[i][0].dtype()].push_back(i);
  std::vector<Tensors> results(values.size());
  for (const auto& [dtype, members] : by_dtype) {
    Tensors flats;
    for (size_t replica = 0; replica < values[0].size(); ++replica)
      flats.push_back(laid_out(values, members, replica));
    for (const Pack& pack : packs_of(flats[0].num_elements(), num_packs)) {
      Tensors pieces;
      for (const Tensor& flat : flats) pieces.push_back(flat.rows(pack.first, pack.count));
      ops.all_reduce(op, pieces, false);
    }
    for (Device destination : destinations) {
      const Tensor reduced = copy_on(flats[0], destination);
      int64_t first = 0;
      for (size_t i : members) {
        const Tensor& value = values[i][0];
        results[i].push_back(reduced.rows(first, value.num_elements()).with_shape(value.shape()));
        first += value.num_elements();
      }
    }
  }
  return results;
}

}  // namespace nyala
