#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace nyala::repo {

/// One text file of the repository.
struct SourceFile {
  std::string path;  ///< relative to the root, with '/'
  std::string text;
};

/// One #include line.
struct Include {
  std::string header;  ///< between the brackets or quotes
  bool quoted = false;
  int line = 0;  ///< from 1
};

/// The root of the repository.
std::filesystem::path root();

/// All .h, .cpp, .cu and .cuh files of the source folders and of the root, sorted by path. Build trees are
/// not entered.
const std::vector<SourceFile>& cpp_files();

/// All text files that are kept in the repository: cpp_files() and scripts, CMake files, pages, test inputs.
const std::vector<SourceFile>& text_files();

/// The file's includes, in order.
std::vector<Include> includes_of(const SourceFile& file);

/// The text with comments, string literals, character literals and preprocessor lines replaced by spaces;
/// line breaks stay where they were.
std::string code_only(const std::string& text);

/// Number of lines.
int count_lines(const std::string& text);

/// Does the path lie in the folder (or is it that file)?
bool lies_in(const std::string& path, const std::string& folder);

/// The folder that the path lies in; "" at the root.
std::string folder_of(const std::string& path);

/// True for .h and .cuh.
bool is_header(const std::string& path);

}  // namespace nyala::repo
