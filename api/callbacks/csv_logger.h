#pragma once

#include <cstdio>
#include <memory>
#include <string>
#include <vector>

#include <nyala/api/callbacks/base/callback.h>
#include <nyala/api/callbacks/base/takes_over.h>

namespace nyala {

struct CSVLoggerConfig {
  std::string separator = ",";
  bool append = false;
};

/// Writes one row per epoch to a file: the epoch from 0, then the logs in alphabetical order of their names,
/// which the first row holds. Names of validation values have their columns even if the first epoch lacks
/// them; what is missing is "NA". With append an existing file is continued without a second header. Lines
/// end with CR LF, as Python's csv module writes them. Of several processes one writes each row, once, also
/// where processes are lost meanwhile. Where fit goes on after a backup (BackupAndRestore), the row of the
/// epoch that is done again takes the place of the one that the lost process wrote last; stand it in front
/// of BackupAndRestore, or a process lost between the two leaves an epoch without its row.
class CSVLogger : public Callback, public TakesOver {
 public:
  using Config = CSVLoggerConfig;
  /// Throws InvalidArgumentError unless the separator is one character.
  explicit CSVLogger(std::string filename, const Config& config = {});
  template <size_t N>
  explicit CSVLogger(std::string, const NoSuchField (&)[N]) = delete;

  /// Throw IoError naming the file.
  void on_train_begin(Logs& logs) override;
  void on_epoch_end(int epoch, Logs& logs) override;
  void on_train_end(Logs& logs) override;
  void take_over(const std::vector<std::pair<int, Logs>>& finished) override;

 private:
  void open(bool appends);
  std::string line_of(const std::vector<std::string>& cells) const;
  void write_line(std::string line);
  bool has_row(int epoch, const std::string& line) const;
  bool takes_place_of_row(int epoch, const std::string& line) const;
  void remove_last_row();
  void choose_columns(const Logs& logs);

  std::string filename_;
  Config config_;
  std::shared_ptr<std::FILE> file_;
  std::vector<std::string> columns_;
  bool columns_chosen_ = false;
  bool writes_header_ = true;
  int first_epoch_ = -1;  // of this training, once it is known
};

}  // namespace nyala
