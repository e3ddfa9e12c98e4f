#pragma once

#include <cstddef>
#include <cstdint>
#include <stdexcept>

namespace beam {

/**
 * A view of the hot-word automaton from `core/domain/decoding/hot-words.ts`, valid during one search.
 */
class HotWordsView {
 public:
  struct Arrays {
    const int32_t* first_arc;
    const uint8_t* arc_tokens;
    const int32_t* arc_targets;
    const int32_t* suffix;
    const double* gain;
    const double* credit;
    size_t states;
    size_t arcs;
    int32_t start_state;
  };

  /** @throws std::invalid_argument for arrays with invalid indices or cycles */
  explicit HotWordsView(const Arrays& arrays) : arrays_(arrays) {
    const size_t states = arrays.states;
    bool is_sound = states >= 1 && arrays.first_arc[0] == 0 && IsState(arrays.start_state) &&
                    arrays.suffix[0] == 0 && arrays.first_arc[states] >= 0 &&
                    static_cast<size_t>(arrays.first_arc[states]) == arrays.arcs;
    for (size_t state = 0; is_sound && state < states; state++) {
      // States are numbered breadth-first: a suffix, being shorter, has a lower number.
      is_sound = arrays.first_arc[state] <= arrays.first_arc[state + 1] && IsState(arrays.suffix[state]) &&
                 (state == 0 || static_cast<size_t>(arrays.suffix[state]) < state);
    }
    for (size_t arc = 0; is_sound && arc < arrays.arcs; arc++) is_sound = IsState(arrays.arc_targets[arc]);
    if (!is_sound) throw std::invalid_argument("hot words: the automaton is inconsistent");
  }

  int32_t start_state() const { return arrays_.start_state; }

  int32_t Advance(int32_t state, uint32_t token) const {
    for (int32_t at = state;; at = arrays_.suffix[at]) {
      for (int32_t arc = arrays_.first_arc[at]; arc < arrays_.first_arc[at + 1]; arc++) {
        if (arrays_.arc_tokens[arc] == token) return arrays_.arc_targets[arc];
      }
      if (at == 0) return 0;
    }
  }

  double ScoreOf(int32_t from, int32_t to) const {
    return arrays_.gain[to] + arrays_.credit[to] - arrays_.credit[from];
  }

  double Credit(int32_t state) const { return arrays_.credit[state]; }

 private:
  bool IsState(int32_t state) const { return state >= 0 && static_cast<size_t>(state) < arrays_.states; }

  Arrays arrays_;
};

}  // namespace beam
