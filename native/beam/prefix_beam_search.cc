#include "prefix_beam_search.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <stdexcept>

namespace beam {
namespace {

constexpr uint32_t kBlank = 0;
constexpr double kImpossible = -std::numeric_limits<double>::infinity();
constexpr uint32_t kMaxBeamWidth = 4096;
constexpr size_t kFirstTableSize = 2048;

BeamSearchOptions Checked(const BeamSearchOptions& options, const LanguageModel* model) {
  if (options.vocabulary < 2 || options.vocabulary > 256) {
    throw std::invalid_argument("vocabulary must have 2 to 256 outputs");
  }
  if (model != nullptr && model->vocabulary() != options.vocabulary) {
    throw std::invalid_argument("the language model's vocabulary must match the recogniser's");
  }
  if (options.space < -1 || options.space >= static_cast<int32_t>(options.vocabulary)) {
    throw std::invalid_argument("space must be an output or -1");
  }
  if (options.beam_width < 1 || options.beam_width > kMaxBeamWidth) {
    throw std::invalid_argument("beamWidth must be 1 to 4096");
  }
  return options;
}

}  // namespace

void PrefixTree::Reset(const Node& root) {
  if (table_.empty()) table_.resize(kFirstTableSize);
  std::fill(table_.begin(), table_.end(), 0);
  nodes_.clear();
  nodes_.push_back(root);
}

int32_t PrefixTree::Find(int32_t parent, uint32_t token) const {
  const size_t mask = table_.size() - 1;
  for (size_t at = FirstPlace(parent, token);; at = (at + 1) & mask) {
    const int32_t node = table_[at] - 1;
    if (node < 0) return -1;
    const Node& found = nodes_[static_cast<size_t>(node)];
    if (found.parent == parent && found.token == token) return node;
  }
}

int32_t PrefixTree::Add(const Node& node) {
  const int32_t index = static_cast<int32_t>(nodes_.size());
  nodes_.push_back(node);
  if (nodes_.size() * 2 > table_.size()) {
    table_.assign(table_.size() * 2, 0);
    for (int32_t kept = 1; kept <= index; kept++) Insert(kept);
  } else {
    Insert(index);
  }
  return index;
}

size_t PrefixTree::FirstPlace(int32_t parent, uint32_t token) const {
  const uint32_t mixed = (static_cast<uint32_t>(parent) * 256u + token) * 0x9e3779b1u;
  return (mixed ^ (mixed >> 15)) & (table_.size() - 1);
}

void PrefixTree::Insert(int32_t node) {
  const size_t mask = table_.size() - 1;
  size_t at = FirstPlace((*this)[node].parent, (*this)[node].token);
  while (table_[at] != 0) at = (at + 1) & mask;
  table_[at] = node + 1;
}

Ranking::Ranking(size_t capacity)
    : capacity_(capacity), worst_(kImpossible), order_(capacity), scores_(capacity), entries_(capacity) {}

void Ranking::Clear() {
  count_ = 0;
  worst_ = kImpossible;
}

void Ranking::Offer(double score, const Entry& entry) {
  if (score <= worst_) return;
  // A full ranking overwrites its worst entry.
  const bool is_full = count_ == capacity_;
  const uint32_t place = is_full ? order_[count_ - 1] : static_cast<uint32_t>(count_);
  size_t at = is_full ? count_ - 1 : count_++;
  for (; at > 0 && scores_[at - 1] < score; at--) {
    scores_[at] = scores_[at - 1];
    order_[at] = order_[at - 1];
  }
  scores_[at] = score;
  order_[at] = place;
  entries_[place] = entry;
  if (count_ == capacity_) worst_ = scores_[count_ - 1];
}

size_t Ranking::CountWithin(double margin) const {
  const double least = best() - margin;
  size_t within = count_;
  while (within > 1 && scores_[within - 1] < least) within--;
  return within;
}

double LogAdder::operator()(double a, double b) const {
  const double larger = a < b ? b : a;
  const double difference = a < b ? b - a : a - b;
  // Also false for NaN, the difference of two infinities.
  if (!(difference < kLogAddLimit)) return larger;
  const double place = difference * kLogAddStepsPerUnit;
  const auto step = static_cast<size_t>(place);
  const double t = place - static_cast<double>(step);
  const double* cubic = table_.data() + step * 4;
  return larger + (cubic[0] + t * (cubic[1] + t * (cubic[2] + t * cubic[3])));
}

PrefixBeamSearch::PrefixBeamSearch(std::shared_ptr<const LanguageModel> model, const BeamSearchOptions& options,
                                   LogAdder log_add)
    : model_(std::move(model)),
      options_(Checked(options, model_.get())),
      model_cache_(std::make_shared<ModelCache>(model_.get())),
      log_add_(std::make_shared<const LogAdder>(std::move(log_add))),
      ranking_(options.beam_width) {
  Reserve();
}

PrefixBeamSearch::PrefixBeamSearch(const PrefixBeamSearch& other, uint32_t beam_width)
    : model_(other.model_),
      options_(other.options_),
      model_cache_(other.model_cache_),
      log_add_(other.log_add_),
      ranking_(beam_width) {
  options_.beam_width = beam_width;
  Checked(options_, model_.get());
  Reserve();
}

std::unique_ptr<PrefixBeamSearch> PrefixBeamSearch::WithBeam(uint32_t beam_width) const {
  return std::unique_ptr<PrefixBeamSearch>(new PrefixBeamSearch(*this, beam_width));
}

void PrefixBeamSearch::Reserve() {
  beam_.reserve(options_.beam_width);
  next_beam_.reserve(options_.beam_width);
  candidates_.resize(std::min(options_.candidates_per_frame, options_.vocabulary - 1));
  covered_at_.resize(size_t{options_.beam_width} * options_.vocabulary);
}

bool PrefixBeamSearch::Search(const float* log_probs, size_t frames, const HotWordsView* hot_words,
                              const int32_t* stop, Hypotheses* found) {
  hot_words_ = hot_words;
  Start();
  size_t frame = 0;
  while (frame < frames && (stop == nullptr || __atomic_load_n(stop, __ATOMIC_RELAXED) == 0)) {
    Step(log_probs + frame * options_.vocabulary, static_cast<int32_t>(frame));
    frame++;
  }
  const bool is_complete = frame == frames;
  if (is_complete) Finish(found);
  hot_words_ = nullptr;
  return is_complete;
}

void PrefixBeamSearch::Begin() {
  Start();
  frame_ = 0;
}

int32_t PrefixBeamSearch::Push(const float* row) {
  Step(row, frame_++);
  return beam_.empty() ? 0 : beam_[0].node;
}

size_t PrefixBeamSearch::Grown(std::vector<uint8_t>* tokens) const {
  tokens->clear();
  if (beam_.empty()) return 0;
  for (int32_t node = Trimmed(beam_[0].node); node > 0; node = tree_[node].parent) {
    tokens->push_back(static_cast<uint8_t>(tree_[node].token));
  }
  std::reverse(tokens->begin(), tokens->end());
  size_t settled = 0;
  for (int32_t node = Trimmed(WholeWords(CommonNode())); node > 0; node = tree_[node].parent) settled++;
  return settled;
}

/** Removes a space at the end. */
int32_t PrefixBeamSearch::Trimmed(int32_t node) const {
  const bool has_space = node > 0 && static_cast<int32_t>(tree_[node].token) == options_.space;
  return has_space ? tree_[node].parent : node;
}

/** The common prefix of all texts. */
int32_t PrefixBeamSearch::CommonNode() const {
  int32_t common = beam_[0].node;
  for (const Alive& alive : beam_) {
    // A node's number is above its parent's.
    for (int32_t node = alive.node; node != common;) {
      if (node > common) {
        node = tree_[node].parent;
      } else {
        common = tree_[common].parent;
      }
    }
  }
  return common;
}

/** Removes the letters after the last space. */
int32_t PrefixBeamSearch::WholeWords(int32_t node) const {
  while (node > 0 && static_cast<int32_t>(tree_[node].token) != options_.space) node = tree_[node].parent;
  return node;
}

void PrefixBeamSearch::KeepBestText() {
  for (size_t slot = 1; slot < beam_.size(); slot++) tree_[beam_[slot].node].slot = -1;
  if (beam_.size() > 1) beam_.resize(1);
}

void PrefixBeamSearch::Step(const float* row, int32_t frame) {
  const size_t candidate_count = ChooseCandidates(row);
  ranking_.Clear();
  Stay(row, frame);
  if (candidate_count > 0) Extend(row, frame, candidate_count);
  KeepBest();
}

void PrefixBeamSearch::Start() {
  PrefixTree::Node root{};
  root.parent = -1;
  root.state = model_ == nullptr ? 0 : model_->start_state();
  root.word_hash = kEmptyWordHash;
  root.hot_state = hot_words_ == nullptr ? 0 : hot_words_->start_state();
  tree_.Reset(root);
  beam_.assign(1, Alive{0, 0, kImpossible, 0});
  std::fill(covered_at_.begin(), covered_at_.end(), -1);
}

/**
 * Collects the frame's likeliest outputs but blank, best first, ties by index; returns how many pass the
 * floor.
 */
size_t PrefixBeamSearch::ChooseCandidates(const float* row) {
  size_t count = 0;
  for (uint32_t token = 1; token < options_.vocabulary; token++) {
    const float log_prob = row[token];
    if (static_cast<double>(log_prob) < options_.candidate_floor || candidates_.empty()) continue;
    const bool is_full = count == candidates_.size();
    if (is_full && log_prob <= row[candidates_[count - 1]]) continue;
    size_t at = is_full ? count - 1 : count++;
    for (; at > 0 && row[candidates_[at - 1]] < log_prob; at--) candidates_[at] = candidates_[at - 1];
    candidates_[at] = token;
  }
  return count;
}

/** Adds paths that keep the text, and paths from one prefix in the beam to another. */
void PrefixBeamSearch::Stay(const float* row, int32_t frame) {
  for (Alive& alive : beam_) alive.total = (*log_add_)(alive.blank, alive.token);
  for (size_t slot = 0; slot < beam_.size(); slot++) {
    const Alive& alive = beam_[slot];
    const PrefixTree::Node& node = tree_[alive.node];
    const double blank = alive.total + static_cast<double>(row[kBlank]);
    double repeat = kImpossible;
    if (alive.node != 0) {
      const double log_prob = static_cast<double>(row[node.token]);
      repeat = alive.token + log_prob;
      const PrefixTree::Node& parent = tree_[node.parent];
      if (parent.slot >= 0) {
        const size_t parent_slot = static_cast<size_t>(parent.slot);
        const Alive& from = beam_[parent_slot];
        repeat = (*log_add_)(repeat, (parent.token == node.token ? from.blank : from.total) + log_prob);
        covered_at_[parent_slot * options_.vocabulary + node.token] = frame;
      }
    }
    const double score = (*log_add_)(blank, repeat) + node.text_score;
    ranking_.Offer(score, {blank, repeat, node.text_score, static_cast<uint32_t>(slot), -1, 0, 0, 0});
  }
}

/** Adds paths to prefixes that are not in the beam. */
void PrefixBeamSearch::Extend(const float* row, int32_t frame, size_t candidate_count) {
  const double space_bound = std::max(0.0, -options_.word_bonus);
  for (size_t slot = 0; slot < beam_.size(); slot++) {
    const Alive& alive = beam_[slot];
    const PrefixTree::Node& node = tree_[alive.node];
    const int32_t* covered = covered_at_.data() + slot * options_.vocabulary;
    for (size_t i = 0; i < candidate_count; i++) {
      const uint32_t token = candidates_[i];
      if (covered[token] == frame) continue;
      const bool is_space = static_cast<int32_t>(token) == options_.space;
      if (is_space && (alive.node == 0 || node.token == token)) continue;
      const double acoustic = (token == node.token ? alive.blank : alive.total) + static_cast<double>(row[token]);
      double child_score = node.text_score + options_.character_bonus;
      int32_t hot_state = 0;
      if (hot_words_ != nullptr) {
        hot_state = hot_words_->Advance(node.hot_state, token);
        child_score += hot_words_->ScoreOf(node.hot_state, hot_state);
      }
      // The language model can only lower the score, so most candidates are dropped without a look-up.
      const double bound = acoustic + child_score + (is_space ? space_bound : 0);
      if (bound <= ranking_.worst() || bound < ranking_.best() - options_.beam_margin || acoustic == kImpossible) continue;
      uint32_t state = 0;
      if (model_ != nullptr) {
        double log_prob;
        state = model_cache_->Advance(node.state, token, &log_prob);
        child_score += options_.language_model_weight * log_prob;
        if (is_space && !model_->HasWord(node.word_hash)) child_score -= options_.word_bonus;
      }
      const uint32_t word_hash = is_space ? kEmptyWordHash : ExtendWordHash(node.word_hash, token);
      ranking_.Offer(acoustic + child_score, {kImpossible, acoustic, child_score, static_cast<uint32_t>(slot),
                                              static_cast<int32_t>(token), state, word_hash, hot_state});
    }
  }
}

/** Makes the ranked prefixes the new beam, and adds new ones to the tree. */
void PrefixBeamSearch::KeepBest() {
  for (const Alive& alive : beam_) tree_[alive.node].slot = -1;
  next_beam_.clear();
  const size_t kept = ranking_.CountWithin(options_.beam_margin);
  for (size_t rank = 0; rank < kept; rank++) {
    const Ranking::Entry& entry = ranking_[rank];
    int32_t node = beam_[entry.slot].node;
    if (entry.token >= 0) {
      const int32_t parent = node;
      const uint32_t token = static_cast<uint32_t>(entry.token);
      node = tree_.Find(parent, token);
      if (node < 0) {
        node = tree_.Add({entry.text_score, parent, entry.state, entry.word_hash, entry.hot_state, -1, token});
      }
    }
    tree_[node].slot = static_cast<int32_t>(rank);
    next_beam_.push_back({node, entry.blank, entry.acoustic, 0});
  }
  beam_.swap(next_beam_);
}

void PrefixBeamSearch::Finish(Hypotheses* found) const {
  std::vector<double> scores(beam_.size());
  for (size_t slot = 0; slot < beam_.size(); slot++) {
    const Alive& alive = beam_[slot];
    scores[slot] = (*log_add_)(alive.blank, alive.token) + tree_[alive.node].text_score + EndScore(alive.node);
  }
  std::vector<size_t> order(beam_.size());
  std::iota(order.begin(), order.end(), size_t{0});
  // NaN would break the order; among equals, the earlier one in the beam is first.
  for (double& score : scores) score = std::isnan(score) ? kImpossible : score;
  std::stable_sort(order.begin(), order.end(), [&](size_t a, size_t b) { return scores[a] > scores[b]; });
  found->tokens.clear();
  found->ends.clear();
  found->scores.clear();
  for (const size_t slot : order) {
    const size_t begin = found->tokens.size();
    int32_t node = beam_[slot].node;
    if (node != 0 && static_cast<int32_t>(tree_[node].token) == options_.space) node = tree_[node].parent;
    for (; node > 0; node = tree_[node].parent) found->tokens.push_back(static_cast<uint8_t>(tree_[node].token));
    std::reverse(found->tokens.begin() + static_cast<std::ptrdiff_t>(begin), found->tokens.end());
    found->ends.push_back(static_cast<int32_t>(found->tokens.size()));
    found->scores.push_back(scores[slot]);
  }
  if (!found->ends.empty()) return;
  // If no output is possible in some frame, return an empty text.
  found->ends.push_back(0);
  found->scores.push_back(kImpossible);
}

/** Adds the scores at the text's end: its last word is complete, and a word or sentence end follows. */
double PrefixBeamSearch::EndScore(int32_t index) const {
  const PrefixTree::Node& node = tree_[index];
  // An incomplete hot word loses its credit.
  const double broken = hot_words_ == nullptr ? 0 : -hot_words_->Credit(node.hot_state);
  if (model_ == nullptr || index == 0 || static_cast<int32_t>(node.token) == options_.space) return broken;
  double log_prob;
  model_->Advance(node.state, kBlank, &log_prob);
  if (options_.space >= 0) {
    double space_log_prob;
    model_->Advance(node.state, static_cast<uint32_t>(options_.space), &space_log_prob);
    log_prob = (*log_add_)(log_prob, space_log_prob);
  }
  const double unknown = model_->HasWord(node.word_hash) ? 0 : -options_.word_bonus;
  return broken + options_.language_model_weight * log_prob + unknown;
}

}  // namespace beam
