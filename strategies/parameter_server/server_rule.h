#pragma once

#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <nyala/backend/parameters/update_rule.h>

namespace nyala {

/// Some rows of a table while they change: flat host tensors of equal length.
struct RowBlock {
  Tensor value, gradient;
  Tensors slots;
};

/// How rows of a table change by their gradients: a few of them at a time, as if all were updated.
class RowRule {
 public:
  virtual ~RowRule() = default;
  virtual size_t num_slots() const = 0;
  virtual double slot_initial(size_t slot) const = 0;
  /// What an update makes of a row that has no gradient in it.
  enum class Idle {
    stays,               ///< nothing
    moves_once_touched,  ///< a row that has had a gradient changes (momentum, decaying slots)
    moves,               ///< every row does (weight decay)
  };
  virtual Idle idle() const = 0;
  /// Update number `step`, from 0, at `rate` where no schedule says another one. May write the gradient.
  virtual void update(int64_t step, double rate, const RowBlock& rows) const = 0;
};

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
  /// Of its optimizer number `member`, where it has several. Throws StateError where that follows a schedule.
  virtual void set_learning_rate(double rate, size_t member) = 0;
  /// The same rule for rows of the table of that name. Throws InvalidArgumentError where it needs more than
  /// rows, which is what it does here.
  virtual std::unique_ptr<RowRule> for_rows(const std::string& table) const;
};

/// `no_decay`: what in a variable's name excludes it from weight decay. Throws typed errors for a text that
/// names no rule, or one that this program does not know.
using ServerRuleReader = std::function<std::unique_ptr<ServerRule>(const std::string& text,
                                                                   const std::vector<std::string>& no_decay)>;

/// Makes first values of a table's rows: called for consecutive blocks of rows, from the first one of `whole`
/// on, with host tensors of the same width. Those that a program draws as a whole are the same.
using RowFiller = std::function<void(const Tensor& rows)>;
/// Throws InvalidArgumentError for a text that names no initializer which can make rows block by block.
using RowFillerReader = std::function<RowFiller(const std::string& text, uint64_t key, const Shape& whole)>;

}  // namespace nyala
