#pragma once

#include <string>
#include <utility>
#include <vector>

namespace nyala {

class ModelNode;
class ProcessExchange;
struct FitConfig;

/// Names and values of what has to be the same in all processes that train together.
using TrainingFacts = std::vector<std::pair<std::string, std::string>>;

/// What compile() was told: optimizer, losses, metrics and their settings, dtypes of inputs and weights.
/// Without what training changes, so that a process that is started again says the same.
TrainingFacts facts_of_compile(const ModelNode& model);
/// What a fit that begins was told, and the learning rate that it begins with.
TrainingFacts facts_of_fit(const ModelNode& model, const FitConfig& config);

/// Throws StateError in all processes where they come with different facts: it names the facts, their values
/// and who has which. Without other processes it does nothing.
void check_alike(ProcessExchange* processes, const TrainingFacts& facts);

}  // namespace nyala
