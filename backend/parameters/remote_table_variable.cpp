#include <nyala/backend/parameters/remote_table_variable.h>

#include <algorithm>
#include <numeric>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/undying.h>
#include <nyala/backend/ops/base/cast.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr int64_t kTableBlockBytes = int64_t{8} << 20;

/// Calls body(first, ids) for blocks of consecutive rows.
template <class Body>
void for_row_blocks(const Shape& shape, const Body& body) {
  const int64_t row_bytes = shape.slice(1, shape.rank()).num_elements() * int64_t{sizeof(float)};
  const int64_t most = std::max<int64_t>(1, kTableBlockBytes / std::max<int64_t>(row_bytes, 1));
  std::vector<int64_t> ids;
  for (int64_t row = 0; row < shape[0]; row += most) {
    ids.resize(static_cast<size_t>(std::min(most, shape[0] - row)));
    std::iota(ids.begin(), ids.end(), row);
    body(row, ids);
  }
}

Tensor place_for_all(const VariableNode& node) {
  try {
    return Tensor::empty(node.spec.shape, node.spec.dtype, Device{});
  } catch (const OutOfMemoryError&) {
    rethrow_with_prefix("variable " + in_quotes(node.spec.path) +
                        ", a table on parameter servers, as a whole (layers read it by rows): ");
  }
}

}  // namespace

const RemoteTableVariable& RemoteTableVariable::instance() {
  static const detail::Undying<RemoteTableVariable> kind;
  return *kind;
}

Tensor RemoteTableVariable::read(const VariableNode& node, const VariablePlace&) const {
  const std::shared_ptr<RowSource> source = source_of(node);
  Tensor all = place_for_all(node);
  for_row_blocks(node.spec.shape, [&](int64_t first, const std::vector<int64_t>& ids) {
    all.rows(first, static_cast<int64_t>(ids.size())).copy_from(source->pull(node, ids));
  });
  return all;
}

void RemoteTableVariable::write(VariableNode& node, const VariablePlace&, const VariableWrite& write) const {
  const std::shared_ptr<RowSource> source = source_of(node);
  const Tensor value = write.value.detached().to(Device{});
  if (write.kind == VariableWrite::Kind::assign) {
    for_row_blocks(node.spec.shape, [&](int64_t first, const std::vector<int64_t>& ids) {
      source->assign(node, ids, value.rows(first, static_cast<int64_t>(ids.size())));
    });
  } else if (write.kind == VariableWrite::Kind::scatter && write.scatter == ops::ScatterKind::update) {
    const std::vector<int64_t> ids =
        ops::cast(write.indices.detached(), DType::int64).to(Device{}).to_vector<int64_t>();
    source->assign(node, ids, value);
  } else {
    throw StateError(place_of(node, write) +
                     "the table lies on parameter servers; expected assign or scatter_update");
  }
}

}  // namespace nyala
