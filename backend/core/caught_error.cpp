#include <nyala/backend/core/caught_error.h>

#include <utility>

#include <nyala/backend/core/error.h>

namespace nyala {

namespace {

struct Foreign {
  std::exception_ptr error;
  std::string place;
};

/// The last one that rethrow() threw on this thread.
Foreign& last_foreign() {
  thread_local Foreign foreign;
  return foreign;
}

}  // namespace

std::string CaughtError::keep(const std::string& place) {
  std::string text, foreign_place;
  try {
    throw;
  } catch (Error& error) {
    error.put_in_front(place);
    text = error.what();
  } catch (const std::exception& error) {
    foreign_place = place + error_place();
    text = foreign_place + error.what();
  } catch (...) {
    foreign_place = place + error_place();
    text = foreign_place + "an exception that is no std::exception";
  }
  const std::lock_guard lock(mutex_);
  if (!error_) {
    error_ = std::current_exception();
    place_ = std::move(foreign_place);
  }
  return text;
}

bool CaughtError::caught() const {
  const std::lock_guard lock(mutex_);
  return error_ != nullptr;
}

void CaughtError::forget() {
  const std::lock_guard lock(mutex_);
  error_ = nullptr;
  place_.clear();
}

void CaughtError::rethrow() {
  std::exception_ptr error;
  {
    const std::lock_guard lock(mutex_);
    if (!error_) return;
    error = std::exchange(error_, nullptr);
    last_foreign() = place_.empty() ? Foreign{} : Foreign{error, std::exchange(place_, {})};
  }
  std::rethrow_exception(error);
}

std::string error_place() {
  const Foreign& foreign = last_foreign();
  const std::exception_ptr error = std::current_exception();
  return error && foreign.error == error ? foreign.place : std::string();
}

}  // namespace nyala
