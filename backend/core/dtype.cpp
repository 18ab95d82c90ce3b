#include <nyala/backend/core/dtype.h>

#include <array>
#include <vector>

#include <nyala/backend/core/error.h>

namespace nyala {

using namespace nyala::detail;

namespace {

struct DTypeInfo {
  std::string_view name;
  size_t size;
  bool floating;
  int rank;  // position in the promotion order
};

constexpr std::array<DTypeInfo, 8> kInfo = {{{"float32", 4, true, 5},
                                             {"float64", 8, true, 6},
                                             {"int32", 4, false, 2},
                                             {"int64", 8, false, 3},
                                             {"uint8", 1, false, 1},
                                             {"bool", 1, false, 0},
                                             {"bfloat16", 2, true, 4},
                                             {"float16", 2, true, 4}}};

const DTypeInfo& info(DType dtype) { return kInfo[dtype.index()]; }

}  // namespace

size_t size_of(DType dtype) { return info(dtype).size; }

std::string_view name_of(DType dtype) { return info(dtype).name; }

bool is_floating(DType dtype) { return info(dtype).floating; }

DType parse_dtype(std::string_view name) {
  std::vector<std::string> names;
  for (size_t i = 0; i < kInfo.size(); ++i) {
    if (kInfo[i].name == name) return DType(static_cast<DType::Code>(i));
    names.emplace_back(kInfo[i].name);
  }
  throw InvalidArgumentError("unknown dtype " + in_quotes(name) + did_you_mean(name, names) + "; there are " +
                             quoted_list(names));
}

DType DType::of(std::string_view name) { return parse_dtype(name); }

DType promote(DType a, DType b) {
  if (a == b) return a;
  if (info(a).rank == info(b).rank) return DType::float32;  // bfloat16 with float16
  return info(a).rank > info(b).rank ? a : b;
}

bool is_weight_dtype(DType weights, DType values) {
  return is_floating(values) && (weights == values || weights == dtype_of_sums(values));
}

void detail::throw_unsupported_dtype(DType dtype, std::string_view where) {
  throw DTypeError(std::string(where) + " does not take dtype " + std::string(name_of(dtype)) +
                   "; cast to one that it takes, for example float32");
}

}  // namespace nyala
