#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/parameters/variable.h>

namespace nyala {

class ModelNode;
class Optimizer;
class ProcessExchange;
class StrategyNode;
struct FitConfig;

/// Names and values of what has to be the same in all processes that train together.
using TrainingFacts = std::vector<std::pair<std::string, std::string>>;

/// What compile() was told: optimizer, losses, metrics and their settings, dtypes of inputs and weights.
/// Without what training changes, so that a process that is started again says the same.
TrainingFacts facts_of_compile(const ModelNode& model);
/// The same with the learning rate of now.
TrainingFacts facts_of_epoch(const ModelNode& model);
/// What train_on_batch() trains with: what compile() was told, the layers' settings, the learning rate.
TrainingFacts facts_of_batches(const ModelNode& model);
/// What a fit that begins was told, and the layers' settings: the same in a process that is started again.
TrainingFacts settings_of_fit(const ModelNode& model, const FitConfig& config);
/// The same with the learning rate that it begins with.
TrainingFacts facts_of_fit(const ModelNode& model, const FitConfig& config);
/// What a loop of a program's own trains `variables` with, when it begins: the optimizer, and the layers of
/// the models that hold them.
TrainingFacts facts_of_loop(const StrategyNode& strategy, const Optimizer& optimizer,
                            const Variables& variables);

/// Equal for equal facts.
uint64_t number_of(const TrainingFacts& facts);
/// Whether all processes come with the same facts; true without other processes.
bool are_alike(ProcessExchange* processes, const TrainingFacts& facts);
/// "optimizer.learning_rate is 0.001 in ranks 0, 2 and 0.01 in rank 1; ..."; empty where nothing differs. All
/// processes call it, and have the text when it returns.
std::string differences(ProcessExchange& processes, const TrainingFacts& facts);

/// What it means that a process has not a fact that others have.
enum class MissingFact { differs, is_ignored };
/// Throws StateError in all processes where they come with different facts: it names the facts, their values
/// and who has which. Without other processes it does nothing. `what` begins its text.
void check_alike(ProcessExchange* processes, const TrainingFacts& facts, const char* what = "fit",
                 MissingFact missing = MissingFact::differs);

}  // namespace nyala
