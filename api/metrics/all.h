#pragma once

// Every metric: one line here, one below. Those with the name of a loss stay in nyala::metrics.
#include <nyala/api/base/name_table.h>
#include <nyala/api/metrics/accuracy.h>
#include <nyala/api/metrics/auc.h>
#include <nyala/api/metrics/binary_accuracy.h>
#include <nyala/api/metrics/binary_crossentropy.h>
#include <nyala/api/metrics/binary_iou.h>
#include <nyala/api/metrics/categorical_accuracy.h>
#include <nyala/api/metrics/categorical_crossentropy.h>
#include <nyala/api/metrics/categorical_hinge.h>
#include <nyala/api/metrics/concordance_correlation.h>
#include <nyala/api/metrics/confusion_metric.h>
#include <nyala/api/metrics/cosine_similarity.h>
#include <nyala/api/metrics/f1_score.h>
#include <nyala/api/metrics/f_beta_score.h>
#include <nyala/api/metrics/f_score_metric.h>
#include <nyala/api/metrics/false_negatives.h>
#include <nyala/api/metrics/false_positives.h>
#include <nyala/api/metrics/hinge.h>
#include <nyala/api/metrics/iou.h>
#include <nyala/api/metrics/iou_metric.h>
#include <nyala/api/metrics/kl_divergence.h>
#include <nyala/api/metrics/log_cosh_error.h>
#include <nyala/api/metrics/mean.h>
#include <nyala/api/metrics/mean_absolute_error.h>
#include <nyala/api/metrics/mean_absolute_percentage_error.h>
#include <nyala/api/metrics/mean_iou.h>
#include <nyala/api/metrics/mean_metric.h>
#include <nyala/api/metrics/mean_squared_error.h>
#include <nyala/api/metrics/mean_squared_logarithmic_error.h>
#include <nyala/api/metrics/metric.h>
#include <nyala/api/metrics/metric_sums.h>
#include <nyala/api/metrics/one_hot_iou.h>
#include <nyala/api/metrics/one_hot_mean_iou.h>
#include <nyala/api/metrics/pearson_correlation.h>
#include <nyala/api/metrics/poisson.h>
#include <nyala/api/metrics/precision.h>
#include <nyala/api/metrics/precision_at_recall.h>
#include <nyala/api/metrics/r2_score.h>
#include <nyala/api/metrics/recall.h>
#include <nyala/api/metrics/recall_at_precision.h>
#include <nyala/api/metrics/root_mean_squared_error.h>
#include <nyala/api/metrics/sensitivity_at_specificity.h>
#include <nyala/api/metrics/sparse_categorical_accuracy.h>
#include <nyala/api/metrics/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/sparse_top_k_categorical_accuracy.h>
#include <nyala/api/metrics/specificity_at_sensitivity.h>
#include <nyala/api/metrics/squared_hinge.h>
#include <nyala/api/metrics/stateful_metric.h>
#include <nyala/api/metrics/sum.h>
#include <nyala/api/metrics/top_k_categorical_accuracy.h>
#include <nyala/api/metrics/true_negatives.h>
#include <nyala/api/metrics/true_positives.h>

namespace nyala {

namespace metrics {

using Metrics =
    ClassList<AUC, Accuracy, BinaryAccuracy, BinaryCrossentropy, BinaryIoU, CategoricalAccuracy,
              CategoricalCrossentropy, CategoricalHinge, ConcordanceCorrelation, CosineSimilarity, F1Score,
              FBetaScore, FalseNegatives, FalsePositives, Hinge, IoU, KLDivergence, LogCoshError, Mean,
              MeanAbsoluteError, MeanAbsolutePercentageError, MeanIoU, MeanSquaredError,
              MeanSquaredLogarithmicError, OneHotIoU, OneHotMeanIoU, PearsonCorrelation, Poisson, Precision,
              PrecisionAtRecall, R2Score, Recall, RecallAtPrecision, RootMeanSquaredError,
              SensitivityAtSpecificity, SparseCategoricalAccuracy, SparseCategoricalCrossentropy,
              SparseTopKCategoricalAccuracy, SpecificityAtSensitivity, SquaredHinge, Sum,
              TopKCategoricalAccuracy, TrueNegatives, TruePositives>;

}  // namespace metrics

using metrics::Accuracy;
using metrics::AUC;
using metrics::BinaryAccuracy;
using metrics::BinaryIoU;
using metrics::CategoricalAccuracy;
using metrics::ConcordanceCorrelation;
using metrics::F1Score;
using metrics::FalseNegatives;
using metrics::FalsePositives;
using metrics::FBetaScore;
using metrics::IoU;
using metrics::LogCoshError;
using metrics::Mean;
using metrics::MeanIoU;
using metrics::Metrics;
using metrics::OneHotIoU;
using metrics::OneHotMeanIoU;
using metrics::PearsonCorrelation;
using metrics::Precision;
using metrics::PrecisionAtRecall;
using metrics::R2Score;
using metrics::Recall;
using metrics::RecallAtPrecision;
using metrics::RootMeanSquaredError;
using metrics::SensitivityAtSpecificity;
using metrics::SparseCategoricalAccuracy;
using metrics::SparseTopKCategoricalAccuracy;
using metrics::SpecificityAtSensitivity;
using metrics::Sum;
using metrics::TopKCategoricalAccuracy;
using metrics::TrueNegatives;
using metrics::TruePositives;

}  // namespace nyala
