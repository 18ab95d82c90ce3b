#include <nyala/strategies/parameter_server/function_values.h>

#include <cstring>
#include <limits>

#include <nyala/backend/core/error.h>

namespace nyala::detail {

void ValueWriter::raw(const void* from, size_t size) {
  if (size == 0) return;
  const size_t begin = bytes_.size();
  bytes_.resize(begin + size);
  std::memcpy(bytes_.data() + begin, from, size);
}

void ValueWriter::count(size_t count) {
  const auto wide = static_cast<uint64_t>(count);
  raw(&wide, sizeof wide);
}

void ValueWriter::text(const std::string& text) {
  count(text.size());
  raw(text.data(), text.size());
}

void ValueWriter::tensor(const Tensor& tensor) {
  count(tensor.defined() ? 1 : 0);
  if (!tensor.defined()) return;
  if (tensor.is_abstract())
    throw StateError("ClusterCoordinator: a symbolic tensor has no value that a worker could be sent");
  const Tensor here = tensor.to(Device{});
  text(std::string(name_of(here.dtype())));
  count(static_cast<size_t>(here.rank()));
  for (const int64_t size : here.shape()) count(static_cast<size_t>(size));
  raw(here.raw(), here.bytes());
}

void ValueWriter::element(const Element& element) {
  for (const Tensors* const part : {&element.x, &element.y}) {
    count(part->size());
    for (const Tensor& each : *part) tensor(each);
  }
  const bool for_all = element.sample_weight[element.y.size()].defined();
  count(for_all ? 1 : 0);
  const size_t outputs = for_all ? 1 : element.sample_weight.defined() ? element.y.size() : 0;
  count(outputs);
  for (size_t output = 0; output < outputs; ++output) tensor(element.sample_weight[output]);
}

void ValueReader::fail(const std::string& why) {
  throw CommunicationError("ClusterCoordinator: the values of a function " + why +
                           "; all processes run the same program");
}

void ValueReader::kind(char expected) {
  char received = 0;
  raw(&received, 1);
  if (received != expected)
    fail("are of other types: expected kind " + in_quotes(std::string(1, expected)) + ", received " +
         in_quotes(std::string(1, received)));
}

void ValueReader::raw(void* to, size_t size) {
  if (size > bytes_.size()) fail("end early");
  if (size > 0) std::memcpy(to, bytes_.data(), size);
  bytes_ = bytes_.subspan(size);
}

size_t ValueReader::count() {
  uint64_t wide = 0;
  raw(&wide, sizeof wide);
  return static_cast<size_t>(wide);
}

std::string ValueReader::text() {
  const size_t size = count();
  if (size > bytes_.size()) fail("end inside of a text");
  std::string text(size, '\0');
  raw(text.data(), size);
  return text;
}

Tensor ValueReader::tensor() {
  if (count() == 0) return {};
  const std::string dtype_name = text();
  const size_t rank = count();
  if (rank > static_cast<size_t>(Shape::kMaxRank)) fail("have a tensor of more axes than there are");
  const DType dtype = parse_dtype(dtype_name);
  Shape shape;
  size_t bytes = size_of(dtype);
  for (size_t axis = 0; axis < rank; ++axis) {
    const size_t size = count();
    if (size > static_cast<size_t>(std::numeric_limits<int64_t>::max()) ||
        __builtin_mul_overflow(bytes, size, &bytes))
      fail("have a tensor of a size that no memory has");
    shape.append(static_cast<int64_t>(size));
  }
  if (bytes > bytes_.size()) fail("end inside of a tensor");
  Tensor tensor = Tensor::empty(shape, dtype, Device{});
  raw(tensor.raw(), tensor.bytes());
  return tensor;
}

Element ValueReader::element() {
  Element element;
  for (Tensors* const part : {&element.x, &element.y})
    for (size_t left = count(); left > 0; --left) part->push_back(tensor());
  const bool for_all = count() == 1;
  Tensors weights;
  for (size_t left = count(); left > 0; --left) weights.push_back(tensor());
  if (for_all)
    element.sample_weight = weights.at(0);
  else if (!weights.empty())
    element.sample_weight = std::move(weights);
  return element;
}

void ValueReader::expect_end() const {
  if (!bytes_.empty()) fail("are " + std::to_string(bytes_.size()) + " bytes longer than expected");
}

PerWorkerValues& ValueReader::per_worker() const {
  if (!per_worker_) fail("have one that lies in each worker, which none may return");
  return *per_worker_;
}

}  // namespace nyala::detail
