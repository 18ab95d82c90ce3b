#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/parameters/update_rule.h>

namespace nyala {

/// How a parameter server changes its variables by the gradients that are pushed to it: made from a text,
/// since code does not travel. Strategies know no optimizer: whoever runs a server brings what reads the
/// text.
class ServerRule {
 public:
  virtual ~ServerRule() = default;
  /// Takes the variables, all from `store`; once, before anything else.
  virtual void build(ParameterStore& store, const Variables& variables) = 0;
  /// The rule for a push of gradients of `active`, which are among those of build().
  virtual UpdateRule& rule_for(ParameterStore& store, const Variables& active) = 0;
  /// Its own tensors (iteration, rate, slots), named.
  virtual std::vector<std::pair<std::string, Tensor>> state() const = 0;
  /// Such tensors in the same order. Throws ShapeError for others.
  virtual void load_state(const Tensors& values) = 0;
  /// Throws StateError where it follows a schedule.
  virtual void set_learning_rate(double rate) = 0;
};

/// `no_decay`: what in a variable's name excludes it from weight decay. Throws typed errors for a text that
/// names no rule, or one that this program does not know.
using ServerRuleReader = std::function<std::unique_ptr<ServerRule>(const std::string& text,
                                                                   const std::vector<std::string>& no_decay)>;

}  // namespace nyala
