#pragma once

// Every metric: one line here, one below. Those with the name of a loss stay in nyala::metrics.
#include <nyala/api/metrics/accuracy.h>
#include <nyala/api/metrics/binary_accuracy.h>
#include <nyala/api/metrics/binary_crossentropy.h>
#include <nyala/api/metrics/categorical_accuracy.h>
#include <nyala/api/metrics/categorical_crossentropy.h>
#include <nyala/api/metrics/confusion_metric.h>
#include <nyala/api/metrics/mean.h>
#include <nyala/api/metrics/mean_absolute_error.h>
#include <nyala/api/metrics/mean_metric.h>
#include <nyala/api/metrics/mean_squared_error.h>
#include <nyala/api/metrics/metric.h>
#include <nyala/api/metrics/precision.h>
#include <nyala/api/metrics/recall.h>
#include <nyala/api/metrics/root_mean_squared_error.h>
#include <nyala/api/metrics/sparse_categorical_accuracy.h>
#include <nyala/api/metrics/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/sparse_top_k_categorical_accuracy.h>
#include <nyala/api/metrics/sum.h>
#include <nyala/api/metrics/top_k_categorical_accuracy.h>
#include <nyala/api/name_table.h>

namespace nyala {

namespace metrics {

using Metrics =
    ClassList<Accuracy, BinaryAccuracy, BinaryCrossentropy, CategoricalAccuracy, CategoricalCrossentropy,
              Mean, MeanAbsoluteError, MeanSquaredError, Precision, Recall, RootMeanSquaredError,
              SparseCategoricalAccuracy, SparseCategoricalCrossentropy, SparseTopKCategoricalAccuracy, Sum,
              TopKCategoricalAccuracy>;

}  // namespace metrics

using metrics::Accuracy;
using metrics::BinaryAccuracy;
using metrics::CategoricalAccuracy;
using metrics::Mean;
using metrics::Metrics;
using metrics::Precision;
using metrics::Recall;
using metrics::RootMeanSquaredError;
using metrics::SparseCategoricalAccuracy;
using metrics::SparseTopKCategoricalAccuracy;
using metrics::Sum;
using metrics::TopKCategoricalAccuracy;

}  // namespace nyala
