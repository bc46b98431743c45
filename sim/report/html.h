// Pieces of the page: escaped text, tables, and a figure with the table of its data.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace octavo::sim::report {

/// Text as it stands in an element or in a quoted attribute. Control characters other than tab and
/// line feed become U+FFFD.
std::string escape(std::string_view text);

struct Column {
  std::string title;
  bool text = false;  ///< Left-aligned; else a number.
  /// 'x' or 'y': the column has what a mark's place on that axis shows, in the axis' unit.
  char axis = 0;
};

struct DataTable {
  std::vector<Column> columns;
  std::vector<std::vector<std::string>> rows;
};

std::string table_html(const DataTable& table);

/// A chart and its numbers. Row i of the table belongs to mark i of the chart (the i-th element of
/// class "m"), and is what the page shows when that mark is pointed at: the two cannot differ.
struct Figure {
  std::string title;
  std::string note;    ///< One sentence below the title; may be empty.
  std::string chart;   ///< An <svg> element.
  std::string legend;  ///< HTML below the chart; may be empty.
  DataTable data;
  bool wide = false;  ///< Takes the whole width of the page.
};

std::string figure_html(const Figure& figure);

/// <section><h2>TITLE</h2>BODY</section>, or nothing for an empty body.
std::string section_html(std::string_view title, const std::string& body);

}  // namespace octavo::sim::report
