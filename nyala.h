#pragma once

#if __cplusplus < 202002L
#error "Nyala needs C++20: compile with -std=c++20"
#elif !defined(__cpp_rtti)
#error "Nyala needs types at run time (dynamic_cast): compile without -fno-rtti"
#else

// Programs and older libraries have macros of these names; they are as before behind the headers. Mean and
// Sum can then not be named by them.
#pragma push_macro("A")
#undef A
#pragma push_macro("B")
#undef B
#pragma push_macro("C")
#undef C
#pragma push_macro("D")
#undef D
#pragma push_macro("E")
#undef E
#pragma push_macro("F")
#undef F
#pragma push_macro("K")
#undef K
#pragma push_macro("M")
#undef M
#pragma push_macro("P")
#undef P
#pragma push_macro("R")
#undef R
#pragma push_macro("S")
#undef S
#pragma push_macro("T")
#undef T
#pragma push_macro("U")
#undef U
#pragma push_macro("V")
#undef V
#pragma push_macro("N")
#undef N
#pragma push_macro("index")
#undef index
#pragma push_macro("id")
#undef id
#pragma push_macro("minmax")
#undef minmax
#pragma push_macro("Mean")
#undef Mean
#pragma push_macro("Sum")
#undef Sum

// Everything that a user types.
#include <nyala/api/activations/activations.h>
#include <nyala/api/callbacks/all.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/estimator/train_and_evaluate.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/model/model.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/parallel/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/saving/arrays/numpy.h>
#include <nyala/api/saving/arrays/safetensors.h>
#include <nyala/api/saving/checkpoint.h>
#include <nyala/api/saving/load_model.h>
#include <nyala/api/schedules/all.h>
#include <nyala/api/serving/local_server.h>
#include <nyala/api/serving/serve_parameters.h>
#include <nyala/api/training/replica_step.h>
#include <nyala/api/training/training_pass.h>
#include <nyala/api/utils/all.h>
#include <nyala/api/utils/progress_bar.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/float32_precision.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/core/version.h>
#include <nyala/backend/ops/all.h>
#include <nyala/backend/runtime/device_registry.h>
#include <nyala/datasets/base/dataset.h>
#include <nyala/datasets/cifar10.h>
#include <nyala/datasets/cifar100.h>
#include <nyala/datasets/fashion_mnist.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/datasets/image/image_dataset.h>
#include <nyala/datasets/image/load_img.h>
#include <nyala/datasets/image/save_img.h>
#include <nyala/datasets/io/data_file.h>
#include <nyala/datasets/load_csv.h>
#include <nyala/datasets/mnist.h>
#include <nyala/datasets/pad_sequences.h>
#include <nyala/models/all.h>
#include <nyala/strategies/central_storage.h>
#include <nyala/strategies/cluster/all.h>
#include <nyala/strategies/cross_device/all.h>
#include <nyala/strategies/cluster_coordinator.h>
#include <nyala/strategies/communicators/file_rendezvous.h>
#include <nyala/strategies/connect.h>
#include <nyala/strategies/generator.h>
#include <nyala/strategies/mirrored.h>
#include <nyala/strategies/multi_worker.h>
#include <nyala/strategies/one_device.h>
#include <nyala/strategies/parameter_server/partitioners.h>
#include <nyala/strategies/parameter_server_strategy.h>
#include <nyala/strategies/seed_generator.h>

#pragma pop_macro("A")
#pragma pop_macro("B")
#pragma pop_macro("C")
#pragma pop_macro("D")
#pragma pop_macro("E")
#pragma pop_macro("F")
#pragma pop_macro("K")
#pragma pop_macro("M")
#pragma pop_macro("P")
#pragma pop_macro("R")
#pragma pop_macro("S")
#pragma pop_macro("T")
#pragma pop_macro("U")
#pragma pop_macro("V")
#pragma pop_macro("N")
#pragma pop_macro("index")
#pragma pop_macro("id")
#pragma pop_macro("minmax")
#pragma pop_macro("Mean")
#pragma pop_macro("Sum")

#endif
