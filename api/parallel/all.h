#pragma once

// Every classical way to use several devices: one line each.
#include <nyala/api/parallel/data_parallel.h>
#include <nyala/api/parallel/make_parallel.h>
#include <nyala/api/parallel/multi_gpu_model.h>
#include <nyala/api/parallel/parallel_model_checkpoint.h>
