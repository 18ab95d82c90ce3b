// The data set holds numbers of files, not pictures: a shuffle buffer of them is small, and a parallel map
// decodes them behind it. The buffer holds 8 batches, as in Keras' image_dataset_from_directory. Broken
// pictures come out empty and are filtered before they are batched.
#include <nyala/datasets/image/image_dataset.h>

#include <algorithm>
#include <limits>
#include <set>
#include <utility>

#include <nyala/backend/core/c_locale_text.h>
#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>
#include <nyala/backend/ops/base/cast.h>
#include <nyala/backend/ops/image/resize_images.h>
#include <nyala/datasets/image/broken_images.h>
#include <nyala/datasets/image/decode_image.h>
#include <nyala/datasets/image/image_files.h>
#include <nyala/datasets/image/resize_with_pad.h>

namespace nyala {

using namespace nyala::detail;

namespace {

namespace fs = std::filesystem;

constexpr const char* kDirectory = "image_dataset_from_directory: ";
constexpr const char* kFiles = "image_dataset_from_files: ";
constexpr int64_t kBatchesInBuffer = 8, kBufferWithoutBatches = 1024;

enum class LabelMode : uint8_t { none, integer, categorical, binary };

LabelMode label_mode_of(const ImageDatasetConfig& config, const std::string& where) {
  if (!config.label_mode) return LabelMode::none;
  const std::string& name = *config.label_mode;
  if (name == "int") return LabelMode::integer;
  if (name == "categorical") return LabelMode::categorical;
  if (name == "binary") return LabelMode::binary;
  throw InvalidArgumentError(where + "expected label_mode 'int', 'categorical', 'binary' or std::nullopt, " +
                             "received " + in_quotes(name) +
                             did_you_mean(name, {"int", "categorical", "binary"}));
}

/// Everything that turns a file into an element.
struct Loader {
  std::vector<fs::path> paths = {};
  int64_t channels = 3;
  ImageSize size = {};
  ops::ResizeOptions resize = {};
  bool pad = false;
  LabelMode label_mode = LabelMode::none;
  int64_t classes = 0;
  std::shared_ptr<BrokenImages> broken = {};  // null: they are errors

  Tensor image(const fs::path& path) const {
    const Tensor decoded = decode_image_file(path, {.channels = channels});
    if (resize.interpolation == ops::Interpolation::nearest)  // chooses bytes: fewer of them to cast
      return ops::cast(resized(decoded), DType::float32);
    return resized(ops::cast(decoded, DType::float32));
  }

  Tensor resized(const Tensor& image) const {
    if (pad) return resize_with_pad(image, size, resize);
    return ops::resize_images(image, size.height, size.width, resize);
  }

  Tensor target(int64_t label) const {
    if (label_mode == LabelMode::integer) return Tensor::scalar(static_cast<int32_t>(label), Device{});
    if (label_mode == LabelMode::binary)
      return Tensor::scalar(static_cast<float>(label), Device{}).with_shape({1});
    std::vector<float> one_hot(static_cast<size_t>(classes), 0.0f);
    one_hot[static_cast<size_t>(label)] = 1.0f;
    return Tensor::from(one_hot, {classes}, Device{});
  }

  /// From the number of a file and its label; without x for a picture that is left out.
  Element operator()(const Element& file) const {
    const fs::path& path = paths[static_cast<size_t>(file.x[0].data<int64_t>()[0])];
    Element out;
    try {
      out.x = {image(path)};
    } catch (const IoError& error) {
      if (!broken) throw;
      broken->add(path, error.what());
      return {};
    }
    if (label_mode != LabelMode::none) out.y = {target(file.y[0].data<int64_t>()[0])};
    return out;
  }
};

/// What the functions of the header share, checked and completed.
class Plan {
 public:
  Plan(const ImageDatasetConfig& config, std::string where)
      : config_(config), where_(std::move(where)), mode_(label_mode_of(config, where_)) {
    loader_.channels = channels_of_color_mode(config.color_mode, where_.substr(0, where_.size() - 2));
    loader_.size = config.image_size;
    loader_.pad = config.pad_to_aspect_ratio;
    if (config.image_size.height < 1 || config.image_size.width < 1)
      fail("expected an image_size above 0, received (" + std::to_string(config.image_size.height) + ", " +
           std::to_string(config.image_size.width) + ")");
    if (config.batch_size && *config.batch_size < 1)
      fail("expected a batch_size above 0, received " + std::to_string(*config.batch_size));
    if (config.crop_to_aspect_ratio && config.pad_to_aspect_ratio)
      fail("expected one of crop_to_aspect_ratio and pad_to_aspect_ratio, received both");
    if (config.seed && (*config.seed < 0 || *config.seed > std::numeric_limits<uint32_t>::max()))
      fail("expected a seed from 0 to 2^32 - 1, received " + std::to_string(*config.seed));
    try {
      loader_.resize = {.interpolation = ops::detail::interpolation_of(config.interpolation),
                        .crop_to_aspect_ratio = config.crop_to_aspect_ratio};
    } catch (const Error&) {
      rethrow_with_prefix(where_);
    }
    seed_ = static_cast<uint32_t>(config.seed ? *config.seed : next_unseeded_key() % 1'000'000);
  }

  [[noreturn]] void fail(const std::string& what) const { throw InvalidArgumentError(where_ + what); }

  uint32_t seed() const { return seed_; }
  LabelMode mode() const { return mode_; }
  void drop_labels() { mode_ = LabelMode::none; }

  void check_classes(const std::vector<std::string>& names, const std::vector<int64_t>& labels) const {
    if (mode_ == LabelMode::binary && names.size() != 2)
      fail("expected two classes with label_mode 'binary', found " + std::to_string(names.size()) + ": " +
           quoted_list(names));
    for (int64_t label : labels)
      if (label < 0 || label > std::numeric_limits<int32_t>::max() ||
          (mode_ != LabelMode::integer && label >= static_cast<int64_t>(names.size())))
        fail("expected labels from 0 to " + std::to_string(int64_t(names.size()) - 1) + ", received " +
             std::to_string(label));
  }

  ImageDataset make(ImageFiles files, const std::vector<std::string>& class_names, bool shuffle) const {
    Loader loader = loader_;
    loader.paths = files.paths;
    loader.label_mode = mode_;
    loader.classes = static_cast<int64_t>(class_names.size());
    if (config_.skip_broken) loader.broken = std::make_shared<BrokenImages>();
    Dataset dataset = numbered(files);
    if (shuffle) {
      const int64_t buffer =
          config_.batch_size ? *config_.batch_size * kBatchesInBuffer : kBufferWithoutBatches;
      dataset = dataset.shuffle(buffer, {.seed = seed_});
    }
    const std::shared_ptr<BrokenImages> broken = loader.broken;
    dataset = dataset.map([shared = std::make_shared<const Loader>(std::move(loader))](
                              Element file) { return (*shared)(file); },
                          {.num_parallel_calls = kAutotune});
    if (broken) dataset = dataset.filter([](const Element& element) { return !element.x.empty(); });
    if (config_.batch_size) dataset = dataset.batch(*config_.batch_size);
    return ImageDataset(
        {dataset.prefetch(), class_names, std::move(files.paths), std::move(files.labels), broken});
  }

 private:
  /// The files' numbers and labels.
  Dataset numbered(const ImageFiles& files) const {
    std::vector<int64_t> numbers(files.paths.size());
    for (size_t i = 0; i < numbers.size(); ++i) numbers[i] = static_cast<int64_t>(i);
    if (mode_ == LabelMode::none) return Dataset::from_tensor_slices(Tensor::from(numbers));
    return Dataset::from_tensor_slices(Tensor::from(numbers), Tensor::from(files.labels));
  }

  const ImageDatasetConfig& config_;
  std::string where_;
  LabelMode mode_;
  Loader loader_;
  uint32_t seed_ = 0;
};

/// The files of a directory with their classes, in the order of the config.
struct Indexed {
  ImageFiles files = {};
  std::vector<std::string> class_names = {};
};

std::vector<std::string> chosen_classes(const fs::path& directory, const ImageDatasetConfig& config) {
  const std::vector<std::string> folders = class_folders(directory);
  if (config.class_names.empty()) return folders;
  for (const std::string& name : config.class_names)
    if (std::find(folders.begin(), folders.end(), name) == folders.end())
      throw NotFoundError(kDirectory +
                          ("the class " + in_quotes(name) + " is no folder of " + directory.string()) +
                          did_you_mean(name, folders) + ": expected names among " + quoted_list(folders));
  if (std::set<std::string>(config.class_names.begin(), config.class_names.end()).size() !=
      config.class_names.size())
    throw InvalidArgumentError(kDirectory + std::string("expected each of class_names once, received ") +
                               quoted_list(config.class_names));
  return config.class_names;
}

Indexed index_classes(const fs::path& directory, const ImageDatasetConfig& config) {
  Indexed out;
  out.class_names = chosen_classes(directory, config);
  for (size_t label = 0; label < out.class_names.size(); ++label)
    for (fs::path& path : find_images(directory / out.class_names[label], config.follow_links)) {
      out.files.paths.push_back(std::move(path));
      out.files.labels.push_back(static_cast<int64_t>(label));
    }
  return out;
}

/// With a list of labels, or none: folders are no classes.
Indexed index_all(const fs::path& directory, const ImageDatasetConfig& config, const Plan& plan) {
  if (!config.class_names.empty())
    plan.fail("expected class_names only with labels 'inferred' and a label_mode");
  class_folders(directory);  // the error of a directory that does not exist
  Indexed out;
  out.files.paths = find_images(directory, config.follow_links);
  if (plan.mode() == LabelMode::none) return out;
  out.files.labels = *config.labels.list();
  if (out.files.labels.size() != out.files.paths.size())
    plan.fail("expected as many labels as files, received " + std::to_string(out.files.labels.size()) +
              " for the " + std::to_string(out.files.paths.size()) + " files in " + directory.string());
  for (int64_t label : std::set<int64_t>(out.files.labels.begin(), out.files.labels.end()))
    out.class_names.push_back(std::to_string(label));
  return out;
}

Indexed index_directory(const fs::path& directory, const ImageDatasetConfig& config, Plan& plan) {
  const bool inferred = config.labels.rule().has_value();
  if (inferred && *config.labels.rule() != "inferred")
    plan.fail("expected labels 'inferred', std::nullopt or a list of class numbers, received '" +
              *config.labels.rule() + "'");
  // As in Keras, without targets folders are no classes.
  if (!inferred && !config.labels.list()) plan.drop_labels();
  const bool by_class = inferred && plan.mode() != LabelMode::none;
  Indexed out = by_class ? index_classes(directory, config) : index_all(directory, config, plan);
  log(LogChannel::info, "found " + std::to_string(out.files.paths.size()) + " files of " +
                            std::to_string(out.class_names.size()) + " classes in " + directory.string());
  plan.check_classes(out.class_names, out.files.labels);
  if (config.shuffle) shuffle_as_numpy(out.files, plan.seed());
  return out;
}

void check_split(const ImageDatasetConfig& config, const std::string& subset, const Plan& plan) {
  const double share = config.validation_split;
  if (!(share >= 0 && share < 1))
    plan.fail("expected a validation_split from 0 to 1, received " + number_text(share));
  if ((share > 0) != !subset.empty()) plan.fail("expected both of validation_split and subset, or neither");
  if (share > 0 && config.shuffle && !config.seed)
    plan.fail("expected a seed with validation_split and shuffle, or both parts may hold the same files");
}

ImageFiles checked_subset(const Indexed& all, const ImageDatasetConfig& config, Subset subset,
                          const fs::path& directory, const Plan& plan) {
  ImageFiles files = subset_of(all.files, config.validation_split, subset);
  if (!files.paths.empty()) return files;
  const std::string which = subset == Subset::all          ? ""
                            : subset == Subset::validation ? " for validation"
                                                           : " for training";
  std::string hint;
  if (all.files.paths.empty() && config.labels.rule() && !find_images(directory, false).empty())
    hint = "; there are pictures outside of class folders: labels = std::nullopt reads those";
  plan.fail("expected pictures (.bmp .gif .jpeg .jpg .png)" + which + " in " + directory.string() +
            ", found " +
            (all.files.paths.empty() ? "none" : "too few: " + std::to_string(all.files.paths.size())) + hint);
}

}  // namespace

ImageDataset::ImageDataset(Parts parts) : Dataset(std::move(parts.dataset)), parts_(std::move(parts)) {
  parts_.dataset = {};
}

std::vector<fs::path> ImageDataset::broken_files() const {
  return parts_.broken ? parts_.broken->paths() : std::vector<fs::path>();
}

ImageDataset image_dataset_from_directory(const fs::path& directory, const ImageDatasetConfig& config) {
  Plan plan(config, kDirectory);
  Subset subset = Subset::all;
  if (config.subset == "training")
    subset = Subset::training;
  else if (config.subset == "validation")
    subset = Subset::validation;
  else if (config.subset == "both")
    plan.fail("subset 'both' makes two datasets: call image_datasets_from_directory");
  else if (!config.subset.empty())
    plan.fail("expected subset 'training' or 'validation', received '" + config.subset + "'" +
              did_you_mean(config.subset, {"training", "validation"}));
  check_split(config, config.subset, plan);
  const Indexed all = index_directory(directory, config, plan);
  return plan.make(checked_subset(all, config, subset, directory, plan), all.class_names, config.shuffle);
}

TrainValidation image_datasets_from_directory(const fs::path& directory, const ImageDatasetConfig& config) {
  Plan plan(config, "image_datasets_from_directory: ");
  if (!config.subset.empty() && config.subset != "both")
    plan.fail("expected no subset, or 'both', received '" + config.subset + "'");
  check_split(config, "both", plan);
  const Indexed all = index_directory(directory, config, plan);
  ImageFiles train = checked_subset(all, config, Subset::training, directory, plan);
  ImageFiles validation = checked_subset(all, config, Subset::validation, directory, plan);
  return {plan.make(std::move(train), all.class_names, config.shuffle),
          plan.make(std::move(validation), all.class_names, false)};
}

ImageDataset image_dataset_from_files(const std::vector<fs::path>& paths, const std::vector<int64_t>& labels,
                                      const ImageDatasetConfig& config) {
  Plan plan(config, kFiles);
  if (config.validation_split != 0 || !config.subset.empty() || config.follow_links || config.labels.list() ||
      config.labels.rule() != "inferred")
    plan.fail("labels, validation_split, subset and follow_links are for directories only");
  if (paths.empty()) plan.fail("expected files, received none");
  if (labels.empty()) plan.drop_labels();
  if (plan.mode() != LabelMode::none && labels.size() != paths.size())
    plan.fail("expected as many labels as files, received " + std::to_string(labels.size()) + " for " +
              std::to_string(paths.size()) + " files");
  ImageFiles files{paths, plan.mode() == LabelMode::none ? std::vector<int64_t>() : labels};
  std::vector<std::string> names = config.class_names;
  if (names.empty() && !files.labels.empty())
    for (int64_t i = 0; i <= *std::max_element(labels.begin(), labels.end()); ++i)
      names.push_back(std::to_string(i));
  plan.check_classes(names, files.labels);
  for (int64_t label : files.labels)
    if (label >= static_cast<int64_t>(names.size()))
      plan.fail("expected a name for each class, received label " + std::to_string(label) +
                " and the names " + quoted_list(names));
  if (config.shuffle) shuffle_as_numpy(files, plan.seed());
  return plan.make(std::move(files), names, config.shuffle);
}

}  // namespace nyala
