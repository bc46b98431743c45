// World: the model and the engine around it, which knows what every slot's tokens are and what a
// device therefore has to find in a row. A plain value, like the model.
#pragma once

#include <cstdint>
#include <vector>

#include "call.h"
#include "naive_model.h"

namespace octavo::testkit {

/// What the rows of one token hold: a function of all tokens up to it, of the namespace and its
/// generation, so that a row that is served to the wrong session is seen as a wrong value.
using Row = std::uint64_t;

struct Session {
  Tokens tokens;         ///< Of [0, reserved).
  std::uint64_t id = 0;  ///< Counted up with every admit.
};

class World {
 public:
  static constexpr std::size_t kLibraryMax = 10;

  /// `unit`: by how much the commands' small numbers are multiplied to become lengths in tokens.
  explicit World(const BlockManagerConfig& config, int alphabet = 2, int unit = 1);

  /// Makes the call on the model and writes down what the engine did with it.
  Outcome perform(const Call& call);

  const NaiveModel& model() const { return model_; }
  const std::vector<Session>& sessions() const { return sessions_; }
  /// Prompts and histories of the past, the oldest first; never empty.
  const std::vector<Tokens>& library() const { return library_; }
  int alphabet() const { return alphabet_; }
  int unit() const { return unit_; }

  /// Rows of the slot's tokens. Behind the addressable length they are the session's own: an image
  /// behind equal placeholder ids.
  std::vector<Row> rows(int slot) const;
  /// Rows of a prefix that may be shared.
  static std::vector<Row> rows(std::uint64_t space, std::uint64_t generation, const Tokens& tokens);

  std::string fingerprint() const;

 private:
  void remember(const Tokens& tokens);

  NaiveModel model_;
  std::vector<Session> sessions_;
  std::vector<Tokens> library_;
  std::uint64_t last_session_ = 0;
  int alphabet_;
  int unit_;
};

}  // namespace octavo::testkit
