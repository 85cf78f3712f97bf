/* Simulates a pendulum by a function that was written in JAX and compiled to an object file.

       treadle compile pendulum.mlir -o pendulum.o
       cc main.c pendulum.o -L$(pkg-config --variable=libdir treadle) -ltreadle_runtime -lm
       ./a.out */
#include "pendulum.h"

#include <stdio.h>
#include <stdlib.h>

static treadle_tensor scalar(void *value, int32_t dtype) {
  return (treadle_tensor){.data = value, .dtype = dtype};
}

/* Goes on by `steps` steps. Ends the program if that fails. */
static void simulate(float *angle, float *speed, int32_t steps) {
  pendulum_main_inputs in = {
      .angle = scalar(angle, TREADLE_FLOAT32),
      .speed = scalar(speed, TREADLE_FLOAT32),
      .steps = scalar(&steps, TREADLE_INT32),
  };
  pendulum_main_outputs out;
  treadle_error error;
  if (pendulum_main(&in, &out, &error) != 0) {
    fprintf(stderr, "%s\n", error.message);
    exit(1);
  }
  *angle = *(const float *)out.result_angle.data;
  *speed = *(const float *)out.result_speed.data;
  pendulum_main_free(&out);
}

int main(void) {
  float angle = 1, speed = 0;
  for (int tenth = 0; tenth <= 20; tenth += 4) {
    printf("%.1f s %*s\n", tenth / 10.0, 30 + (int)(20 * angle), "o");
    simulate(&angle, &speed, 40);
  }
  return 0;
}
