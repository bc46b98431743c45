#include "axis.h"

#include <cmath>

#include "octavo/error.h"
#include "report_number.h"

namespace octavo::sim::report {
namespace {

/// The least of 1, 2, 5 times a power of ten that is at least `value`.
double round_step(double value) {
  const double power = std::pow(10.0, std::floor(std::log10(value)));
  for (const double factor : {1.0, 2.0, 5.0}) {
    if (factor * power >= value * (1 - 1e-9)) {
      return factor * power;
    }
  }
  return 10 * power;
}

constexpr int kLinearTicks = 5;
constexpr int kTicksMax = 32;  // Where an axis is shorter than its values are exact.

}  // namespace

Axis::Axis(Kind kind, double low, double high, double begin_px, double end_px)
    : kind_(kind), low_(low), high_(high), begin_px_(begin_px), end_px_(end_px) {
  if (kind_ == Kind::Log) {
    if (!(low_ > 0)) {
      throw Error(ErrorCode::Internal, "Axis: a logarithmic axis from " + plain(low_, 9));
    }
    if (high_ < low_ * 1.05) {  // One value stands in the middle of an octave.
      low_ /= 1.5;
      high_ *= 1.5;
    }
    return;
  }
  if (high_ <= low_) {
    high_ = low_ + (low_ == 0 ? 1 : std::fabs(low_) / 2);
  }
  const double step = round_step((high_ - low_) / kLinearTicks);
  low_ = std::floor(low_ / step * (1 + 1e-12)) * step;
  high_ = std::ceil(high_ / step * (1 - 1e-12)) * step;
}

double Axis::at(double value) const {
  const double share = kind_ == Kind::Log ? std::log(value / low_) / std::log(high_ / low_)
                                          : (value - low_) / (high_ - low_);
  return begin_px_ + share * (end_px_ - begin_px_);
}

std::vector<double> Axis::ticks(int wanted) const {
  std::vector<double> all;
  if (kind_ == Kind::Linear) {
    const double step = round_step((high_ - low_) / wanted);
    const double first = std::ceil(low_ / step - 1e-9);
    for (int i = 0; i <= kTicksMax && (first + i) * step <= high_ + step * 1e-9; ++i) {
      all.push_back((first + i) * step);
    }
    return all;
  }
  // Decades; 1, 2 and 5 of each where there are few; every other decade where there are many.
  const double decades = std::log10(high_ / low_);
  const int stride = decades > wanted ? static_cast<int>(std::ceil(decades / wanted)) : 1;
  const int first = static_cast<int>(std::floor(std::log10(low_)));
  const int last = static_cast<int>(std::ceil(std::log10(high_)));
  for (int power = first; power <= last; power += stride) {
    for (const double factor : {1.0, 2.0, 5.0}) {
      const double value = factor * std::pow(10.0, power);
      const bool shown = factor == 1.0 || decades * 3 <= wanted + 3;
      if (shown && value >= low_ * (1 - 1e-9) && value <= high_ * (1 + 1e-9)) {
        all.push_back(value);
      }
    }
  }
  return all;
}

std::string Axis::attribute() const {
  return std::string(kind_ == Kind::Log ? "log" : "linear") + " " + plain(low_, 9) + " " +
         plain(high_, 9) + " " + plain(begin_px_, 2) + " " + plain(end_px_, 2);
}

}  // namespace octavo::sim::report
