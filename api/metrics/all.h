#pragma once

// Every metric: one line here, one below. Those with the name of a loss stay in nyala::metrics.
#include <nyala/api/base/name_table.h>
#include <nyala/api/metrics/accuracy/accuracy.h>
#include <nyala/api/metrics/accuracy/binary_accuracy.h>
#include <nyala/api/metrics/accuracy/categorical_accuracy.h>
#include <nyala/api/metrics/accuracy/sparse_categorical_accuracy.h>
#include <nyala/api/metrics/accuracy/sparse_top_k_categorical_accuracy.h>
#include <nyala/api/metrics/accuracy/top_k_categorical_accuracy.h>
#include <nyala/api/metrics/base/mean_metric.h>
#include <nyala/api/metrics/base/metric.h>
#include <nyala/api/metrics/base/metric_sums.h>
#include <nyala/api/metrics/base/stateful_metric.h>
#include <nyala/api/metrics/confusion/auc.h>
#include <nyala/api/metrics/confusion/confusion_metric.h>
#include <nyala/api/metrics/confusion/false_negatives.h>
#include <nyala/api/metrics/confusion/false_positives.h>
#include <nyala/api/metrics/confusion/precision.h>
#include <nyala/api/metrics/confusion/precision_at_recall.h>
#include <nyala/api/metrics/confusion/recall.h>
#include <nyala/api/metrics/confusion/recall_at_precision.h>
#include <nyala/api/metrics/confusion/sensitivity_at_specificity.h>
#include <nyala/api/metrics/confusion/specificity_at_sensitivity.h>
#include <nyala/api/metrics/confusion/true_negatives.h>
#include <nyala/api/metrics/confusion/true_positives.h>
#include <nyala/api/metrics/correlation/concordance_correlation.h>
#include <nyala/api/metrics/correlation/pearson_correlation.h>
#include <nyala/api/metrics/f_score/f1_score.h>
#include <nyala/api/metrics/f_score/f_beta_score.h>
#include <nyala/api/metrics/f_score/f_score_metric.h>
#include <nyala/api/metrics/hinge/categorical_hinge.h>
#include <nyala/api/metrics/hinge/hinge.h>
#include <nyala/api/metrics/hinge/squared_hinge.h>
#include <nyala/api/metrics/iou/binary_iou.h>
#include <nyala/api/metrics/iou/iou.h>
#include <nyala/api/metrics/iou/iou_metric.h>
#include <nyala/api/metrics/iou/mean_iou.h>
#include <nyala/api/metrics/iou/one_hot_iou.h>
#include <nyala/api/metrics/iou/one_hot_mean_iou.h>
#include <nyala/api/metrics/probabilistic/binary_crossentropy.h>
#include <nyala/api/metrics/probabilistic/categorical_crossentropy.h>
#include <nyala/api/metrics/probabilistic/kl_divergence.h>
#include <nyala/api/metrics/probabilistic/poisson.h>
#include <nyala/api/metrics/probabilistic/sparse_categorical_crossentropy.h>
#include <nyala/api/metrics/reduction/mean.h>
#include <nyala/api/metrics/reduction/sum.h>
#include <nyala/api/metrics/regression/cosine_similarity.h>
#include <nyala/api/metrics/regression/log_cosh_error.h>
#include <nyala/api/metrics/regression/mean_absolute_error.h>
#include <nyala/api/metrics/regression/mean_absolute_percentage_error.h>
#include <nyala/api/metrics/regression/mean_squared_error.h>
#include <nyala/api/metrics/regression/mean_squared_logarithmic_error.h>
#include <nyala/api/metrics/regression/r2_score.h>
#include <nyala/api/metrics/regression/root_mean_squared_error.h>

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
