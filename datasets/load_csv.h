#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nyala/backend/core/tensor.h>

namespace nyala {

struct LoadCsvConfig {
  char delimiter = ',';
  int64_t skip_rows = 0;              // lines before the numbers: 1 for a header
  std::vector<int64_t> columns = {};  // those to take, counted from 0; empty: all
  std::string dtype = "float32";      // or "float64"
};

/// A table of numbers as (rows, columns), as numpy.loadtxt(path, delimiter=","): a row per line, empty lines
/// and a byte order mark are passed over, "nan" is a number. Throws IoError, InvalidArgumentError for columns
/// that are not there, and FileFormatError naming line and column of a field that is no number or of a row of
/// another length.
Tensor load_csv(const std::string& path, const LoadCsvConfig& config = {});

}  // namespace nyala
