#pragma once

#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <stdexcept>
#include <utility>
#include <vector>

#include "hot_words.h"
#include "language_model.h"

namespace beam {

/** See `core/domain/decoding/prefix-beam-search.ts`. */
struct BeamSearchOptions {
  /** Number of outputs of a frame, blank included. */
  uint32_t vocabulary;
  /** Output that separates words, or -1. */
  int32_t space;
  uint32_t beam_width;
  double language_model_weight;
  double character_bonus;
  double word_bonus;
  uint32_t candidates_per_frame;
  double candidate_floor;
  double beam_margin;
};

constexpr int kLogAddLimit = 32;
constexpr int kLogAddStepsPerUnit = 32;

/** log(exp(a) + exp(b)) by the table of `core/domain/decoding/log-add.ts`, with the same bits. */
class LogAdder {
 public:
  static constexpr size_t kTableSize = size_t{kLogAddLimit} * kLogAddStepsPerUnit * 4;

  explicit LogAdder(std::vector<double> table) : table_(std::move(table)) {
    if (table_.size() != kTableSize) throw std::invalid_argument("logAddTable must have 4 times 1024 entries");
  }
  double operator()(double a, double b) const;

 private:
  std::vector<double> table_;
};

/** The beam at the end of an utterance, best text first. */
struct Hypotheses {
  /** Tokens of all texts, concatenated. */
  std::vector<uint8_t> tokens;
  /** End of each text in `tokens`. */
  std::vector<int32_t> ends;
  std::vector<double> scores;
};

/** Every prefix a search has kept, as a tree: a node is its parent's text plus one token. */
class PrefixTree {
 public:
  struct Node {
    double text_score;
    int32_t parent;
    uint32_t state;
    uint32_t word_hash;
    int32_t hot_state;
    /** Its index in the current beam, or -1. */
    int32_t slot;
    /** 0 at the root. */
    uint32_t token;
  };

  /** Drops every node and creates `root`, which is node 0. */
  void Reset(const Node& root);
  /** The node of `parent` plus `token`, or -1. */
  int32_t Find(int32_t parent, uint32_t token) const;
  /** Adds a node that `Find` did not find. */
  int32_t Add(const Node& node);
  Node& operator[](int32_t node) { return nodes_[static_cast<size_t>(node)]; }
  const Node& operator[](int32_t node) const { return nodes_[static_cast<size_t>(node)]; }

 private:
  size_t FirstPlace(int32_t parent, uint32_t token) const;
  void Insert(int32_t node);

  std::vector<Node> nodes_;
  /** Hash table with open addressing; holds node + 1, or 0 for free entries. */
  std::vector<int32_t> table_;
};

/** The best offers, up to a limit, in order of score; among equals the earlier offer wins. */
class Ranking {
 public:
  struct Entry {
    double blank;
    double acoustic;
    double text_score;
    /** Beam slot of its origin. */
    uint32_t slot;
    /** Token that it adds, or -1 for none. */
    int32_t token;
    uint32_t state;
    uint32_t word_hash;
    int32_t hot_state;
  };

  explicit Ranking(size_t capacity);
  size_t count() const { return count_; }
  /** Scores at or below this are rejected. */
  double worst() const { return worst_; }
  /** Score of the best entry so far. */
  double best() const { return count_ == 0 ? -std::numeric_limits<double>::infinity() : scores_[0]; }
  /** Number of entries within a margin of the best score. */
  size_t CountWithin(double margin) const;
  /** From best to worst. */
  const Entry& operator[](size_t rank) const { return entries_[order_[rank]]; }
  void Clear();
  void Offer(double score, const Entry& entry);

 private:
  size_t capacity_;
  size_t count_ = 0;
  double worst_;
  std::vector<uint32_t> order_;
  /** Scores in the order of `order_`. */
  std::vector<double> scores_;
  std::vector<Entry> entries_;
};

/**
 * A cache of recent results of a language model. A prefix needs the same continuations in each frame, as do
 * all prefixes with the same end; the model's tables are far larger than a core's cache.
 */
class ModelCache {
 public:
  explicit ModelCache(const LanguageModel* model) : model_(model), entries_(kSize) {}

  /** See `LanguageModel::Advance`. */
  uint32_t Advance(uint32_t state, uint32_t token, double* log_prob) {
    // States have 24 bits, tokens 7: no key equals that of an empty entry.
    const uint32_t key = (state << 7) | token;
    Entry& entry = entries_[(key * 0x9e3779b1u) >> (32 - kSizeBits)];
    if (entry.key != key) {
      entry.state = model_->Advance(state, token, &entry.log_prob);
      entry.key = key;
    }
    *log_prob = entry.log_prob;
    return entry.state;
  }

 private:
  static constexpr uint32_t kSizeBits = 13;
  static constexpr size_t kSize = size_t{1} << kSizeBits;

  struct Entry {
    uint32_t key = UINT32_MAX;
    uint32_t state = 0;
    double log_prob = 0;
  };

  const LanguageModel* model_;
  std::vector<Entry> entries_;
};

/**
 * CTC prefix beam search with a character language model: the same steps as in
 * `core/domain/decoding/prefix-beam-search.ts`, which explains them. Keeps its workspace between calls; not
 * re-entrant.
 */
class PrefixBeamSearch {
 public:
  /**
   * @param model null for none
   * @throws std::invalid_argument for options out of bounds
   */
  PrefixBeamSearch(std::shared_ptr<const LanguageModel> model, const BeamSearchOptions& options, LogAdder log_add);

  uint32_t vocabulary() const { return options_.vocabulary; }

  /**
   * @param log_probs `[frames, vocabulary]`, natural log
   * @param hot_words null for none
   * @param stop null, or a number that another thread sets to end the search early
   * @return false if it ended early, with nothing found
   */
  bool Search(const float* log_probs, size_t frames, const HotWordsView* hot_words, const int32_t* stop,
              Hypotheses* found);

  /**
   * Makes another search over the same model and cache; both belong to one thread.
   * @throws std::invalid_argument for a width out of bounds
   */
  std::unique_ptr<PrefixBeamSearch> WithBeam(uint32_t beam_width) const;

  /** Starts a text that grows frame by frame, without hot words. */
  void Begin();
  /**
   * @param row `[vocabulary]`, natural log
   * @returns the node of the best text, which changes with it
   */
  int32_t Push(const float* row);
  /**
   * Writes the best text so far, without a space at its end; returns the length in tokens of its prefix of
   * whole words that every hypothesis in the beam shares.
   */
  size_t Grown(std::vector<uint8_t>* tokens) const;
  /** Drops all texts but the best. */
  void KeepBestText();

 private:
  /** A prefix in the beam: log-prob of its paths that end in blank, in its last token, and of both. */
  struct Alive {
    int32_t node;
    double blank;
    double token;
    double total;
  };

  PrefixBeamSearch(const PrefixBeamSearch& other, uint32_t beam_width);
  void Reserve();
  void Start();
  void Step(const float* row, int32_t frame);
  int32_t CommonNode() const;
  int32_t WholeWords(int32_t node) const;
  int32_t Trimmed(int32_t node) const;
  size_t ChooseCandidates(const float* row);
  void Stay(const float* row, int32_t frame);
  void Extend(const float* row, int32_t frame, size_t candidate_count);
  void KeepBest();
  void Finish(Hypotheses* found) const;
  double EndScore(int32_t node) const;

  std::shared_ptr<const LanguageModel> model_;
  BeamSearchOptions options_;
  std::shared_ptr<ModelCache> model_cache_;
  std::shared_ptr<const LogAdder> log_add_;
  const HotWordsView* hot_words_ = nullptr;
  PrefixTree tree_;
  Ranking ranking_;
  std::vector<Alive> beam_;
  std::vector<Alive> next_beam_;
  std::vector<uint32_t> candidates_;
  /** For each beam slot and token: the last frame in which that child was in the beam. */
  std::vector<int32_t> covered_at_;
  /** Frames of the growing text. */
  int32_t frame_ = 0;
};

}  // namespace beam
