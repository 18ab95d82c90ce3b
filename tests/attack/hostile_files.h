#pragma once

#include <filesystem>
#include <random>
#include <string>
#include <vector>

#include <nyala/api/model/model.h>

namespace nyala::attack {

using Random = std::mt19937_64;

inline size_t below(Random& random, size_t n) { return n == 0 ? 0 : random() % n; }

/// A sound file; its name's ending says how it is read.
struct Sample {
  std::string name;
  std::string content;
};

std::string content_of(const std::filesystem::path& path);
void write(const std::filesystem::path& path, const std::string& content);

/// What own.weights.h5, own.npz and the like hold the weights of.
Model small_model();

/// Writes own.* into the folder: formats of which the repository has no file, or that only one reader takes.
void make_files(const std::filesystem::path& folder);

/// Those and the repository's, in the order of their names.
std::vector<Sample> collect(const std::filesystem::path& made);

/// Predicts and trains a step.
void use(const Model& model);

/// Reads the file as its name says, and uses the model that is in it, if one is. With `weights_are_whole` a
/// model of a file must have finite weights: std::logic_error.
void read(const std::string& path, const std::string& name, bool weights_are_whole);

/// What is wrong with the exception that reading a file has thrown: it is none of Nyala's, does not name the
/// file, or has letters that a terminal would obey. Empty where nothing is.
std::string defect_of(const std::exception& error, const std::string& path, const std::string& name);

}  // namespace nyala::attack
