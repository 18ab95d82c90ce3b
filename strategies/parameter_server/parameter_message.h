#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

#include <nyala/strategies/control/control_message.h>
#include <nyala/strategies/parameter_server/parameter_bytes.h>

namespace nyala::detail {

inline constexpr const char* kParameterMethod = "/nyala.ParameterServer/Call";

/// The first message of a call: this, and behind it the first chunk of the payload; each further message is a
/// chunk. All chunks have kParameterChunk bytes, the last one what is left.
struct ParameterCallHead {
  std::string token = {};
  std::string header = {};
  uint64_t bytes = 0;  ///< of the payload
};

/// The first message of an answer, likewise.
struct ParameterAnswerHead {
  bool is_refused = false;
  std::string header = {};  ///< or why it is refused
  uint64_t bytes = 0;
};

/// The most that a message may have.
inline constexpr size_t kMaxParameterMessage = kMaxParameterHeader + kMaxControlToken + kParameterChunk + 64;

/// Of a text that says why: it is cut behind so many bytes.
inline constexpr size_t kMaxRefusal = 4096;

std::string encode(const ParameterCallHead& head);
std::string encode(const ParameterAnswerHead& head);

/// Read from the beginning of a message. Throw CommunicationError saying what is wrong with it: no length is
/// believed.
ParameterCallHead decode_parameter_call(ByteReader& message);
ParameterAnswerHead decode_parameter_answer(ByteReader& message);

/// The size of the chunk at that place of a payload.
inline size_t parameter_chunk(uint64_t left) {
  return left < kParameterChunk ? static_cast<size_t>(left) : kParameterChunk;
}

/// Throws CommunicationError where the rest of a message is not the chunk that has to come.
void check_parameter_chunk(const ByteReader& message, uint64_t left);

}  // namespace nyala::detail
