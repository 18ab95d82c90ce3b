#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <nyala/files/hdf5/group.h>

namespace nyala {

/// How much memory the content of an HDF5 file (or of several) may take: what its datasets really hold, and
/// kSlack. A file that claims more (sizes that nothing backs, one dataset named again and again) is refused
/// before memory is.
class ReadBudget {
 public:
  static constexpr uint64_t kSlack = uint64_t{24} << 20;

  /// Looks through the file. Throws FileFormatError.
  ReadBudget(const std::vector<hdf5::Group>& roots, std::string file_name);

  /// Throws FileFormatError saying that `what` does not fit into what is left.
  void spend(uint64_t bytes, const std::string& what);

 private:
  std::string file_name_;
  uint64_t all_ = 0, left_ = 0;
};

}  // namespace nyala
