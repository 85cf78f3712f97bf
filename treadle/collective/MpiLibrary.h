/* What libtreadle_mpi.so gives: bytes between the processes that mpirun started. It knows nothing
 * of tensors, and is loaded by name: whoever runs alone needs neither it nor OpenMPI. */
#ifndef TREADLE_COLLECTIVE_MPILIBRARY_H
#define TREADLE_COLLECTIVE_MPILIBRARY_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The other end's bytes are freed when the call returns. */
typedef void (*treadle_mpi_take)(void *receiver, int from, const void *bytes, size_t size);

enum { treadle_mpi_late = -1 };

typedef struct {
  /* Joins the world, which takes until all of its processes have come; 0, an error's number, or
   * treadle_mpi_late where that took longer than `seconds`. May be called again then. */
  int (*open)(int *rank, int *size, double seconds);
  /* Calls `take` for each message from now on, on one thread. */
  void (*listen)(treadle_mpi_take take, void *receiver);
  /* Takes a copy, and returns at once. */
  void (*send)(int to, const void *bytes, size_t size);
  /* Sends what is left, for `seconds` at most, and leaves the world with all others; if `hasFailed`
   * isn't 0, it waits for them until then and no longer, since they may never come. */
  void (*close)(int hasFailed, double seconds);
} treadle_mpi_functions;

/* The library's one symbol. */
const treadle_mpi_functions *treadle_mpi(void);

#ifdef __cplusplus
}
#endif

#endif
