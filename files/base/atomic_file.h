#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>

namespace nyala {

/// Writes a file so that its path holds the old content or the whole new one, whatever happens (kill -9, a
/// full disk, an exception): the content goes into `<path>.nyala-tmp-<pid>-<16 random digits>` beside it (of
/// a long name, the part of it that leaves room for the rest), is flushed to the disk, and the file is
/// renamed over the old one. A symbolic link stays one: the file it leads to is replaced, or made where there
/// is none yet. The permissions of an old file are kept.
///
/// Several threads and processes may write the same path at once: each writes its own temporary file, the
/// last one to commit wins. Temporary files of killed writers of this path are removed by the next writer.
/// Everything throws IoError with the path and the reason of the system, OutOfMemoryError where that is
/// memory. A file that may not grow (RLIMIT_FSIZE) is such an IoError, too: SIGXFSZ does not arrive.
class AtomicFile {
 public:
  /// Creates the empty temporary file. Throws also if `path` exists and is no regular file, and
  /// where no file can be called so.
  explicit AtomicFile(const std::string& path);
  /// Removes the temporary file unless commit() succeeded.
  ~AtomicFile();
  AtomicFile(const AtomicFile&) = delete;
  AtomicFile& operator=(const AtomicFile&) = delete;

  const std::string& temporary_path() const { return temporary_; }
  /// Appends to the temporary file. The disk begins with what is large while more is written.
  void write(std::span<const std::byte> bytes);
  /// Replaces bytes that were written already, from `position` on.
  void rewrite(uint64_t position, std::span<const std::byte> bytes);
  /// Flushes the temporary file to the disk, renames it and flushes the folder. Call once.
  void commit();

 private:
  void create_temporary();
  void adopt_permissions() const;
  [[noreturn]] void fail(const char* what, int code) const;

  std::string path_;       ///< as given
  std::string target_;     ///< behind symbolic links
  std::string prefix_;     ///< of its temporary files' names
  std::string temporary_;  ///< empty once renamed
  int descriptor_ = -1;    ///< holds a lock, which says that the writer lives
  uint64_t written_ = 0,
           handed_over_ = 0;  ///< bytes of the file, and those that the disk was told to begin with
};

/// Removes the temporary files that killed writers left in `folder`: of the files there, written or not, whose
/// names `is_one` takes. Those of writers that live and all others stay; so does everything in a folder that
/// cannot be read.
void remove_left_by_killed_writers(const std::string& folder,
                                   const std::function<bool(std::string_view name)>& is_one);

/// Replaces the content of `path` by `bytes`, as AtomicFile.
void write_file_atomically(const std::string& path, std::span<const std::byte> bytes);

/// Replaces `path` by what `fill` writes to the (existing, empty) file at the path it gets, as AtomicFile.
/// Nothing changes if `fill` throws.
void write_file_atomically(const std::string& path,
                           const std::function<void(const std::string& temporary)>& fill);

}  // namespace nyala
