#pragma once

#include <atomic>
#include <cstdlib>
#include <netinet/in.h>
#include <string>
#include <sys/socket.h>
#include <thread>
#include <unistd.h>

#include <nyala/tests/datasets/test_files.h>

namespace nyala::datasets {

/// Serves one sequence of bytes on 127.0.0.1 for the tests of fetch.
class TinyHttpServer {
 public:
  struct Behaviour {
    Bytes content = {};
    bool honours_ranges = true;
    int status = 200;
    size_t breaks_after = SIZE_MAX;  // closes the first connection after so many body bytes
  };

  explicit TinyHttpServer(Behaviour behaviour) : behaviour_(std::move(behaviour)) {
    listener_ = socket(AF_INET, SOCK_STREAM, 0);
    sockaddr_in address{};
    address.sin_family = AF_INET;
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t length = sizeof address;
    EXPECT_EQ(bind(listener_, reinterpret_cast<sockaddr*>(&address), sizeof address), 0);
    EXPECT_EQ(listen(listener_, 8), 0);
    getsockname(listener_, reinterpret_cast<sockaddr*>(&address), &length);
    port_ = ntohs(address.sin_port);
    thread_ = std::thread([this] { serve(); });
  }
  ~TinyHttpServer() {
    shutdown(listener_, SHUT_RDWR);
    thread_.join();
    close(listener_);
  }
  TinyHttpServer(const TinyHttpServer&) = delete;
  TinyHttpServer& operator=(const TinyHttpServer&) = delete;

  std::string url() const { return "http://127.0.0.1:" + std::to_string(port_) + "/set/file.gz"; }
  int requests() const { return requests_; }
  size_t bytes_sent() const { return bytes_sent_; }

 private:
  void serve() {
    for (;;) {
      const int connection = accept(listener_, nullptr, nullptr);
      if (connection < 0) return;
      answer(connection);
      close(connection);
    }
  }

  void answer(int connection) {
    std::string request;
    char buffer[2048];
    while (request.find("\r\n\r\n") == std::string::npos) {
      const ssize_t count = recv(connection, buffer, sizeof buffer, 0);
      if (count <= 0) return;
      request.append(buffer, static_cast<size_t>(count));
    }
    const int number = requests_++;
    size_t first = 0;
    const size_t range = request.find("Range: bytes="), total = behaviour_.content.size();
    if (range != std::string::npos && behaviour_.honours_ranges)
      first = static_cast<size_t>(std::atoll(request.c_str() + range + 13));
    int status = behaviour_.status;
    if (status == 200 && first > 0) status = first < total ? 206 : 416;
    const size_t body = status == 416 || status >= 400 ? 0 : total - first;
    std::string head = "HTTP/1.1 " + std::to_string(status) +
                       " x\r\nConnection: close\r\nContent-Length: " + std::to_string(body) + "\r\n";
    if (status == 206)
      head += "Content-Range: bytes " + std::to_string(first) + "-" + std::to_string(total - 1) + "/" +
              std::to_string(total) + "\r\n";
    head += "\r\n";
    send(connection, head.data(), head.size(), MSG_NOSIGNAL);
    const size_t sent = number == 0 ? std::min(body, behaviour_.breaks_after) : body;
    for (size_t at = 0; at < sent;) {
      const ssize_t count = send(connection, behaviour_.content.data() + first + at, sent - at, MSG_NOSIGNAL);
      if (count <= 0) return;
      at += static_cast<size_t>(count);
      bytes_sent_ += static_cast<size_t>(count);
    }
    shutdown(connection, SHUT_WR);
  }

  Behaviour behaviour_;
  int listener_ = -1;
  int port_ = 0;
  std::atomic<int> requests_{0};
  std::atomic<size_t> bytes_sent_{0};
  std::thread thread_;
};

}  // namespace nyala::datasets
