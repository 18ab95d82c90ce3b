#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include <nyala/files/hdf5/dataset.h>

namespace nyala::hdf5 {

/// A folder in a file: a handle that keeps the file's bytes alive. May be used by several threads at once.
///
/// Paths are relative to this group ("dense/vars/0") or, with a leading '/', to the root. A path that leads
/// nowhere throws NotFoundError with the nearest name; one that leads over a soft, external or user-defined
/// link, into one of its own parents (a circle), or deeper than 128 groups throws FileFormatError, and so
/// does anything damaged on the way.
class Group {
 public:
  /// The root group. Used by File. Throws FileFormatError.
  explicit Group(ImagePtr image);

  /// From the root, "/" or "/layers/dense".
  const std::string& path() const;
  /// Names of everything in this group, sorted byte by byte ("10" before "2"). Links that cannot be followed
  /// included.
  std::vector<std::string> names() const;
  bool has(std::string_view path) const;
  bool has_group(std::string_view path) const { return has_kind(path, ObjectKind::group); }
  bool has_dataset(std::string_view path) const { return has_kind(path, ObjectKind::dataset); }
  Group group(std::string_view path) const;
  Dataset dataset(std::string_view path) const;
  Attributes attributes() const;

  /// Full paths of all datasets in this group and its groups. Throws FileFormatError for a link that cannot
  /// be followed and for a group that can be reached by two paths.
  std::vector<std::string> dataset_paths() const;

  /// Throws FileFormatError where the file holds other names than it was written with, or one object under
  /// two: for files with kNamesChecksum at their root, unless nothing is verified.
  void check_names() const;

 private:
  struct State;
  struct Target;

  explicit Group(std::shared_ptr<const State> state) : state_(std::move(state)) {}
  /// The root for an absolute path, else this group.
  Group start_of(std::string_view path) const;
  Target resolve(std::string_view path) const;
  Group child(const Target& target) const;
  /// Calls f(target) for everything in this group and its groups. Throws FileFormatError as dataset_paths().
  template <class F>
  void for_each_object(F&& f) const;
  bool has_kind(std::string_view path, ObjectKind kind) const;

  std::shared_ptr<const State> state_;
};

}  // namespace nyala::hdf5
