// PlantedDevice: the CPU device with one fault in it, of the kind that a backend or a cache really
// has. The tests of the checker must see every one of them found.
//
// Threads: one thread.
#pragma once

#include <cstdint>
#include <memory>
#include <string_view>

#include "octavo/device.h"

namespace octavo::sim {

enum class Plant {
  None,
  CopySkipped,        ///< Copy on write and the copy of a partial hit are not done.
  CopyShort,          ///< They copy a row too few.
  CopyFromElsewhere,  ///< They copy the block before.
  UploadLost,         ///< One of eleven small uploads (lengths, cells, ids) never arrives.
  GatherStale,        ///< One of three gathers of table rows is not done.
  ClearSkipped,       ///< Cells of slots that end are not cleared.
  RowElsewhere,       ///< The last row of a step is written over position 0 as well.
  RowLost,            ///< The last row of a prompt's chunk is not written.
  HeadsSwapped,       ///< Values of two heads change places.
  ScaleWrong,         ///< The scales of a head's keys are doubled.
  WindowShort,        ///< A window is one token too short.
  WindowLong,         ///< A window is one token too long.
  CausalMaskLost,     ///< Queries of a chunk see the whole chunk.
  ScoreWrong,         ///< Logits are half as large again.
  StatesNotZeroed,    ///< A slot begins with the states of the one before.
  StateOfOtherSlot,   ///< The states of two sequences of a batch are exchanged.
  CrossShort,         ///< The last row of an encoder's output is not stored.
};
inline constexpr int kPlants = 18;

std::string_view to_string(Plant plant);

std::shared_ptr<Device> make_planted_device(Plant plant);

}  // namespace octavo::sim
