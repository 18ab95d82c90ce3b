// A file may name the same bytes many times and declare sizes without bytes. What is read from it is paid
// from what all its datasets hold together.
#include <nyala/api/saving/weights/read_budget.h>

#include <nyala/backend/core/error.h>

namespace nyala {

ReadBudget::ReadBudget(const std::vector<hdf5::Group>& roots, std::string file_name)
    : file_name_(std::move(file_name)) {
  for (const hdf5::Group& root : roots)
    for (const std::string& path : root.dataset_paths()) all_ += root.dataset(path).backed_bytes();
  left_ = all_ + kSlack;
}

void ReadBudget::spend(uint64_t bytes, const std::string& what) {
  if (bytes > left_)
    throw FileFormatError(file_name_ + ": " + what + " takes " + std::to_string(bytes) +
                          " bytes, but all that the file holds is " + std::to_string(all_) + ": refused");
  left_ -= bytes;
}

}  // namespace nyala
