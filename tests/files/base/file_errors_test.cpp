#include <nyala/files/base/file_errors.h>

#include <filesystem>
#include <fstream>
#include <string>

#include <gtest/gtest.h>

#include <nyala/backend/core/error.h>
#include <nyala/tests/support/error_text.h>
#include <nyala/tests/support/scratch_folder.h>

namespace nyala {
namespace {

TEST(FileErrors, WhatIsThereAndWhatNobodyCanLookAt) {
  const ScratchFolder folder;
  const std::string file = folder.file("file"), link = folder.file("link"), circle = folder.file("circle");
  std::ofstream(file) << "text";
  std::filesystem::create_symlink(file, link);
  std::filesystem::create_symlink(circle, circle);
  for (const std::string& path : {file, link}) EXPECT_TRUE(is_there(path) && is_file(path)) << path;
  EXPECT_TRUE(is_there(folder.path().string()));
  EXPECT_FALSE(is_file(folder.path().string()));
  for (const std::string& path : {folder.file("none"), file + "/inside", std::string()})
    EXPECT_FALSE(is_there(path) || is_file(path)) << path;
  for (const std::string& path : {circle, folder.file(std::string(300, 'q'))}) {
    expect_error<IoError>([&] { is_there(path); }, {"cannot look for '" + path + "'"});
    EXPECT_THROW(is_file(path), IoError);
  }
  EXPECT_THROW(is_there(std::string("a\0b", 3)), InvalidArgumentError);
}

}  // namespace
}  // namespace nyala
