#include "treadle/kernels/linear_algebra/LapackLibrary.h"
#include "treadle/runtime/InstructionSet.h"
#include "treadle/runtime/SharedLibrary.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <mutex>
#include <vector>

namespace treadle::lapack {
namespace {

/// Limit on rows, since LAPACK uses int for sizes and products of sizes.
constexpr int64_t maxRows = 16384;

/// Debian's OpenBLAS without threads.
constexpr const char *path = TREADLE_OPENBLAS;

template <typename Function> Function *find(void *library, const char *name) {
  return reinterpret_cast<Function *>(dlsym(library, name));
}

/// Returns the processor type that OpenBLAS should assume if the processor is newer than the
/// library, or if the instruction set is capped; null if its own detection is right.
const char *coreTypeOverride(void *library) {
#if defined(__x86_64__)
  const auto &request = requestedInstructionSet();
  bool isCapped = request && *request;
  auto *nameOf = find<char *()>(library, "openblas_get_corename");
  if (!nameOf || std::getenv("OPENBLAS_CORETYPE") ||
      (!isCapped && std::strcmp(nameOf(), "Prescott") != 0))
    return nullptr;
  switch (instructionSet()) {
  case InstructionSet::X86_64_V2:
    return isCapped ? "Nehalem" : nullptr;
  case InstructionSet::X86_64_V3:
    return "Haswell";
  case InstructionSet::X86_64_V4:
    return "SkylakeX";
  }
#endif
  return nullptr;
}

/// Loads the library. For a processor newer than itself, it would use no vector instructions, so
/// the environment variable overrides its detection while it is loaded.
void *load() {
  void *library = openSharedLibrary(path, RTLD_NOW | RTLD_LOCAL);
  const char *kind = library ? coreTypeOverride(library) : nullptr;
  if (!kind)
    return library;
  dlclose(library);
  setenv("OPENBLAS_CORETYPE", kind, 0);
  library = openSharedLibrary(path, RTLD_NOW | RTLD_LOCAL);
  unsetenv("OPENBLAS_CORETYPE");
  return library;
}

/// Loads the library, unless it is one with threads of its own.
void *loadWithoutThreads() {
  void *library = load();
  auto *parallel = library ? find<int()>(library, "openblas_get_parallel") : nullptr;
  return parallel && parallel() == 0 ? library : nullptr;
}

void *openBlas() {
  static void *const library = loadWithoutThreads();
  return library;
}

template <typename T> constexpr char letterOf = 0;
template <> constexpr char letterOf<float> = 's';
template <> constexpr char letterOf<double> = 'd';
template <> constexpr char letterOf<Complex64> = 'c';
template <> constexpr char letterOf<Complex128> = 'z';

/// Returns the routine of that name for matrices of T, e.g. `geev`. LAPACK takes arguments by
/// reference, then the lengths of strings.
template <typename T, typename Function> Function *routine(const char *name) {
  char full[16] = {letterOf<T>};
  std::strncat(full, name, sizeof(full) - 3);
  std::strcat(full, "_");
  return find<Function>(openBlas(), full);
}

/// Held during each call. Debian's OpenBLAS 0.3.21 without threads isn't thread-safe, although it
/// locks its memory allocator: with four threads, and other programs on the machine, some of a
/// hundred matrices of 140 rows had wrong values (zgeev), fewer in dgeev, dgesdd and dsyevd.
std::mutex callMutex;

template <typename T> inline constexpr bool isComplex = Eigen::NumTraits<T>::IsComplex;

int sizeOf(const auto &matrix) { return static_cast<int>(matrix.rows()); }

/// Workspace of a routine: a first call queries its size for the second.
template <typename T> struct Work {
  T asked{};
  std::vector<T> memory;
  int size = -1;

  T *data() { return size < 0 ? &asked : memory.data(); }
  void take() {
    // A float rounds large sizes, possibly down.
    size = std::max(1, static_cast<int>(1.000001 * static_cast<double>(std::real(asked))));
    memory.resize(static_cast<size_t>(size));
  }
};

} // namespace

namespace {

bool isUsableFor(int64_t rows, int64_t columns, int64_t least) {
  return std::min(rows, columns) >= least && std::max(rows, columns) <= maxRows && openBlas();
}

} // namespace

bool isFaster(Spectrum kind, int64_t rows, int64_t columns, bool asEigen) {
  constexpr int64_t maxEigenRows = 100; // the largest size that TensorFlow's own tests compare
  constexpr int64_t least[] = {64, 16, 128};
  int64_t enough = least[static_cast<size_t>(kind)];
  return isUsableFor(rows, columns, asEigen ? std::max(enough, maxEigenRows + 1) : enough);
}

bool isInstalledFor(int64_t size) { return isUsableFor(size, size, 1); }

bool isFasterCholesky(int64_t size) { return isUsableFor(size, size, 48); }

bool isFasterLu(int64_t rows, int64_t columns) { return isUsableFor(rows, columns, 96); }

template <typename T>
bool selfAdjoint(Columns<T> &matrix, bool hasVectors, Columns<RealOf<T>> &values) {
  using Real = RealOf<T>;
  int n = sizeOf(matrix), info = 0;
  values.resize(n, 1);
  Work<T> work;
  Work<Real> reals;
  Work<int> whole;
  const char *vectors = hasVectors ? "V" : "N";
  auto call = [&] {
    if constexpr (isComplex<T>) {
      using Heevd =
          void(const char *, const char *, const int *, T *, const int *, Real *, T *, const int *,
               Real *, const int *, int *, const int *, int *, size_t, size_t);
      static auto *const heevd = routine<T, Heevd>("heevd");
      heevd(vectors, "L", &n, matrix.data(), &n, values.data(), work.data(), &work.size,
            reals.data(), &reals.size, whole.data(), &whole.size, &info, 1, 1);
    } else {
      using Syevd = void(const char *, const char *, const int *, T *, const int *, T *, T *,
                         const int *, int *, const int *, int *, size_t, size_t);
      static auto *const syevd = routine<T, Syevd>("syevd");
      syevd(vectors, "L", &n, matrix.data(), &n, values.data(), work.data(), &work.size,
            whole.data(), &whole.size, &info, 1, 1);
    }
  };
  std::lock_guard lock(callMutex);
  call();
  work.take();
  reals.take();
  whole.take();
  call();
  return info == 0;
}

template <typename T>
bool singular(Columns<T> &matrix, SingularVectors vectors, Columns<RealOf<T>> &values,
              Columns<T> &left, Columns<T> &rightAdjoint) {
  using Real = RealOf<T>;
  int rows = sizeOf(matrix), columns = static_cast<int>(matrix.cols()), info = 0;
  int least = std::min(rows, columns), most = std::max(rows, columns);
  bool isFull = vectors == SingularVectors::Full, hasVectors = vectors != SingularVectors::None;
  values.resize(least, 1);
  left.resize(hasVectors ? rows : 1, !hasVectors ? 1 : isFull ? rows : least);
  rightAdjoint.resize(!hasVectors ? 1 : isFull ? columns : least, hasVectors ? columns : 1);
  int leftStep = sizeOf(left), rightStep = sizeOf(rightAdjoint);
  const char *kind = isFull ? "A" : hasVectors ? "S" : "N";
  Work<T> work;
  std::vector<int> whole(8 * static_cast<size_t>(least));
  auto call = [&] {
    if constexpr (isComplex<T>) {
      using Gesdd =
          void(const char *, const int *, const int *, T *, const int *, Real *, T *, const int *,
               T *, const int *, T *, const int *, Real *, int *, int *, size_t);
      static auto *const gesdd = routine<T, Gesdd>("gesdd");
      auto l = static_cast<size_t>(least), m = static_cast<size_t>(most);
      std::vector<Real> reals(hasVectors ? l * std::max(5 * l + 7, 2 * m + 2 * l + 1) : 7 * l);
      gesdd(kind, &rows, &columns, matrix.data(), &rows, values.data(), left.data(), &leftStep,
            rightAdjoint.data(), &rightStep, work.data(), &work.size, reals.data(), whole.data(),
            &info, 1);
    } else {
      using Gesdd = void(const char *, const int *, const int *, T *, const int *, T *, T *,
                         const int *, T *, const int *, T *, const int *, int *, int *, size_t);
      static auto *const gesdd = routine<T, Gesdd>("gesdd");
      gesdd(kind, &rows, &columns, matrix.data(), &rows, values.data(), left.data(), &leftStep,
            rightAdjoint.data(), &rightStep, work.data(), &work.size, whole.data(), &info, 1);
    }
  };
  {
    std::lock_guard lock(callMutex);
    call();
    work.take();
    call();
  }
  return info == 0;
}

namespace {

/// LAPACK stores a pair of conjugate vectors as the real and the imaginary part of one.
template <typename Real>
void joinPairs(const Columns<Real> &packed, const Columns<std::complex<Real>> &values,
               Columns<std::complex<Real>> &vectors) {
  using Complex = std::complex<Real>;
  vectors = packed.template cast<Complex>();
  for (Eigen::Index k = 0; k + 1 < values.rows(); ++k)
    if (values(k).imag() != 0) {
      vectors.col(k).imag() = packed.col(k + 1);
      vectors.col(k + 1) = vectors.col(k).conjugate();
      ++k;
    }
}

} // namespace

template <typename T>
bool general(Columns<T> &matrix, bool hasLeft, bool hasRight,
             Columns<std::complex<RealOf<T>>> &values, Columns<std::complex<RealOf<T>>> &left,
             Columns<std::complex<RealOf<T>>> &right) {
  using Real = RealOf<T>;
  int n = sizeOf(matrix), info = 0;
  values.resize(n, 1);
  const char *leftKind = hasLeft ? "V" : "N", *rightKind = hasRight ? "V" : "N";
  Columns<T> ofLeft(hasLeft ? n : 1, hasLeft ? n : 1), ofRight(hasRight ? n : 1, hasRight ? n : 1);
  int leftStep = sizeOf(ofLeft), rightStep = sizeOf(ofRight);
  Work<T> work;
  std::vector<Real> reals(2 * static_cast<size_t>(n));
  auto call = [&] {
    if constexpr (isComplex<T>) {
      using Geev =
          void(const char *, const char *, const int *, T *, const int *, T *, T *, const int *,
               T *, const int *, T *, const int *, Real *, int *, size_t, size_t);
      static auto *const geev = routine<T, Geev>("geev");
      geev(leftKind, rightKind, &n, matrix.data(), &n, values.data(), ofLeft.data(), &leftStep,
           ofRight.data(), &rightStep, work.data(), &work.size, reals.data(), &info, 1, 1);
    } else {
      using Geev = void(const char *, const char *, const int *, T *, const int *, T *, T *, T *,
                        const int *, T *, const int *, T *, const int *, int *, size_t, size_t);
      static auto *const geev = routine<T, Geev>("geev");
      geev(leftKind, rightKind, &n, matrix.data(), &n, reals.data(), reals.data() + n,
           ofLeft.data(), &leftStep, ofRight.data(), &rightStep, work.data(), &work.size, &info, 1,
           1);
    }
  };
  {
    std::lock_guard lock(callMutex);
    call();
    work.take();
    call();
  }
  if (info != 0)
    return false;
  if constexpr (isComplex<T>) {
    left = std::move(ofLeft);
    right = std::move(ofRight);
  } else {
    const Real *real = reals.data(), *imaginary = real + n;
    for (int k = 0; k < n; ++k)
      values(k) = {real[k], imaginary[k]};
    if (hasLeft)
      joinPairs<Real>(ofLeft, values, left);
    if (hasRight)
      joinPairs<Real>(ofRight, values, right);
  }
  return true;
}

template <typename T> bool schur(Columns<T> &matrix, Columns<T> &vectors) {
  using Real = RealOf<T>;
  int n = sizeOf(matrix), chosen = 0, info = 0;
  vectors.resize(n, n);
  Work<T> work;
  std::vector<T> values(2 * static_cast<size_t>(n));
  std::vector<Real> reals(static_cast<size_t>(n));
  auto call = [&] {
    if constexpr (isComplex<T>) {
      using Gees =
          void(const char *, const char *, const void *, const int *, T *, const int *, int *, T *,
               T *, const int *, T *, const int *, Real *, int *, int *, size_t, size_t);
      static auto *const gees = routine<T, Gees>("gees");
      gees("V", "N", nullptr, &n, matrix.data(), &n, &chosen, values.data(), vectors.data(), &n,
           work.data(), &work.size, reals.data(), nullptr, &info, 1, 1);
    } else {
      using Gees =
          void(const char *, const char *, const void *, const int *, T *, const int *, int *, T *,
               T *, T *, const int *, T *, const int *, int *, int *, size_t, size_t);
      static auto *const gees = routine<T, Gees>("gees");
      gees("V", "N", nullptr, &n, matrix.data(), &n, &chosen, values.data(), values.data() + n,
           vectors.data(), &n, work.data(), &work.size, nullptr, &info, 1, 1);
    }
  };
  std::lock_guard lock(callMutex);
  call();
  work.take();
  call();
  return info == 0;
}

template <typename T> int cholesky(T *matrix, int64_t size, bool isLower) {
  using Potrf = void(const char *, const int *, T *, const int *, int *, size_t);
  static auto *const potrf = routine<T, Potrf>("potrf");
  int n = static_cast<int>(size), info = 0;
  std::lock_guard lock(callMutex);
  potrf(isLower ? "L" : "U", &n, matrix, &n, &info, 1);
  return info;
}

template <typename T> int lu(T *matrix, int64_t rows, int64_t columns, int *swaps) {
  using Getrf = void(const int *, const int *, T *, const int *, int *, int *);
  static auto *const getrf = routine<T, Getrf>("getrf");
  int high = static_cast<int>(rows), wide = static_cast<int>(columns), info = 0;
  std::lock_guard lock(callMutex);
  getrf(&high, &wide, matrix, &high, swaps, &info);
  return info;
}

#define TREADLE_FOR(T, Real)                                                                       \
  template bool selfAdjoint(Columns<T> &, bool, Columns<Real> &);                                  \
  template bool singular(Columns<T> &, SingularVectors, Columns<Real> &, Columns<T> &,             \
                         Columns<T> &);                                                            \
  template bool general(Columns<T> &, bool, bool, Columns<std::complex<Real>> &,                   \
                        Columns<std::complex<Real>> &, Columns<std::complex<Real>> &);             \
  template bool schur(Columns<T> &, Columns<T> &);                                                 \
  template int cholesky(T *, int64_t, bool);                                                       \
  template int lu(T *, int64_t, int64_t, int *);
TREADLE_FOR(float, float)
TREADLE_FOR(double, double)
TREADLE_FOR(Complex64, float)
TREADLE_FOR(Complex128, double)
#undef TREADLE_FOR

} // namespace treadle::lapack
