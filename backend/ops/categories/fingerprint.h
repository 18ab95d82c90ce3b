#pragma once

#include <array>
#include <cstdint>
#include <string_view>

namespace nyala::ops::detail {

/// FarmHash's Fingerprint64 (Geoff Pike 2014, farmhashna): the same number for the same bytes for ever, on
/// any machine. What TensorFlow's to_hash_bucket_fast takes modulo the number of buckets.
uint64_t fingerprint64(std::string_view bytes);

/// SipHash-2-4 (Aumasson and Bernstein 2012) under a key of two words, as TensorFlow's to_hash_bucket_strong.
uint64_t keyed_fingerprint64(const std::array<uint64_t, 2>& key, std::string_view bytes);

/// One fingerprint of two, in this order: TensorFlow's FingerprintCat64.
uint64_t joined_fingerprint64(uint64_t first, uint64_t second);

}  // namespace nyala::ops::detail
