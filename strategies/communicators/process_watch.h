#pragma once

namespace nyala::detail {

/// Tells whether a process of this host has ended, though its number may be another one's by now.
class ProcessWatch {
 public:
  ProcessWatch() = default;
  ~ProcessWatch();
  ProcessWatch(const ProcessWatch&) = delete;
  ProcessWatch& operator=(const ProcessWatch&) = delete;

  bool watches() const { return process_ > 0; }
  /// To be called while it lives.
  void watch(int process);
  bool ended();

 private:
  int process_ = 0;
  int descriptor_ = -1;  // none where the kernel is older than 5.3
  bool ended_ = false;
};

}  // namespace nyala::detail
