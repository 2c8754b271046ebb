#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

#include "gqa/report/html/pictures.hpp"
#include "gqa/report/html/svg.hpp"

namespace gqa::html {
namespace {

constexpr double plane_side = 280;
constexpr double plane_margin = 40;
constexpr double plane_left = 78;  // room for a label

std::string point_text(const std::vector<Rational>& point) {
  return fmt::format("({}, {})", to_text(point[0]), to_text(point[1]));
}

// From coordinates to pixels.
class Plane {
 public:
  explicit Plane(const SegmentPicture& picture) {
    std::vector<double> all[2];
    const auto add = [&all](const std::vector<Rational>& p) {
      for (std::size_t axis = 0; axis < 2; ++axis) all[axis].push_back(p[axis].get_d());
    };
    add(picture.first);
    add(picture.second);
    for (const SegmentPicture::Point& point : picture.points) add(point.at);
    for (std::size_t axis = 0; axis < 2; ++axis) {
      all[axis].push_back(0);
      const auto [least, most] = std::ranges::minmax(all[axis]);
      low_[axis] = least;
      extent_ = std::max(extent_, most - least);
    }
    if (!(extent_ > 0)) extent_ = 1;
  }
  double x(double value) const { return plane_left + (value - low_[0]) / extent_ * plane_side; }
  double y(double value) const {
    return plane_margin + plane_side - (value - low_[1]) / extent_ * plane_side;
  }
  double x(const std::vector<Rational>& p) const { return x(p[0].get_d()); }
  double y(const std::vector<Rational>& p) const { return y(p[1].get_d()); }

 private:
  double low_[2] = {0, 0};
  double extent_ = 0;
};

}  // namespace

Markup segment_picture(const std::string& id, const SegmentPicture& picture) {
  const Plane plane(picture);
  Markup content =
      line(plane_left - 8, plane.y(0.0), plane_left + plane_side + 8, plane.y(0.0), "axis") +
      line(plane.x(0.0), plane_margin - 8, plane.x(0.0), plane_margin + plane_side + 8, "axis") +
      line(plane.x(picture.first), plane.y(picture.first), plane.x(picture.second),
           plane.y(picture.second), "wire");
  std::string description = fmt::format("The open segment between the values {} and {}.",
                                        point_text(picture.first), point_text(picture.second));
  for (const auto* end : {&picture.first, &picture.second}) {
    content += circle(plane.x(*end), plane.y(*end), 6, "node");
    content += label(plane.x(*end) + 10, plane.y(*end) - 8, point_text(*end), "start", "quiet");
  }
  for (const SegmentPicture::Point& point : picture.points) {
    const double x = plane.x(point.at);
    const double y = plane.y(point.at);
    const std::string words = point_text(point.at);
    if (point.attainable) {
      // Out of the way of the ends' own labels.
      const bool is_close = std::ranges::any_of(
          std::array{&picture.first, &picture.second}, [&](const std::vector<Rational>* end) {
            return std::hypot(plane.x(*end) - x, plane.y(*end) - y) < 14;
          });
      content += circle(x, y, 5, "seen") + label(x + 10, y + (is_close ? 16 : 4), words);
    } else {
      content +=
          line(x - 5, y - 5, x + 5, y + 5, "cross") + line(x - 5, y + 5, x + 5, y - 5, "cross");
      if (point.at != picture.first && point.at != picture.second) {
        content += label(x - 9, y + 4, words, "end");
      }
    }
    description += fmt::format(" {} is {}.", words, point.attainable ? "on it" : "not on it");
  }
  const Drawing drawing{id,
                        "Outputs on the open segment between two values",
                        description,
                        plane_left + plane_side + 90,
                        plane_margin + plane_side + 40,
                        content};
  return figure_of(drawing,
                   text("Hollow: the two values, limits that no finite score attains. Filled: "
                        "attainable points. Crossed: points that no softmax gives."));
}

}  // namespace gqa::html
