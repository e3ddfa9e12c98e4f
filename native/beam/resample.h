#ifndef BEAM_RESAMPLE_H_
#define BEAM_RESAMPLE_H_

#include <cstddef>
#include <cstdint>

namespace beam {

/** Filters of `up` phases, `taps` (a multiple of 4) each, and the phase of the first output. */
struct Resampling {
  const float* table;
  size_t taps;
  size_t up;
  size_t down;
  size_t phase;
};

/**
 * Four sums in double precision, added like `dot` in `core/domain/audio/resample.ts`, so results are
 * bit-identical.
 */
inline float Dot(const float* table, const float* samples, size_t count) {
  double sums[4] = {0, 0, 0, 0};
  for (size_t i = 0; i < count; i += 4) {
    for (size_t lane = 0; lane < 4; lane++) {
      sums[lane] += static_cast<double>(table[i + lane]) * static_cast<double>(samples[i + lane]);
    }
  }
  return static_cast<float>(sums[0] + sums[1] + (sums[2] + sums[3]));
}

/** Number of inputs for `count` outputs. */
inline size_t InputsOf(const Resampling& by, size_t count) {
  return count == 0 ? 0 : ((count - 1) * by.down + by.phase) / by.up + by.taps;
}

inline void Resample(const Resampling& by, const float* inputs, float* outputs, size_t count) {
  const size_t whole_step = by.down / by.up;
  const size_t phase_step = by.down % by.up;
  size_t position = 0;
  size_t phase = by.phase;
  for (size_t i = 0; i < count; i++) {
    outputs[i] = Dot(by.table + phase * by.taps, inputs + position, by.taps);
    position += whole_step;
    phase += phase_step;
    if (phase >= by.up) {
      phase -= by.up;
      position++;
    }
  }
}

}  // namespace beam

#endif  // BEAM_RESAMPLE_H_
