#pragma once

#include <cstdlib>
#include <filesystem>
#include <string>

#include <unistd.h>

namespace nyala {

/// A folder with an authority's certificate (ca.pem), one that it signed for 127.0.0.1 (own.pem, own.key) and
/// that of another authority (other.pem), made by the openssl command; gone with the object.
class Certificates {
 public:
  explicit Certificates(const std::string& below)
      : folder_(below + "/certificates_" + std::to_string(::getpid())) {
    std::filesystem::create_directories(folder_);
    const std::string make =
        "cd " + folder_ +
        " && { openssl ecparam -genkey -name prime256v1 -out ca.key; "
        "openssl req -x509 -new -key ca.key -subj /CN=ca -days 2 -out ca.pem; "
        "openssl ecparam -genkey -name prime256v1 -out other.key; "
        "openssl req -x509 -new -key other.key -subj /CN=other -days 2 -out other.pem; "
        "openssl ecparam -genkey -name prime256v1 -out own.key; "
        "openssl req -new -key own.key -subj /CN=worker -out own.csr; "
        "echo subjectAltName=IP:127.0.0.1 > ext; openssl x509 -req -in own.csr -CA ca.pem "
        "-CAkey ca.key -CAcreateserial -days 2 -extfile ext -out own.pem; } >/dev/null 2>&1";
    are_there_ = std::system(make.c_str()) == 0 && std::filesystem::exists(folder_ + "/own.pem");
  }
  ~Certificates() { std::filesystem::remove_all(folder_); }
  Certificates(const Certificates&) = delete;
  Certificates& operator=(const Certificates&) = delete;

  /// False where there is no openssl command.
  bool are_there() const { return are_there_; }
  std::string path(const std::string& file) const { return folder_ + "/" + file; }

 private:
  const std::string folder_;
  bool are_there_ = false;
};

}  // namespace nyala
