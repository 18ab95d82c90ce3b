#include <nyala/datasets/load_csv.h>

#include <cerrno>
#include <charconv>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <locale>
#include <new>
#include <sstream>
#include <string>
#include <string_view>
#include <system_error>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/out_of_memory.h>
#include <nyala/files/base/file_errors.h>

namespace nyala {

using namespace nyala::detail;

namespace {

constexpr std::string_view kByteOrderMark = "\xEF\xBB\xBF";  // some programs begin files of UTF-8 with it

std::string_view trimmed(std::string_view text) {
  const char* space = " \t\r";
  const size_t begin = text.find_first_not_of(space);
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(space) - begin + 1);
}

/// Reads the lines of one file.
class CsvReader {
 public:
  CsvReader(const std::string& path, const LoadCsvConfig& config) : path_(path), config_(config) {}

  void add(std::string_view line) {
    ++line_;
    if (line_ <= config_.skip_rows || trimmed(line).empty()) return;
    row_.clear();
    for (size_t begin = 0;;) {
      const size_t end = line.find(config_.delimiter, begin);
      row_.push_back(trimmed(line.substr(begin, end - begin)));
      if (end == std::string_view::npos) break;
      begin = end + 1;
    }
    const int64_t found = static_cast<int64_t>(row_.size());
    if (width_ == 0) choose_columns(found);
    if (found != width_)
      fail(std::to_string(width_) + " fields as in the rows before", std::to_string(found));
    for (const int64_t column : columns_) values_.push_back(number(column));
  }

  Tensor table() const {
    const int64_t columns = static_cast<int64_t>(columns_.size());
    const Shape shape{columns ? static_cast<int64_t>(values_.size()) / columns : 0, columns};
    if (config_.dtype == "float64") return Tensor::from(values_, shape);
    return Tensor::from(std::vector<float>(values_.begin(), values_.end()), shape);
  }

 private:
  void choose_columns(int64_t width) {
    width_ = width;
    columns_ = config_.columns;
    for (const int64_t column : columns_)
      if (column < 0 || column >= width)
        throw InvalidArgumentError("load_csv: expected columns in [0, " + std::to_string(width) + ") of " +
                                   path_ + ", received " + std::to_string(column));
    for (int64_t column = 0; config_.columns.empty() && column < width; ++column) columns_.push_back(column);
  }

  double number(int64_t column) const {
    std::string_view text = row_[static_cast<size_t>(column)];
    if (text.starts_with('+')) text.remove_prefix(1);
    double value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    const bool is_number = error == std::errc() || error == std::errc::result_out_of_range;
    if (!is_number || end != text.data() + text.size())
      fail("a number in column " + std::to_string(column), in_quotes(text));
    return error == std::errc() ? value : out_of_range(text);
  }

  /// Infinity, zero, or what lies between zero and the smallest normal number.
  static double out_of_range(std::string_view text) {
    std::istringstream in{std::string(text)};
    in.imbue(std::locale::classic());
    double value = 0;
    in >> value;
    return std::isinf(value) || std::abs(value) < 1 ? value : std::copysign(HUGE_VAL, value);
  }

  [[noreturn]] void fail(const std::string& expected, const std::string& received) const {
    throw FileFormatError(path_ + ", line " + std::to_string(line_) + ": expected " + expected +
                          ", received " + received +
                          " (load_csv: skip_rows passes over a header, columns chooses)");
  }

  const std::string& path_;
  const LoadCsvConfig& config_;
  int64_t line_ = 0, width_ = 0;
  std::vector<int64_t> columns_;
  std::vector<std::string_view> row_;
  std::vector<double> values_;
};

}  // namespace

Tensor load_csv(const std::string& path, const LoadCsvConfig& config) {
  if (config.dtype != "float32" && config.dtype != "float64")
    throw InvalidArgumentError("load_csv: expected dtype 'float32' or 'float64', received '" + config.dtype +
                               "'" + did_you_mean(config.dtype, {"float32", "float64"}));
  (void)checked_path(path);
  std::error_code error;
  if (std::filesystem::exists(path, error) && !std::filesystem::is_regular_file(path, error))
    throw IoError("load_csv: cannot read " + path + ": it is not a regular file");
  std::ifstream in(path, std::ios::binary);
  if (!in) throw_file_error("load_csv: cannot read " + path, errno);
  in.exceptions(std::ios::badbit);  // else no memory for a line would look like the end of the file
  CsvReader reader(path, config);
  if (config.skip_rows < 0)
    throw InvalidArgumentError("load_csv: expected skip_rows of at least 0, received " +
                               std::to_string(config.skip_rows));
  size_t skipped = kByteOrderMark.size();
  try {
    for (std::string line; std::getline(in, line); skipped = 0)
      reader.add(std::string_view(line).substr(line.starts_with(kByteOrderMark) ? skipped : 0));
  } catch (const std::ios::failure&) {
    throw_file_error("load_csv: cannot read " + path, errno);
  } catch (const std::bad_alloc&) {
    throw_out_of_memory([&] { return "load_csv: no memory for what is in " + path; });
  }
  return reader.table();
}

}  // namespace nyala
