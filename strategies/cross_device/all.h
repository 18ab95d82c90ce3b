#pragma once

#include <nyala/strategies/cross_device/direct_all_reduce.h>
#include <nyala/strategies/cross_device/hierarchical_copy_all_reduce.h>
#include <nyala/strategies/cross_device/nccl_all_reduce.h>
#include <nyala/strategies/cross_device/reduction_to_one_device.h>
#include <nyala/strategies/cross_device/ring_all_reduce.h>
