// The grammar of PTX text: what stands in it, one after the other, to whoever wants to know. As
// much of the language as nvcc writes.
//
// The functions may be called by any thread.
#pragma once

#include <string>
#include <string_view>

namespace octavo::compiled {

struct PtxStatement {
  std::string guard;     ///< "%p1", "!%p1", or nothing.
  std::string opcode;    ///< With its modifiers: "fma.rn.f32".
  std::string operands;  ///< As they are written.
  int line = 0;          ///< In the text, from 1.
};

/// Told of each in turn; what it does not care for, it leaves as it is here.
class PtxSink {
 public:
  virtual ~PtxSink() = default;
  virtual void target(const std::string& /*name*/) {}  ///< "sm_90a"
  /// A statement that begins with a dot, in a function's body or outside of all.
  virtual void declaration(const std::string& /*text*/, int /*line*/) {}
  /// `head` is all that stands in front of the body. Its scopes and statements follow.
  virtual void function(const std::string& /*name*/,
                        bool /*is_kernel*/,
                        const std::string& /*head*/) {}
  virtual void scope_begin() {}
  virtual void scope_end() {}
  virtual void label(const std::string& /*name*/) {}
  virtual void instruction(const PtxStatement& /*statement*/) {}
};

/// Throws std::runtime_error, with the line, for text that is no PTX.
void walk_ptx(std::string_view text, PtxSink& sink);

}  // namespace octavo::compiled
