// What the properties of this folder draw by.
#pragma once

#include <rapidcheck.h>

namespace octavo::testkit {

/// A draw from [low, high] that does not shrink towards what RapidCheck's size allows only.
inline int draw_int(int low, int high) {
  return *rc::gen::resize(rc::kNominalSize, rc::gen::inRange(low, high + 1));
}

}  // namespace octavo::testkit
