#include <nyala/api/saving/ops/op_table.h>

#include <unordered_map>

#include <nyala/api/saving/ops/op_class.h>
#include <nyala/backend/core/c_locale_text.h>

namespace nyala {

namespace {

/// A row of the op's, and the op's place in it.
struct Found {
  const OpEntry* entry = nullptr;
  const TracedAs* as = nullptr;
};

struct Table {
  std::unordered_map<std::string_view, OpEntry> by_class;
  std::unordered_map<std::string_view, const OpEntry*> by_function;
  std::unordered_multimap<const OpDef*, Found> by_op;

  void add(const OpFamily& family) {
    for (const OpRow& row : family.rows) {
      const OpEntry& entry = by_class.emplace(row.class_name, OpEntry{row, family.module}).first->second;
      for (const char* function : entry.legacy.names)
        if (function) by_function.emplace(function, &entry);
      for (const TracedAs& as : entry.traced)
        if (as.op) by_op.emplace(as.op, Found{&entry, &as});
    }
  }
};

const Table& table() {
  static const Table& made = *[] {
    auto* const all = new Table;
    for (const auto family : {numpy_arithmetic_ops, numpy_function_ops, numpy_reduction_ops, numpy_shape_ops,
                              math_ops, nn_ops, core_ops, linalg_ops, linalg_ops_of_math,
                              linalg_ops_of_numpy, fourier_ops})
      all->add(family());
    return all;
  }();
  return made;
}

Found find_traced(const OpDef& op, const Descriptor& descriptor) {
  const auto [begin, end] = table().by_op.equal_range(&op);
  for (auto it = begin; it != end; ++it)
    if (!it->second.as->when || it->second.as->when(descriptor)) return it->second;
  return {};
}

/// "not_equal" -> "NotEqual".
std::string camel_case(std::string_view name) {
  std::string out;
  for (size_t i = 0; i < name.size(); ++i) {
    if (name[i] == '_') continue;
    const bool upper = i == 0 || name[i - 1] == '_';
    out += upper ? detail::to_upper(name[i]) : name[i];
  }
  return out;
}

}  // namespace

const OpEntry* find_op(std::string_view class_name) {
  const auto found = table().by_class.find(class_name);
  return found == table().by_class.end() ? nullptr : &found->second;
}

const OpEntry* find_legacy_op(std::string_view function) {
  const auto found = table().by_function.find(function);
  return found == table().by_function.end() ? nullptr : found->second;
}

OpConfig write_op(const TracedOp& op, Json args) {
  const Found found = find_traced(op.op, op.descriptor);
  if (!found.entry) {
    const char* const reason = unsupported_reason(op.op);
    op.fail(reason ? reason : "'" + std::string(op.op.name) + "' is no op of Keras'");
  }
  OpConfig out{found.entry->class_name, found.entry->module};
  out.args = std::move(args);
  if (found.as->write) found.as->write(op, out);
  return out;
}

std::string op_class_of(const OpDef& op, const Descriptor& descriptor) {
  const OpEntry* const entry = find_traced(op, descriptor).entry;
  return entry ? entry->class_name : camel_case(op.name);
}

}  // namespace nyala
