#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace attack {

/// What is done while memory runs out.
enum class Task : int { train, predict, load, save };
constexpr int kTasks = 4;
const char* name_of(Task task);

struct Work {
  Task task = Task::train;
  int devices = 1;
  int size = 1;      // of rows and layers: 1 for one failed allocation, more where memory is to run out
  std::string file;  // of the model that is loaded
};

/// The model of `file`, for Task::load.
void write_model(const std::string& file);

/// Makes model and data and trains, predicts, loads or saves. Throws what Nyala throws. What it computes is
/// kept in `numbers`, so that no two runs differ unnoticed.
void do_work(const Work& work, std::vector<double>& numbers);

/// A small model, trained for two epochs on one device: its losses and a sum over its weights.
void train_smaller(std::vector<double>& numbers);

/// A number of /proc/self/status ("VmSize", "VmPeak"), read as kB: in bytes.
size_t of_process(const char* which);

}  // namespace attack
