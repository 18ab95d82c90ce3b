#include <nyala/api/saving/weights/own_optimizers.h>
#include <nyala/files/base/file_errors.h>

#include <algorithm>
#include <span>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/log.h>

namespace nyala {

using namespace nyala::detail;

namespace {

/// Beside the optimizer's `vars`: what it was built for, as places in the holder's weights().
std::string list_of(const OwnOptimizer& own) { return own.path + "/nyala_variables"; }

std::vector<int64_t> places_of(const OwnOptimizer& own) {
  const Variables all = own.holder.weights();
  std::vector<int64_t> places;
  for (const Variable& variable : own.optimizer.node().variables()) {
    const auto found = std::find(all.begin(), all.end(), variable);
    if (found == all.end()) return {};  // not the holder's: no file of it can name them
    places.push_back(found - all.begin());
  }
  return places;
}

/// What the file says that the optimizer was built for; nothing where it does not say.
Variables variables_in_file(const OwnOptimizer& own, const WeightsTree& tree) {
  const Variables all = own.holder.weights();
  Variables variables;
  for (const hdf5::Group& root : tree.roots()) {
    if (!root.has_dataset(list_of(own))) continue;
    for (const int64_t place : root.dataset(list_of(own)).values<int64_t>()) {
      if (place < 0 || place >= static_cast<int64_t>(all.size()))
        throw ShapeError("its state is of weight " + std::to_string(place) + ", the model has " +
                         std::to_string(all.size()));
      variables.push_back(all[static_cast<size_t>(place)]);
    }
  }
  return variables;
}

bool is_of_the_beginning(const BaseOptimizer& optimizer, const Tensors& values) {
  return values.size() <= optimizer.variables_before_build().size() && values[0].num_elements() == 1 &&
         values[0].item() == 0.0;
}

void check_fits(const BaseOptimizer& optimizer, const Tensors& values) {
  const std::vector<OptimizerVariable> expected = optimizer.shared_variables_for_file();
  if (values.size() != expected.size())
    throw ShapeError("expected " + std::to_string(expected.size()) + " optimizer variables, received " +
                     std::to_string(values.size()));
  for (size_t i = 0; i < values.size(); ++i)
    if (values[i].shape() != expected[i].value.shape())
      throw ShapeError("optimizer variable " + in_quotes(expected[i].name) + ": expected shape " +
                       expected[i].value.shape().to_string() + ", received " + values[i].shape().to_string());
}

/// Whether there is a state to load, which fits then.
bool is_ready(const OwnOptimizer& own, const WeightsTree& tree, const Tensors& values) {
  BaseOptimizer& optimizer = own.optimizer.node();
  if (values.empty()) throw NotFoundError("the file has no state of it");
  if (is_of_the_beginning(optimizer, values)) {
    if (optimizer.built() && !optimizer.made_no_step())
      throw StateError("the file is of before its first step, but it has made some; make the model anew");
    return false;
  }
  if (!optimizer.built()) {
    const Variables variables = variables_in_file(own, tree);
    if (variables.empty())
      throw StateError(
          "it is not built, and the file does not say for which variables it is; build it where the model is "
          "made: `d_optimizer.build(discriminator.trainable_variables());`");
    own.optimizer.build(variables);
  }
  check_fits(optimizer, values);
  return true;
}

}  // namespace

std::vector<OwnOptimizer> own_optimizers(const std::vector<WeightsGroup>& groups) {
  std::vector<OwnOptimizer> all;
  for (const WeightsGroup& group : groups) {
    const auto* model = dynamic_cast<const ModelNode*>(&group.layer.node());
    if (!model) continue;
    for (const auto& [attribute, optimizer] : model->own_optimizers())
      all.push_back({group.path.empty() ? attribute : group.path + "/" + attribute, optimizer, group.layer});
  }
  return all;
}

void write_own_optimizers(const std::vector<OwnOptimizer>& optimizers, hdf5::Writer& writer,
                          SlotsInFile slots) {
  for (const OwnOptimizer& own : optimizers) {
    write_optimizer(writer, own.path, own.optimizer.node(), slots);
    if (const std::vector<int64_t> places = places_of(own); !places.empty())
      writer.write_dataset(list_of(own), {static_cast<int64_t>(places.size())},
                           std::span<const int64_t>(places));
  }
}

OwnOptimizerStates::OwnOptimizerStates(const std::vector<OwnOptimizer>& optimizers, const WeightsTree& tree,
                                       const std::string& file_name, OptimizerMismatch mismatch) {
  for (const OwnOptimizer& own : optimizers) {
    try {
      Tensors values = read_optimizer(tree, own.path, file_name);
      if (is_ready(own, tree, values)) states_.emplace_back(own.optimizer, std::move(values));
    } catch (const Error& error) {
      let_out_of_memory_pass(error);
      const std::string who = file_name + ": optimizer " + in_quotes(own.path) + ": ";
      if (mismatch == OptimizerMismatch::fail) rethrow_with_prefix(who);
      log(LogChannel::warning, who + "its state was left out: " + error.what());
    }
  }
}

void OwnOptimizerStates::load() const {
  for (const auto& [optimizer, values] : states_) optimizer.node().load_variables(values);
}

}  // namespace nyala
