#pragma once

#include <nyala/backend/core/op.h>

namespace nyala::ops {

/// The values of `x` on `device` (itself when it is there already), tracked where `x` is: the gradient goes
/// back to the device of `x`. A symbolic tensor is returned as it is.
Tensor device_copy(const Tensor& x, Device device);

/// The same where work on `device` only reads it: devices that share memory, as all CPU devices do, share the
/// bytes. For values that nobody writes while they are used.
Tensor seen_from(const Tensor& x, Device device);

namespace detail {

/// `x` where the open device() guard lets ops run; `x` as it is without a guard, or undefined. For functions
/// that record several ops as one: what they record has to be where those ran.
Tensor on_guarded_device(const Tensor& x);

}  // namespace detail

struct DeviceCopyDescriptor {
  Device device;
};
/// Only recorded: device_copy() does the work, because a kernel sees the memory of one device alone.
extern const OpDef kDeviceCopy;

}  // namespace nyala::ops
