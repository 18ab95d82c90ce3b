#include <nyala/backend/core/caught_error.h>

#include <new>
#include <utility>

#include <nyala/backend/core/error.h>
#include <nyala/backend/core/per_thread.h>

namespace nyala {

namespace {

struct Foreign {
  std::exception_ptr error;
  std::string place;
};

/// The last one that rethrow() threw on a thread.
PerThread<Foreign>& last_foreign() {
  static auto* const of_threads = new PerThread<Foreign>;
  return *of_threads;
}

/// The texts of the exception that is being handled.
void describe(const std::string& place, std::string& text, std::string& foreign_place) {
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
}

void note_place(const std::exception_ptr& error, std::string place) noexcept {
  try {
    Foreign* const last = place.empty() ? last_foreign().find() : &last_foreign().get();
    if (last) *last = place.empty() ? Foreign{} : Foreign{error, std::move(place)};
  } catch (const std::bad_alloc&) {  // the error goes without its place
  }
}

}  // namespace

std::string CaughtError::keep(const std::string& place) noexcept {
  std::string text, foreign_place;
  try {
    describe(place, text, foreign_place);
  } catch (...) {  // no memory
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
    note_place(error, std::exchange(place_, {}));
  }
  std::rethrow_exception(error);
}

std::string error_place() {
  const Foreign* const foreign = last_foreign().find();
  const std::exception_ptr error = std::current_exception();
  return error && foreign && foreign->error == error ? foreign->place : std::string();
}

}  // namespace nyala
