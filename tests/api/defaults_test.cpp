#include <cmath>
#include <cstdlib>
#include <fstream>
#include <map>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include <nyala/api/callbacks/all.h>
#include <nyala/api/constraints/all.h>
#include <nyala/api/initializers/all.h>
#include <nyala/api/layers/all.h>
#include <nyala/api/losses/all.h>
#include <nyala/api/metrics/all.h>
#include <nyala/api/optimizers/all.h>
#include <nyala/api/regularizers/all.h>
#include <nyala/api/schedules/all.h>
#include <nyala/tests/api/field_printer.h>

namespace nyala {

using namespace nyala::detail;
namespace {

struct Parameter {
  std::string name, value;
};
using Signature = std::vector<Parameter>;

/// Keras' constructor signatures by "kind class", without self, *args and **kwargs.
std::map<std::string, Signature> read_signatures() {
  std::ifstream file(std::string(NYALA_SOURCE_DIR) + "/tests/golden/data/defaults.tsv");
  std::map<std::string, Signature> signatures;
  std::string line;
  while (std::getline(file, line)) {
    std::istringstream cells(line);
    std::string object, kind;
    Parameter parameter;
    std::getline(cells, object, '\t');
    std::getline(cells, kind, '\t');
    std::getline(cells, parameter.name, '\t');
    std::getline(cells, parameter.value);
    Signature& signature = signatures[kind + " " + object];
    if (parameter.name.find('*') == std::string::npos) signature.push_back(parameter);
  }
  return signatures;
}

const Signature& signature_of(const std::string& object) {
  static const auto signatures = read_signatures();
  const auto found = signatures.find(object);
  if (found == signatures.end()) throw std::runtime_error("defaults.tsv has no " + object);
  return found->second;
}

/// Python prints 2 and 2.0 differently; both are the number two.
bool same_value(const std::string& a, const std::string& b) {
  if (a == b) return true;
  char *end_a = nullptr, *end_b = nullptr;
  const double x = std::strtod(a.c_str(), &end_a), y = std::strtod(b.c_str(), &end_b);
  return !a.empty() && !b.empty() && *end_a == 0 && *end_b == 0 && x == y;
}

/// What a class has on purpose otherwise.
struct Differences {
  std::set<std::string> missing = {};               // Keras parameters that Nyala does not have (yet)
  std::map<std::string, std::string> changed = {};  // defaults that differ, with Nyala's
  std::set<std::string> added = {};                 // fields that Keras takes as keywords of its base class
};

/// Names are looked at apart; dtypes follow the tensors and the layer.
bool is_common(const std::string& name) { return name == "name" || name == "dtype"; }

Signature fields_of(const FieldPrinter& printer) {
  Signature fields;
  for (const auto& [name, value] : printer.fields())
    if (!is_common(name)) fields.push_back({name, value});
  return fields;
}

/// The default of `name`, where Keras has one and Nyala does not make it automatically.
template <class Config>
void expect_name(const Config& config, const Signature& signature) {
  for (const Parameter& parameter : signature)
    if (parameter.name == "name" && parameter.value != "None" && !config.name.empty()) {
      EXPECT_EQ("'" + config.name + "'", parameter.value);
    }
}

/// Fields in the order of Keras' signature, with its defaults.
template <class Class>
void expect_defaults(const std::string& object, const Differences& differences = {}) {
  SCOPED_TRACE(object);
  typename Class::Config config;
  if constexpr (requires { config.name.empty(); }) expect_name(config, signature_of(object));
  FieldPrinter printer;
  config.fields(printer);
  Signature expected;
  for (const Parameter& parameter : signature_of(object))
    if (!differences.missing.contains(parameter.name) && !is_common(parameter.name))
      expected.push_back(parameter);
  Signature fields = fields_of(printer);
  std::erase_if(fields, [&](const Parameter& field) { return differences.added.contains(field.name); });
  ASSERT_EQ(fields.size(), expected.size());
  for (size_t i = 0; i < expected.size(); ++i) {
    const auto& [name, value] = fields[i];
    EXPECT_EQ(name, expected[i].name) << "field " << i;
    const auto changed = differences.changed.find(name);
    const std::string wanted = changed == differences.changed.end() ? expected[i].value : changed->second;
    EXPECT_TRUE(wanted == "(required)" || same_value(value, wanted))
        << name << ": " << value << ", Keras " << wanted;
  }
}

TEST(Defaults, Layers) {
  expect_defaults<Activation>("layer Activation");
  expect_defaults<Add>("layer Add");
  expect_defaults<AugMix>("layer AugMix");
  expect_defaults<AutoContrast>("layer AutoContrast", {.added = {"data_format"}});
  expect_defaults<AveragePooling2D>("layer AveragePooling2D");
  expect_defaults<BatchNormalization>("layer BatchNormalization",
                                      {.missing = {"renorm", "renorm_clipping", "renorm_momentum"}});
  expect_defaults<Concatenate>("layer Concatenate");
  expect_defaults<ContrastLimitedAdaptiveHistogramEqualization>(
      "layer ContrastLimitedAdaptiveHistogramEqualization");
  expect_defaults<Conv2D>("layer Conv2D", {.added = {"lora_rank", "lora_alpha"}});
  expect_defaults<CutMix>("layer CutMix");
  expect_defaults<Dense>("layer Dense", {.missing = {"quantization_config"}});
  expect_defaults<Dropout>("layer Dropout");
  expect_defaults<Embedding>("layer Embedding",
                             {.missing = {"weights", "quantization_config"},
                              .changed = {{"embeddings_initializer", "'random_uniform'"}}});
  expect_defaults<Equalization>("layer Equalization");
  expect_defaults<Flatten>("layer Flatten");
  expect_defaults<GlobalAveragePooling2D>("layer GlobalAveragePooling2D");
  expect_defaults<GlobalMaxPooling2D>("layer GlobalMaxPooling2D");
  expect_defaults<MaxNumBoundingBoxes>("layer MaxNumBoundingBoxes",
                                       {.added = {"bounding_box_format", "data_format"}});
  expect_defaults<MaxPooling2D>("layer MaxPooling2D");
  expect_defaults<MixUp>("layer MixUp");
  expect_defaults<RandAugment>("layer RandAugment");
  expect_defaults<RandomColorDegeneration>("layer RandomColorDegeneration");
  expect_defaults<RandomColorJitter>("layer RandomColorJitter");
  expect_defaults<RandomElasticTransform>("layer RandomElasticTransform");
  expect_defaults<RandomErasing>("layer RandomErasing");
  expect_defaults<RandomGaussianBlur>("layer RandomGaussianBlur", {.changed = {{"kernel_size", "(3, 3)"}}});
  expect_defaults<RandomGrayscale>("layer RandomGrayscale");
  expect_defaults<RandomHue>("layer RandomHue");
  expect_defaults<RandomInvert>("layer RandomInvert");
  expect_defaults<RandomPerspective>("layer RandomPerspective");
  expect_defaults<RandomPosterization>("layer RandomPosterization");
  expect_defaults<RandomSaturation>("layer RandomSaturation");
  expect_defaults<RandomSharpness>("layer RandomSharpness");
  expect_defaults<RandomShear>("layer RandomShear");
  expect_defaults<ReLU>("layer ReLU");
  expect_defaults<Rescaling>("layer Rescaling");
  expect_defaults<Reshape>("layer Reshape");
  expect_defaults<Softmax>("layer Softmax");
  expect_defaults<Solarization>("layer Solarization", {.added = {"data_format"}});
  expect_defaults<ZeroPadding2D>("layer ZeroPadding2D");
}

TEST(Defaults, ConvolutionLayers) {
  expect_defaults<Conv1D>("layer Conv1D", {.added = {"lora_rank", "lora_alpha"}});
  expect_defaults<Conv1DTranspose>("layer Conv1DTranspose");
  expect_defaults<Conv2DTranspose>("layer Conv2DTranspose");
  expect_defaults<Conv3D>("layer Conv3D", {.added = {"lora_rank", "lora_alpha"}});
  expect_defaults<Conv3DTranspose>("layer Conv3DTranspose");
  expect_defaults<DepthwiseConv1D>("layer DepthwiseConv1D");
  expect_defaults<DepthwiseConv2D>("layer DepthwiseConv2D");
  expect_defaults<SeparableConv1D>("layer SeparableConv1D");
  expect_defaults<SeparableConv2D>("layer SeparableConv2D");
}

TEST(Defaults, AttentionLayers) {
  expect_defaults<AdditiveAttention>("layer AdditiveAttention", {.added = {"seed"}});
  expect_defaults<Attention>("layer Attention");
  expect_defaults<EinsumDense>(
      "layer EinsumDense",
      {.missing = {"gptq_unpacked_column_size", "quantization_config"}, .added = {"activity_regularizer"}});
  expect_defaults<GroupQueryAttention>("layer GroupQueryAttention", {.missing = {"flash_attention"}});
  expect_defaults<HashedCrossing>("layer HashedCrossing", {.missing = {"name", "dtype"}});
  expect_defaults<Hashing>("layer Hashing");
  expect_defaults<IntegerLookup>("layer IntegerLookup", {.missing = {"name"}, .added = {"vocabulary_size"}});
  expect_defaults<MultiHeadAttention>("layer MultiHeadAttention", {.missing = {"flash_attention"}});
}

TEST(Defaults, PoolingLayers) {
  expect_defaults<AveragePooling1D>("layer AveragePooling1D");
  expect_defaults<AveragePooling3D>("layer AveragePooling3D");
  expect_defaults<GlobalAveragePooling1D>("layer GlobalAveragePooling1D");
  expect_defaults<GlobalAveragePooling3D>("layer GlobalAveragePooling3D");
  expect_defaults<GlobalMaxPooling1D>("layer GlobalMaxPooling1D");
  expect_defaults<GlobalMaxPooling3D>("layer GlobalMaxPooling3D");
  expect_defaults<MaxPooling1D>("layer MaxPooling1D");
  expect_defaults<MaxPooling3D>("layer MaxPooling3D");
}

TEST(Defaults, NormalizationAndMergeLayers) {
  expect_defaults<Average>("layer Average");
  expect_defaults<Dot>("layer Dot");
  expect_defaults<GroupNormalization>("layer GroupNormalization");
  expect_defaults<LayerNormalization>("layer LayerNormalization", {.added = {"rms_scaling"}});
  expect_defaults<Maximum>("layer Maximum");
  expect_defaults<Minimum>("layer Minimum");
  expect_defaults<Multiply>("layer Multiply");
  expect_defaults<Normalization>("layer Normalization");
  expect_defaults<RMSNormalization>("layer RMSNormalization");
  expect_defaults<Subtract>("layer Subtract");
  expect_defaults<UnitNormalization>("layer UnitNormalization");
}

TEST(Defaults, ShapeLayers) {
  expect_defaults<Cropping1D>("layer Cropping1D");
  expect_defaults<Cropping2D>("layer Cropping2D", {.changed = {{"cropping", "(0, 0, 0, 0)"}}});
  expect_defaults<Cropping3D>("layer Cropping3D", {.changed = {{"cropping", "(1, 1, 1, 1, 1, 1)"}}});
  expect_defaults<Permute>("layer Permute");
  expect_defaults<RepeatVector>("layer RepeatVector");
  expect_defaults<UpSampling1D>("layer UpSampling1D");
  expect_defaults<UpSampling2D>("layer UpSampling2D");
  expect_defaults<UpSampling3D>("layer UpSampling3D");
  expect_defaults<ZeroPadding1D>("layer ZeroPadding1D", {.changed = {{"padding", "(1, 1)"}}});
  expect_defaults<ZeroPadding3D>("layer ZeroPadding3D", {.changed = {{"padding", "(1, 1, 1, 1, 1, 1)"}}});
}

TEST(Defaults, NoiseAndRectifierLayers) {
  expect_defaults<AlphaDropout>("layer AlphaDropout");
  expect_defaults<ELU>("layer ELU");
  expect_defaults<GaussianDropout>("layer GaussianDropout");
  expect_defaults<GaussianNoise>("layer GaussianNoise");
  expect_defaults<LeakyReLU>("layer LeakyReLU");
  expect_defaults<PReLU>("layer PReLU", {.changed = {{"alpha_initializer", "'zeros'"}}});
  expect_defaults<SpatialDropout1D>("layer SpatialDropout1D");
  expect_defaults<SpatialDropout2D>("layer SpatialDropout2D");
  expect_defaults<SpatialDropout3D>("layer SpatialDropout3D");
}

TEST(Defaults, PreprocessingLayers) {
  expect_defaults<CategoryEncoding>("layer CategoryEncoding");
  expect_defaults<CenterCrop>("layer CenterCrop");
  expect_defaults<Discretization>("layer Discretization");
  expect_defaults<RandomBrightness>("layer RandomBrightness", {.added = {"data_format"}});
  expect_defaults<RandomContrast>("layer RandomContrast", {.added = {"data_format"}});
  expect_defaults<RandomCrop>("layer RandomCrop");
  expect_defaults<RandomFlip>("layer RandomFlip");
  expect_defaults<RandomRotation>("layer RandomRotation");
  expect_defaults<RandomTranslation>("layer RandomTranslation");
  expect_defaults<RandomZoom>("layer RandomZoom");
  expect_defaults<Resizing>("layer Resizing");
}

TEST(Defaults, RecurrentLayers) {
  const Differences layer{.missing = {"use_cudnn"}, .added = {"zero_output_for_mask"}};
  expect_defaults<LSTM>("layer LSTM", layer);
  expect_defaults<GRU>("layer GRU", layer);
  expect_defaults<SimpleRNN>("layer SimpleRNN", layer);
  expect_defaults<ConvLSTM2D>("layer ConvLSTM2D",
                              {.changed = {{"strides", "(1, 1)"}, {"dilation_rate", "(1, 1)"}},
                               .added = {"unroll", "zero_output_for_mask"}});
  expect_defaults<LSTMCell>("layer LSTMCell");
  expect_defaults<GRUCell>("layer GRUCell");
  expect_defaults<SimpleRNNCell>("layer SimpleRNNCell");
  expect_defaults<RNN>("layer RNN", {.missing = {"cell"}});
  expect_defaults<Bidirectional>("layer Bidirectional", {.missing = {"layer", "weights", "backward_layer"}});
  expect_defaults<Masking>("layer Masking");
}

TEST(Defaults, Initializers) {
  expect_defaults<Constant>("initializer Constant");
  expect_defaults<GlorotNormal>("initializer GlorotNormal");
  expect_defaults<GlorotUniform>("initializer GlorotUniform");
  expect_defaults<HeNormal>("initializer HeNormal");
  expect_defaults<HeUniform>("initializer HeUniform");
  expect_defaults<LecunNormal>("initializer LecunNormal");
  expect_defaults<LecunUniform>("initializer LecunUniform");
  expect_defaults<RandomNormal>("initializer RandomNormal");
  expect_defaults<RandomUniform>("initializer RandomUniform");
  expect_defaults<TruncatedNormal>("initializer TruncatedNormal");
  expect_defaults<VarianceScaling>("initializer VarianceScaling");
}

TEST(Defaults, RegularizersAndConstraints) {
  expect_defaults<L1>("regularizer L1");
  expect_defaults<L1L2>("regularizer L1L2");
  expect_defaults<L2>("regularizer L2");
  expect_defaults<MaxNorm>("constraint MaxNorm");
  expect_defaults<MinMaxNorm>("constraint MinMaxNorm");
  expect_defaults<UnitNorm>("constraint UnitNorm");
}

TEST(Defaults, Losses) {
  expect_defaults<BinaryCrossentropy>("loss BinaryCrossentropy");
  expect_defaults<BinaryFocalCrossentropy>("loss BinaryFocalCrossentropy");
  expect_defaults<CTC>("loss CTC");
  expect_defaults<CategoricalCrossentropy>("loss CategoricalCrossentropy");
  expect_defaults<CategoricalFocalCrossentropy>("loss CategoricalFocalCrossentropy");
  expect_defaults<CategoricalGeneralizedCrossEntropy>("loss CategoricalGeneralizedCrossEntropy");
  expect_defaults<CategoricalHinge>("loss CategoricalHinge");
  expect_defaults<Circle>("loss Circle");
  expect_defaults<CosineSimilarity>("loss CosineSimilarity");
  expect_defaults<Dice>("loss Dice");
  expect_defaults<Hinge>("loss Hinge");
  expect_defaults<Huber>("loss Huber");
  expect_defaults<KLDivergence>("loss KLDivergence");
  expect_defaults<LogCosh>("loss LogCosh");
  expect_defaults<MeanAbsoluteError>("loss MeanAbsoluteError");
  expect_defaults<MeanAbsolutePercentageError>("loss MeanAbsolutePercentageError");
  expect_defaults<MeanSquaredError>("loss MeanSquaredError");
  expect_defaults<MeanSquaredLogarithmicError>("loss MeanSquaredLogarithmicError");
  expect_defaults<Poisson>("loss Poisson");
  expect_defaults<SparseCategoricalCrossentropy>("loss SparseCategoricalCrossentropy");
  expect_defaults<SquaredHinge>("loss SquaredHinge");
  expect_defaults<Tversky>("loss Tversky");
}

TEST(Defaults, Metrics) {
  expect_defaults<metrics::AUC>("metric AUC");
  expect_defaults<metrics::Accuracy>("metric Accuracy");
  expect_defaults<metrics::BinaryAccuracy>("metric BinaryAccuracy");
  expect_defaults<metrics::BinaryCrossentropy>("metric BinaryCrossentropy");
  expect_defaults<metrics::BinaryIoU>("metric BinaryIoU");
  expect_defaults<metrics::CategoricalAccuracy>("metric CategoricalAccuracy");
  expect_defaults<metrics::CategoricalCrossentropy>("metric CategoricalCrossentropy");
  expect_defaults<metrics::CategoricalHinge>("metric CategoricalHinge");
  expect_defaults<metrics::ConcordanceCorrelation>("metric ConcordanceCorrelation");
  expect_defaults<metrics::CosineSimilarity>("metric CosineSimilarity");
  expect_defaults<metrics::F1Score>("metric F1Score");
  expect_defaults<metrics::FBetaScore>("metric FBetaScore");
  expect_defaults<metrics::FalseNegatives>("metric FalseNegatives");
  expect_defaults<metrics::FalsePositives>("metric FalsePositives");
  expect_defaults<metrics::Hinge>("metric Hinge");
  expect_defaults<metrics::IoU>("metric IoU");
  expect_defaults<metrics::KLDivergence>("metric KLDivergence");
  expect_defaults<metrics::LogCoshError>("metric LogCoshError");
  expect_defaults<metrics::Mean>("metric Mean");
  expect_defaults<metrics::MeanAbsoluteError>("metric MeanAbsoluteError");
  expect_defaults<metrics::MeanAbsolutePercentageError>("metric MeanAbsolutePercentageError");
  expect_defaults<metrics::MeanIoU>("metric MeanIoU");
  expect_defaults<metrics::MeanSquaredError>("metric MeanSquaredError");
  expect_defaults<metrics::MeanSquaredLogarithmicError>("metric MeanSquaredLogarithmicError");
  expect_defaults<metrics::OneHotIoU>("metric OneHotIoU");
  expect_defaults<metrics::OneHotMeanIoU>("metric OneHotMeanIoU");
  expect_defaults<metrics::PearsonCorrelation>("metric PearsonCorrelation");
  expect_defaults<metrics::Poisson>("metric Poisson");
  expect_defaults<metrics::Precision>("metric Precision");
  expect_defaults<metrics::PrecisionAtRecall>("metric PrecisionAtRecall");
  expect_defaults<metrics::R2Score>("metric R2Score");
  expect_defaults<metrics::Recall>("metric Recall");
  expect_defaults<metrics::RecallAtPrecision>("metric RecallAtPrecision");
  expect_defaults<metrics::RootMeanSquaredError>("metric RootMeanSquaredError");
  expect_defaults<metrics::SensitivityAtSpecificity>("metric SensitivityAtSpecificity");
  expect_defaults<metrics::SparseCategoricalAccuracy>("metric SparseCategoricalAccuracy");
  expect_defaults<metrics::SparseCategoricalCrossentropy>("metric SparseCategoricalCrossentropy");
  expect_defaults<metrics::SparseTopKCategoricalAccuracy>("metric SparseTopKCategoricalAccuracy");
  expect_defaults<metrics::SpecificityAtSensitivity>("metric SpecificityAtSensitivity");
  expect_defaults<metrics::SquaredHinge>("metric SquaredHinge");
  expect_defaults<metrics::Sum>("metric Sum");
  expect_defaults<metrics::TopKCategoricalAccuracy>("metric TopKCategoricalAccuracy");
  expect_defaults<metrics::TrueNegatives>("metric TrueNegatives");
  expect_defaults<metrics::TruePositives>("metric TruePositives");
}

TEST(Defaults, Optimizers) {
  expect_defaults<Adadelta>("optimizer Adadelta");
  expect_defaults<Adafactor>("optimizer Adafactor");
  expect_defaults<Adagrad>("optimizer Adagrad");
  expect_defaults<Adam>("optimizer Adam");
  expect_defaults<AdamW>("optimizer AdamW");
  expect_defaults<Adamax>("optimizer Adamax");
  expect_defaults<Ftrl>("optimizer Ftrl");
  expect_defaults<Lamb>("optimizer Lamb");
  expect_defaults<Lion>("optimizer Lion");
  expect_defaults<Muon>("optimizer Muon");
  expect_defaults<Nadam>("optimizer Nadam");
  expect_defaults<RMSprop>("optimizer RMSprop");
  expect_defaults<SGD>("optimizer SGD");
  expect_defaults<ScheduleFreeAdamW>("optimizer ScheduleFreeAdamW");
}

std::string python(const std::string& text) { return "'" + text + "'"; }
std::string python(bool flag) { return flag ? "True" : "False"; }
std::string python(int64_t number) { return std::to_string(number); }
std::string python(double number) {
  std::ostringstream text;
  text << number;
  return std::isnan(number) ? "None" : text.str();
}

/// Callbacks have no file form, so their fields are listed here; required parameters of Keras are not among
/// them.
void expect_listed(const std::string& object, const Signature& fields, const Differences& differences = {}) {
  SCOPED_TRACE(object);
  Signature expected;
  for (const Parameter& parameter : signature_of(object))
    if (parameter.value != "(required)" && !differences.missing.contains(parameter.name))
      expected.push_back(parameter);
  ASSERT_EQ(fields.size(), expected.size());
  for (size_t i = 0; i < fields.size(); ++i) {
    EXPECT_EQ(fields[i].name, expected[i].name) << "field " << i;
    EXPECT_TRUE(same_value(fields[i].value, expected[i].value))
        << fields[i].name << ": " << fields[i].value << ", Keras " << expected[i].value;
  }
}

TEST(Defaults, Callbacks) {
  const EarlyStoppingConfig stop;
  expect_listed("callback EarlyStopping", {{"monitor", python(stop.monitor)},
                                           {"min_delta", python(stop.min_delta)},
                                           {"patience", python(int64_t{stop.patience})},
                                           {"verbose", python(int64_t{stop.verbose})},
                                           {"mode", python(stop.mode)},
                                           {"baseline", python(stop.baseline)},
                                           {"restore_best_weights", python(stop.restore_best_weights)},
                                           {"start_from_epoch", python(int64_t{stop.start_from_epoch})}});
  const ReduceLROnPlateauConfig plateau;
  expect_listed("callback ReduceLROnPlateau", {{"monitor", python(plateau.monitor)},
                                               {"factor", python(plateau.factor)},
                                               {"patience", python(int64_t{plateau.patience})},
                                               {"verbose", python(int64_t{plateau.verbose})},
                                               {"mode", python(plateau.mode)},
                                               {"min_delta", python(plateau.min_delta)},
                                               {"cooldown", python(int64_t{plateau.cooldown})},
                                               {"min_lr", python(plateau.min_lr)}});
  const ModelCheckpointConfig checkpoint;
  expect_listed("callback ModelCheckpoint",
                {{"monitor", python(checkpoint.monitor)},
                 {"verbose", python(int64_t{checkpoint.verbose})},
                 {"save_best_only", python(checkpoint.save_best_only)},
                 {"save_weights_only", python(checkpoint.save_weights_only)},
                 {"mode", python(checkpoint.mode)},
                 {"initial_value_threshold", python(checkpoint.initial_value_threshold)}},
                {.missing = {"save_freq"}});  // "epoch" or a number: a type of its own
  const CSVLoggerConfig csv;
  expect_listed("callback CSVLogger", {{"separator", python(csv.separator)}, {"append", python(csv.append)}});
  expect_listed("callback LearningRateScheduler",
                {{"verbose", python(int64_t{LearningRateSchedulerConfig().verbose})}});
  expect_listed("callback BackupAndRestore",
                {{"delete_checkpoint", python(BackupAndRestoreConfig().delete_checkpoint)}},
                {.missing = {"save_freq", "double_checkpoint"}});  // 0 stands for Keras' "epoch"
}

TEST(Defaults, Schedules) {
  expect_defaults<CosineDecay>("schedule CosineDecay");
  expect_defaults<CosineDecayRestarts>("schedule CosineDecayRestarts");
  expect_defaults<ExponentialDecay>("schedule ExponentialDecay");
  expect_defaults<InverseTimeDecay>("schedule InverseTimeDecay");
  expect_defaults<PiecewiseConstantDecay>("schedule PiecewiseConstantDecay");
  expect_defaults<PolynomialDecay>("schedule PolynomialDecay");
}

}  // namespace
}  // namespace nyala
