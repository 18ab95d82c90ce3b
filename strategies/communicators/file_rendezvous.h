#pragma once

#include <string>

#include <nyala/strategies/communicators/rendezvous.h>

namespace nyala {

/// A Rendezvous of processes that see one folder: a file per key. The folder must exist, belong to this user
/// and let nobody else write; what a former run left in it is in the way of one that uses the same keys.
class FileRendezvous final : public Rendezvous {
 public:
  /// Throws IoError where `folder` is none, InvalidArgumentError where others may write there.
  explicit FileRendezvous(std::string folder);
  ~FileRendezvous() override;
  FileRendezvous(const FileRendezvous&) = delete;
  FileRendezvous& operator=(const FileRendezvous&) = delete;

  void set(std::string_view key, std::string_view value) override;
  std::optional<std::string> get(std::string_view key) override;
  std::string wait(std::string_view key, std::chrono::milliseconds timeout) override;
  std::string describe() const override { return "the folder " + folder_; }

 private:
  [[noreturn]] void refuse(const std::string& what) const;

  std::string folder_;
  int descriptor_ = -1;
};

}  // namespace nyala
