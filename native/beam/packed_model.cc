#include "packed_model.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <stdexcept>

namespace beam {
namespace {

constexpr uint32_t kShares = 1024;
constexpr uint32_t kShareBits = 10;
constexpr uint32_t kLeastState = 1u << 15;
constexpr uint32_t kSymbols = 256;
constexpr uint32_t kTokens = 128;
constexpr uint32_t kOne = 1u << 24;
constexpr uint32_t kLeastRest = 256;
constexpr uint32_t kMostPerByte = 8;
constexpr uint32_t kMostLevels = 64;
/** Distance, in states, between prefetch and use of the tables. */
constexpr uint32_t kAhead = 8;

constexpr uint32_t kCounts = 0;
constexpr uint32_t kHere = kCounts + 4 * 24 * 8;
constexpr uint32_t kLogProbs = kHere + 8 * 8;
constexpr uint32_t kBackoffs = kLogProbs + 64 * 15;
constexpr uint32_t kGaps = kBackoffs + 64 * 8;
constexpr uint32_t kSymbolContexts = kGaps + 1;
constexpr uint32_t kAllHere = 0;
constexpr uint32_t kTaken = kAllHere + 3 * 4 * 32;
constexpr uint32_t kIsState = kTaken + 4 * 4 * 48;
constexpr uint32_t kBitContexts = kIsState + 16 * 4 * 2 * 3;

constexpr uint32_t kLengthOfFour[] = {0, 0, 0, 0, 0, 1, 1, 2, 3};
constexpr uint32_t kLengthOfFive[] = {0, 0, 0, 0, 1, 1, 2, 3, 4};

[[noreturn]] void Broken(const char* reason) { throw std::invalid_argument(reason); }

/** Decodes symbols by their frequencies, like `core/domain/decoding/packed-symbols.ts`. */
class SymbolReader {
 public:
  SymbolReader(const uint8_t* bytes, size_t size) {
    const size_t tables = (kBitContexts + size_t{kSymbolContexts} * kSymbols) * sizeof(uint16_t);
    if (size < tables + 2 * sizeof(uint16_t)) Broken("it is cut short");
    bit_shares_.resize(kBitContexts);
    shares_.resize(size_t{kSymbolContexts} * kSymbols);
    std::memcpy(bit_shares_.data(), bytes, kBitContexts * sizeof(uint16_t));
    std::memcpy(shares_.data(), bytes + kBitContexts * sizeof(uint16_t), shares_.size() * sizeof(uint16_t));
    words_.resize((size - tables) / sizeof(uint16_t));
    std::memcpy(words_.data(), bytes + tables, words_.size() * sizeof(uint16_t));
    starts_.resize(shares_.size());
    symbols_.resize(size_t{kSymbolContexts} * kShares);
    for (const uint16_t share : bit_shares_) {
      if (share > kShares) Broken("its shares do not add up");
    }
    for (uint32_t context = 0; context < kSymbolContexts; context++) Prepare(context);
    state_ = (uint32_t{words_[0]} << 16 | words_[1]) & 0x7fffffffu;
  }

  bool is_at_end() const { return position_ == words_.size() && state_ == kLeastState; }

  uint32_t Symbol(uint32_t context) {
    const uint32_t share = state_ & (kShares - 1);
    const uint32_t symbol = symbols_[context * kShares + share];
    const size_t at = context * kSymbols + symbol;
    Advance(shares_[at] * (state_ >> kShareBits) + share - starts_[at]);
    return symbol;
  }

  bool Bit(uint32_t context) {
    const uint32_t share = state_ & (kShares - 1);
    const uint32_t zero = bit_shares_[context];
    if (share < zero) {
      Advance(zero * (state_ >> kShareBits) + share);
      return false;
    }
    Advance((kShares - zero) * (state_ >> kShareBits) + share - zero);
    return true;
  }

  uint32_t Raw(uint32_t bits) {
    const uint32_t share = state_ & (kShares - 1);
    const uint32_t rest = kShareBits - bits;
    Advance(((state_ >> kShareBits) << rest) + (share & ((1u << rest) - 1)));
    return share >> rest;
  }

 private:
  void Advance(uint32_t state) {
    if (state >= kLeastState) {
      state_ = state;
      return;
    }
    if (position_ >= words_.size()) Broken("it is cut short");
    state_ = state << 16 | words_[position_++];
  }

  void Prepare(uint32_t context) {
    uint32_t start = 0;
    for (uint32_t symbol = 0; symbol < kSymbols; symbol++) {
      const size_t at = size_t{context} * kSymbols + symbol;
      starts_[at] = static_cast<uint16_t>(start);
      if (start + shares_[at] > kShares) Broken("its shares do not add up");
      std::memset(symbols_.data() + size_t{context} * kShares + start, static_cast<int>(symbol), shares_[at]);
      start += shares_[at];
    }
  }

  std::vector<uint16_t> bit_shares_;
  std::vector<uint16_t> shares_;
  std::vector<uint16_t> starts_;
  std::vector<uint8_t> symbols_;
  std::vector<uint16_t> words_;
  size_t position_ = 2;
  uint32_t state_;
};

/** Inputs of the predictions. */
struct Scales {
  const uint32_t* masses;
  const uint8_t* logs;
  std::array<int32_t, 256> shifts;
  /** Binary logarithms of the codes' probabilities, in 16ths. */
  std::array<int32_t, 256> code_logs;
  int64_t backoff_slope;
  int64_t backoff_of_one;

  /** Binary logarithm in 256ths. */
  int32_t LogOf(uint32_t value) const {
    const uint32_t whole = std::max(1u, value);
    const uint32_t exponent = 31 - static_cast<uint32_t>(__builtin_clz(whole));
    const uint32_t mantissa = (exponent >= 8 ? whole >> (exponent - 8) : whole << (8 - exponent)) & 255u;
    return static_cast<int32_t>((exponent << 8) + logs[mantissa]);
  }
};

struct Found {
  uint32_t token;
  uint32_t lower;
  uint32_t guess;
};

}  // namespace

LanguageModelTables UnpackModel(const uint8_t* bytes, size_t size, const LanguageModelSizes& sizes,
                                const double* log_prob_codes, const double* backoff_codes) {
  if (std::max({sizes.nodes, sizes.arcs, sizes.words}) / kMostPerByte > size) Broken("it is too short for its counts");
  std::array<uint32_t, 256> masses;
  std::array<uint8_t, 256> logs;
  if (size < sizeof masses + sizeof logs) Broken("it is cut short");
  std::memcpy(masses.data(), bytes, sizeof masses);
  std::memcpy(logs.data(), bytes + sizeof masses, sizeof logs);
  if (*std::max_element(masses.begin(), masses.end()) > kOne) Broken("its probabilities are above one");
  Scales scales = {masses.data(), logs.data(), {}, {}, 0, 0};
  const double log_prob_step = (log_prob_codes[255] - log_prob_codes[0]) / 255;
  const double backoff_step = (backoff_codes[255] - backoff_codes[0]) / 255;
  if (!(std::abs(log_prob_step) > 1e-6 && std::abs(backoff_step) > 1e-6)) Broken("its codes do not differ");
  for (uint32_t code = 0; code < 256; code++) {
    const double shift = std::floor(backoff_codes[code] / log_prob_step + 0.5);
    scales.code_logs[code] = scales.LogOf(masses[code]) >> 4;
    scales.shifts[code] = static_cast<int32_t>(std::max(-255.0, std::min(255.0, shift)));
  }
  scales.backoff_slope = static_cast<int64_t>(std::floor(177.44567822334599 / backoff_step + 0.5));
  const double of_one = std::floor(-backoff_codes[0] / backoff_step + 0.5);
  scales.backoff_of_one = static_cast<int64_t>(std::max(-1e6, std::min(1e6, of_one)));

  SymbolReader reader(bytes + sizeof masses + sizeof logs, size - sizeof masses - sizeof logs);
  LanguageModelTables tables;
  tables.gaps.resize(sizes.words);
  for (uint32_t& gap : tables.gaps) {
    const uint32_t bits = reader.Symbol(kGaps);
    if (bits > 32) Broken("its words are not in order");
    gap = bits == 0 ? 0 : 1;
    for (uint32_t left = bits == 0 ? 0 : bits - 1; left > 0;) {
      const uint32_t some = std::min(kShareBits, left);
      left -= some;
      gap = gap << some | reader.Raw(some);
    }
  }

  auto& nodes = tables.nodes;
  auto& tokens = tables.tokens;
  auto& targets = tables.targets;
  nodes.resize(size_t{sizes.nodes} + 1);
  tokens.resize(sizes.arcs);
  targets.resize(sizes.arcs);
  std::vector<uint8_t> is_state(sizes.arcs);
  std::vector<uint8_t> entries(sizes.nodes);
  /** Sums of the probabilities of each state's arcs. */
  std::vector<uint32_t> sums(sizes.nodes);
  std::array<uint32_t, kTokens> seen;
  seen.fill(UINT32_MAX);
  std::array<Found, 256> found;

  if (sizes.vocabulary > sizes.arcs) Broken("its root is too large");
  uint32_t next = 1;
  const auto add_state = [&](uint32_t suffix, uint32_t code) {
    if (next >= sizes.nodes) Broken("it has more states than its header says");
    nodes[next].suffix = suffix;
    entries[next] = static_cast<uint8_t>(code);
    return next++;
  };
  for (uint32_t token = 0; token < sizes.vocabulary; token++) {
    const uint32_t code = reader.Raw(8);
    is_state[token] = reader.Raw(1) != 0;
    tokens[token] = static_cast<uint8_t>(token);
    targets[token] = (is_state[token] ? add_state(0, code) : 0) << 8 | code;
    sums[0] += masses[code];
  }
  nodes[0] = {0, 0, reader.Raw(8)};
  nodes[1].first_arc = sizes.vocabulary;

  uint32_t length = 0;
  uint32_t length_end = 1;
  for (uint32_t state = 1; state < sizes.nodes; state++) {
    // A state without an incoming arc so far has no suffix.
    if (state >= next) Broken("its states are not in order");
    if (state == length_end) {
      length = std::min(8u, length + 1);
      length_end = next;
    }
    // Later states read from arbitrary places in the tables: prefetch their entries.
    if (state + 3 * kAhead < next) __builtin_prefetch(&nodes[nodes[state + 3 * kAhead].suffix]);
    if (state + 2 * kAhead < next) {
      const uint32_t suffix = nodes[state + 2 * kAhead].suffix;
      const uint32_t arc = nodes[suffix].first_arc;
      __builtin_prefetch(&tokens[arc]);
      __builtin_prefetch(&targets[arc]);
      __builtin_prefetch(&sums[suffix]);
      __builtin_prefetch(&nodes[nodes[suffix].suffix]);
    }
    if (state + kAhead < next) {
      const uint32_t suffix = nodes[nodes[state + kAhead].suffix].suffix;
      const uint32_t arc = nodes[suffix].first_arc;
      __builtin_prefetch(&tokens[arc]);
      __builtin_prefetch(&targets[arc]);
      __builtin_prefetch(&sums[suffix]);
    }
    const uint32_t first = nodes[state].first_arc;
    uint32_t at = nodes[state].suffix;
    const uint32_t choices = nodes[at + 1].first_arc - nodes[at].first_arc;
    const uint32_t four = kLengthOfFour[length];
    const uint32_t choice_class = choices < 16 ? choices : std::min(23u, 14 + (choices >> 3));
    const uint32_t count = reader.Symbol(kCounts + (four * 24 + choice_class) * 8 + (entries[state] >> 5));
    if (count > sizes.arcs - first) Broken("its arcs do not add up");
    nodes[state + 1].first_arc = first + count;

    uint32_t found_count = 0;
    int32_t shift = 0;
    for (uint32_t level = 0; found_count < count; level++) {
      if (level > kMostLevels) Broken("its histories are too long");
      const uint32_t begin = nodes[at].first_arc;
      const uint32_t end = nodes[at + 1].first_arc;
      uint32_t left = end - begin;
      uint32_t rest = sums[at];
      for (uint32_t arc = begin; level > 0 && arc < end; arc++) {
        if (seen[tokens[arc]] != state) continue;
        left--;
        rest -= masses[targets[arc] & 255u];
      }
      const uint32_t missing = count - found_count;
      uint32_t here = missing;
      if (at != 0) {
        const uint32_t row = std::min(level, 2u) * 4 + std::min(missing, 4u) - 1;
        if (!reader.Bit(kAllHere + row * 32 + std::min(left, 31u))) {
          here = reader.Symbol(kHere + std::min(missing, 7u) * 8 + std::min(left, 7u));
        }
      }
      if (here > left || here > missing) Broken("its tokens do not add up");
      for (uint32_t arc = begin; arc < end && here > 0; arc++) {
        const uint32_t token = tokens[arc];
        if (level > 0 && seen[token] == state) continue;
        const uint32_t code = targets[arc] & 255u;
        bool is_taken = true;
        if (left > here) {
          const int32_t share = ((scales.LogOf(rest) >> 4) - scales.code_logs[code]) >> 2;
          const uint32_t row = (std::min(here, 4u) - 1) * 4 + std::min(left - here, 4u) - 1;
          is_taken = reader.Bit(kTaken + row * 48 + static_cast<uint32_t>(std::max(0, std::min(47, share))));
        }
        if (is_taken) {
          const int32_t guess = static_cast<int32_t>(code) + shift;
          found[found_count++] = {token, arc, static_cast<uint32_t>(std::max(0, std::min(255, guess)))};
          here--;
        }
        rest -= masses[code];
        left--;
      }
      if (found_count < count) {
        if (at == 0) Broken("its tokens do not add up");
        for (uint32_t arc = begin; arc < end; arc++) seen[tokens[arc]] = state;
      }
      shift += scales.shifts[nodes[at].backoff];
      at = nodes[at].suffix;
      if (level > 0) {
        std::sort(found.begin(), found.begin() + found_count,
                  [](const Found& a, const Found& b) { return a.token < b.token; });
      }
    }

    const uint32_t count_class = std::max(1u, std::min(count, 3u)) - 1;
    uint32_t sum = 0;
    uint32_t lower_sum = 0;
    for (uint32_t i = 0; i < count; i++) {
      const uint32_t arc = first + i;
      const Found& one = found[i];
      const uint32_t context = (one.guess >> 2) * 15 + kLengthOfFive[length] * 3 + count_class;
      const uint32_t code = reader.Symbol(kLogProbs + context);
      const uint32_t bit_context = (((code >> 4) * 4 + four) * 2 + (is_state[one.lower] ? 1 : 0)) * 3 + count_class;
      is_state[arc] = reader.Bit(kIsState + bit_context);
      tokens[arc] = static_cast<uint8_t>(one.token);
      sum += masses[code];
      lower_sum += masses[one.guess];
      const uint32_t lower = targets[one.lower] >> 8;
      targets[arc] = (is_state[arc] ? add_state(lower, code) : lower) << 8 | code;
    }
    sums[state] = sum;
    const int32_t own_rest = scales.LogOf(sum < kOne - kLeastRest ? kOne - sum : kLeastRest);
    const int32_t lower_rest = scales.LogOf(lower_sum < kOne - kLeastRest ? kOne - lower_sum : kLeastRest);
    const int64_t weight = (((own_rest - lower_rest) * scales.backoff_slope + 32768) >> 16) + scales.backoff_of_one;
    const int64_t guess = std::max<int64_t>(0, std::min<int64_t>(255, weight));
    const uint32_t fine = static_cast<uint32_t>(std::max(0, std::min(63, (24 * 256 - own_rest) >> 5)));
    const uint32_t coarse = static_cast<uint32_t>(std::min(7, 24 - (lower_rest >> 8)));
    nodes[state].backoff = (reader.Symbol(kBackoffs + fine * 8 + coarse) + static_cast<uint32_t>(guess)) & 255u;
  }
  if (next != sizes.nodes) Broken("it has fewer states than its header says");
  if (nodes[sizes.nodes].first_arc != sizes.arcs) Broken("its arcs do not add up");
  if (!reader.is_at_end()) Broken("its contents are inconsistent");
  nodes[sizes.nodes] = {sizes.arcs, 0, 0};
  return tables;
}

}  // namespace beam
