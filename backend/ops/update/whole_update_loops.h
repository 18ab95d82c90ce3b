#pragma once

#include <algorithm>

#include <nyala/backend/ops/update/update_formulas.h>
#include <nyala/backend/ops/update/whole_updates.h>

// The loops of whole_updates.h, each pass over the variable cut into pieces that `for_pieces(count, grain,
// body)` calls body(begin, end) for: one after the other, or among threads. Every piece writes sums of its
// own, which are added in their order. Internal linkage, as update_formulas.h says.
namespace nyala::formulas {

namespace {

/// Numbers of a piece that its pass writes to scratch memory.
struct Norms {
  double weight = 0.0, step = 0.0;  // sums of squares
};

inline int64_t norm_chunks(const KernelCall& call) {
  return (call.output(0).num_elements() + ops::kNormChunk - 1) / ops::kNormChunk;
}

/// Calls body(chunk, begin, end) for the chunks of kNormChunk elements.
template <class ForPieces, class Body>
void for_norm_chunks(const KernelCall& call, ForPieces for_pieces, Body&& body) {
  constexpr int64_t kChunksAtOnce = 16;
  const int64_t count = call.output(0).num_elements();
  for_pieces(norm_chunks(call), kChunksAtOnce, [&](int64_t first, int64_t last) {
    for (int64_t chunk = first; chunk < last; ++chunk)
      body(chunk, chunk * ops::kNormChunk, std::min(count, (chunk + 1) * ops::kNormChunk));
  });
}

inline Norms sum_of(const Norms* norms, int64_t count) {
  Norms sum;
  for (int64_t i = 0; i < count; ++i) sum.weight += norms[i].weight, sum.step += norms[i].step;
  return sum;
}

// ---- Lamb

template <class T>
struct LambNumbers {
  T rate, rest_1, rest_2, correction_1, correction_2, epsilon;
  T step(T m, T v) const { return m / correction_1 / (std::sqrt(v / correction_2) + epsilon); }
};

template <class T>
LambNumbers<T> lamb_numbers(const KernelCall& call) {
  return with_numbers<T, LambNumbers<T>>(call.in<double>(2) + ops::kFirstFormulaScalar);
}

/// New slots of elements [begin, end), at most kNormChunk.
template <class T>
Norms lamb_slots(const KernelCall& call, int64_t begin, int64_t end) {
  const Preparation<T> prepare(call);
  const auto numbers = lamb_numbers<T>(call);
  const T* __restrict gradient = call.in<T>(0);
  T* __restrict weight = call.out<T>(0);
  T* __restrict first = call.out<T>(1);
  T* __restrict second = call.out<T>(2);
  T steps[ops::kNormChunk];
  for (int64_t i = begin; i < end; ++i) {
    const T g = prepare.gradient(gradient[i]);
    const T m = first[i] + (g - first[i]) * numbers.rest_1;
    const T v = second[i] + (g * g - second[i]) * numbers.rest_2;
    weight[i] = prepare.weight(weight[i]);
    first[i] = m, second[i] = v;
    steps[i - begin] = numbers.step(m, v);
  }
  return {squared_sum(weight + begin, end - begin), squared_sum(steps, end - begin)};
}

/// Numbers of scratch memory, in double.
inline int64_t lamb_scratch(const KernelCall& call) { return 2 * norm_chunks(call); }

template <class T, class ForPieces>
void lamb_update(const KernelCall& call, double* scratch, ForPieces for_pieces) {
  Norms* norms = reinterpret_cast<Norms*>(scratch);
  for_norm_chunks(call, for_pieces, [&](int64_t chunk, int64_t begin, int64_t end) {
    norms[chunk] = lamb_slots<T>(call, begin, end);
  });
  const Norms squares = sum_of(norms, norm_chunks(call));
  const T of_weight = static_cast<T>(std::sqrt(squares.weight)),
          of_step = static_cast<T>(std::sqrt(squares.step));
  const auto numbers = lamb_numbers<T>(call);
  const T size = (of_weight > T(0) && of_step > T(0) ? of_weight / of_step : T(1)) * numbers.rate;
  for_norm_chunks(call, for_pieces, [&](int64_t, int64_t begin, int64_t end) {
    T* __restrict weight = call.out<T>(0);
    const T* __restrict first = call.out<T>(1);
    const T* __restrict second = call.out<T>(2);
    for (int64_t i = begin; i < end; ++i) weight[i] -= size * numbers.step(first[i], second[i]);
  });
}

// ---- Adafactor

/// How the elements are cut: into runs of rows of one matrix. Without factors every element is a row.
struct AdafactorPieces {
  static constexpr int64_t kLeastElements = 16384, kMostPieces = 16;
  int64_t matrices, rows, columns, rows_at_once, of_matrix;
  bool factored;

  explicit AdafactorPieces(const KernelCall& call) {
    const auto& d = call.descriptor<ops::AdafactorDescriptor>();
    factored = d.rows > 0;
    matrices = factored ? d.matrices : 1;
    rows = factored ? d.rows : call.output(0).num_elements();
    columns = factored ? d.columns : 1;
    rows_at_once = std::max((kLeastElements + columns - 1) / columns,
                            factored ? (rows * matrices + kMostPieces - 1) / kMostPieces : 1);
    of_matrix = (rows + rows_at_once - 1) / rows_at_once;
  }
  int64_t count() const { return matrices * of_matrix; }
  int64_t matrix(int64_t piece) const { return piece / of_matrix; }
  /// The first row of a piece, counted over all matrices.
  int64_t first(int64_t piece) const { return matrix(piece) * rows + piece % of_matrix * rows_at_once; }
  int64_t last(int64_t piece) const {
    return std::min(first(piece) + rows_at_once, (matrix(piece) + 1) * rows);
  }
  int64_t num_columns() const { return factored ? count() * columns : 0; }
};

/// Numbers of scratch memory, in double: norms of each piece, then its sums over columns, and means of r.
inline int64_t adafactor_scratch(const KernelCall& call) {
  const AdafactorPieces pieces(call);
  return 2 * pieces.count() + pieces.num_columns() + pieces.matrices;
}

template <class T>
double plain_sum(const T* x, int64_t count) {
  return sum_in_lanes(x, count, [](double value) { return value; });
}

/// Keeps NaN.
template <class T>
T at_least(T x, T minimum) {
  return x < minimum ? minimum : x;
}

/// Adafactor with the numbers of a step.
template <class T>
class AdafactorLoops {
 public:
  AdafactorLoops(const KernelCall& call, double* scratch)
      : call_(call),
        d_(call.descriptor<ops::AdafactorDescriptor>()),
        pieces_(call),
        prepare_(call),
        rate_(number(0)),
        kept_(number(1)),
        rest_(number(2)),
        epsilon_1_(static_cast<T>(d_.epsilon_1)),
        norms_(reinterpret_cast<Norms*>(scratch)),
        column_sums_(scratch + 2 * pieces_.count()),
        means_(column_sums_ + pieces_.num_columns()) {}

  template <class ForPieces>
  void run(ForPieces for_pieces) {
    const auto for_each = [&](auto body) {
      for_pieces(pieces_.count(), 1, [&](int64_t first, int64_t last) {
        for (int64_t piece = first; piece < last; ++piece) body(piece);
      });
    };
    for_each([this](int64_t piece) { pieces_.factored ? add_rows(piece) : add_elements(piece); });
    for (int64_t matrix = 0; matrix < pieces_.matrices && pieces_.factored; ++matrix) finish_factors(matrix);
    for_each([this](int64_t piece) { norms_[piece].step = velocity(piece); });
    const Norms squares = sum_of(norms_, pieces_.count());
    const double count = static_cast<double>(call_.output(0).num_elements());
    const T of_weight = static_cast<T>(std::sqrt(squares.weight / count)),
            of_step = static_cast<T>(std::sqrt(squares.step / count));
    const T size = at_least(of_weight, static_cast<T>(d_.epsilon_2)) * rate_ /
                   at_least(of_step / static_cast<T>(d_.clip_threshold), T(1));
    for_each([this, size](int64_t piece) { move(piece, size); });
  }

 private:
  static constexpr int64_t kTile = 1024;  // elements whose squares lie in the first-level cache

  T number(int i) const { return static_cast<T>(call_.template in<double>(2)[ops::kFirstFormulaScalar + i]); }
  template <class Body>
  static void for_tiles(int64_t begin, int64_t end, Body&& body) {
    for (int64_t at = begin; at < end; at += kTile) body(at, std::min(end, at + kTile));
  }

  /// Prepares weights [begin, end) and writes g^2 + epsilon_1 to `squares`. Returns their sum of squares.
  double prepare(int64_t begin, int64_t end, T* __restrict squares) const {
    const T* __restrict gradient = call_.template in<T>(0);
    T* __restrict weight = call_.template out<T>(0);
    for (int64_t i = begin; i < end; ++i) {
      const T g = prepare_.gradient(gradient[i]);
      squares[i - begin] = g * g + epsilon_1_;
      weight[i] = prepare_.weight(weight[i]);
    }
    return squared_sum(weight + begin, end - begin);
  }

  void add_elements(int64_t piece) {
    T* __restrict v = call_.template out<T>(3);
    double weights = 0.0;
    for_tiles(pieces_.first(piece), pieces_.last(piece), [&](int64_t begin, int64_t end) {
      T squares[kTile];
      weights += prepare(begin, end, squares);
      for (int64_t i = begin; i < end; ++i) v[i] = v[i] * kept_ + squares[i - begin] * rest_;
    });
    norms_[piece].weight = weights;
  }

  /// Sums over columns, and the rows' new averages.
  void add_rows(int64_t piece) {
    double* __restrict sums = column_sums_ + piece * pieces_.columns;
    T* r = call_.template out<T>(1);
    std::fill_n(sums, pieces_.columns, 0.0);
    double weights = 0.0;
    for (int64_t row = pieces_.first(piece); row < pieces_.last(piece); ++row) {
      double of_row = 0.0;
      for_tiles(0, pieces_.columns, [&](int64_t begin, int64_t end) {
        T squares[kTile];
        weights += prepare(row * pieces_.columns + begin, row * pieces_.columns + end, squares);
        for (int64_t j = begin; j < end; ++j) sums[j] += static_cast<double>(squares[j - begin]);
        of_row += plain_sum(squares, end - begin);
      });
      r[row] = r[row] * kept_ + static_cast<T>(of_row / static_cast<double>(pieces_.columns)) * rest_;
    }
    norms_[piece].weight = weights;
  }

  void finish_factors(int64_t matrix) {
    const int64_t columns = pieces_.columns;
    const double rows = static_cast<double>(pieces_.rows);
    T* c = call_.template out<T>(2) + matrix * columns;
    double* __restrict sums = column_sums_ + matrix * pieces_.of_matrix * columns;
    for (int64_t piece = 1; piece < pieces_.of_matrix; ++piece)
      for (int64_t j = 0; j < columns; ++j) sums[j] += sums[piece * columns + j];
    for (int64_t j = 0; j < columns; ++j) c[j] = c[j] * kept_ + static_cast<T>(sums[j] / rows) * rest_;
    means_[matrix] = plain_sum(call_.template out<T>(1) + matrix * pieces_.rows, pieces_.rows) / rows;
  }

  /// v of a piece with factors, and the sum of squares of g / sqrt(v).
  double velocity(int64_t piece) {
    T* __restrict v = call_.template out<T>(3);
    const T* r = call_.template out<T>(1);
    const T* __restrict c = call_.template out<T>(2) + pieces_.matrix(piece) * pieces_.columns;
    if (pieces_.factored)
      for (int64_t row = pieces_.first(piece); row < pieces_.last(piece); ++row) {
        const T of_row = r[row] / static_cast<T>(means_[pieces_.matrix(piece)]);
        for (int64_t j = 0; j < pieces_.columns; ++j) v[row * pieces_.columns + j] = of_row * c[j];
      }
    double steps = 0.0;
    for_tiles(pieces_.first(piece) * pieces_.columns, pieces_.last(piece) * pieces_.columns,
              [&](int64_t begin, int64_t end) {
                T tile[kTile];
                const T* __restrict gradient = call_.template in<T>(0);
                for (int64_t i = begin; i < end; ++i)
                  tile[i - begin] = prepare_.gradient(gradient[i]) / std::sqrt(v[i]);
                steps += squared_sum(tile, end - begin);
              });
    return steps;
  }

  void move(int64_t piece, T size) const {
    const T* __restrict gradient = call_.template in<T>(0);
    const T* __restrict v = call_.template out<T>(3);
    T* __restrict weight = call_.template out<T>(0);
    const int64_t end = pieces_.last(piece) * pieces_.columns;
    for (int64_t i = pieces_.first(piece) * pieces_.columns; i < end; ++i)
      weight[i] -= size * (prepare_.gradient(gradient[i]) / std::sqrt(v[i]));
  }

  const KernelCall& call_;
  const ops::AdafactorDescriptor& d_;
  const AdafactorPieces pieces_;
  const Preparation<T> prepare_;
  const T rate_, kept_, rest_, epsilon_1_;
  Norms* const norms_;
  double* const column_sums_;
  double* const means_;
};

template <class T, class ForPieces>
void adafactor_update(const KernelCall& call, double* scratch, ForPieces for_pieces) {
  AdafactorLoops<T>(call, scratch).run(for_pieces);
}

// ---- Muon

inline int64_t muon_scratch(const KernelCall& call) { return norm_chunks(call); }

/// New momentum and step of elements [begin, end). Returns the step's sum of squares.
template <class T>
double muon_slots(const KernelCall& call, int64_t begin, int64_t end) {
  const auto& d = call.descriptor<ops::MuonMomentumDescriptor>();
  const Preparation<T> prepare(call);
  const T momentum = static_cast<T>(d.momentum);
  const T* __restrict gradient = call.in<T>(0);
  T* __restrict weight = call.out<T>(0);
  T* __restrict slot = call.out<T>(1);
  T* __restrict step = call.out<T>(2);
  for (int64_t i = begin; i < end; ++i) {
    const T g = prepare.gradient(gradient[i]);
    const T m = slot[i] * momentum + g;
    weight[i] = prepare.weight(weight[i]);
    slot[i] = m;
    step[i] = d.nesterov ? g + m * momentum : m;
  }
  return squared_sum(step + begin, end - begin);
}

template <class T, class ForPieces>
void muon_momentum(const KernelCall& call, double* scratch, ForPieces for_pieces) {
  for_norm_chunks(call, for_pieces, [&](int64_t chunk, int64_t begin, int64_t end) {
    scratch[chunk] = muon_slots<T>(call, begin, end);
  });
  double square = 0.0;
  for (int64_t chunk = 0; chunk < norm_chunks(call); ++chunk) square += scratch[chunk];
  const T norm = static_cast<T>(std::sqrt(square)) + static_cast<T>(1e-7);
  for_norm_chunks(call, for_pieces, [&](int64_t, int64_t begin, int64_t end) {
    T* __restrict step = call.out<T>(2);
    for (int64_t i = begin; i < end; ++i) step[i] /= norm;
  });
}

/// Rows [begin, end).
template <class T>
void muon_polynomial(const KernelCall& call, int64_t begin, int64_t end) {
  const auto& d = call.descriptor<ops::MuonPolynomialDescriptor>();
  const T linear = static_cast<T>(d.linear), quadratic = static_cast<T>(d.quadratic);
  const int64_t side = call.output(0).shape()[0];
  const T* __restrict a = call.in<T>(0);
  T* __restrict p = call.out<T>(0);
  for (int64_t i = begin * side; i < end * side; ++i) p[i] = linear * a[i] + quadratic * p[i];
  for (int64_t row = begin; row < end; ++row) p[row * side + row] += static_cast<T>(d.constant);
}

/// Elements [begin, end).
template <class T>
void muon_step(const KernelCall& call, int64_t begin, int64_t end) {
  const auto& d = call.descriptor<ops::MuonStepDescriptor>();
  const T size =
      static_cast<T>(call.in<double>(1)[ops::kFirstFormulaScalar + d.rate]) * static_cast<T>(d.scale);
  const T* __restrict step = call.in<T>(0);
  T* __restrict weight = call.out<T>(0);
  for (int64_t i = begin; i < end; ++i) weight[i] -= step[i] * size;
}

}  // namespace

}  // namespace nyala::formulas
