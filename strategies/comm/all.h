#pragma once

#include <nyala/strategies/comm/direct_all_reduce.h>
#include <nyala/strategies/comm/hierarchical_copy_all_reduce.h>
#include <nyala/strategies/comm/nccl_all_reduce.h>
#include <nyala/strategies/comm/reduction_to_one_device.h>
#include <nyala/strategies/comm/ring_all_reduce.h>
