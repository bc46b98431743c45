#include "html.h"

namespace octavo::sim::report {

std::string escape(std::string_view text) {
  std::string out;
  out.reserve(text.size());
  for (const char c : text) {
    switch (c) {
      case '&':
        out += "&amp;";
        break;
      case '<':
        out += "&lt;";
        break;
      case '>':
        out += "&gt;";
        break;
      case '"':
        out += "&quot;";
        break;
      case '\'':
        out += "&#39;";
        break;
      case '\t':
      case '\n':
        out += c;
        break;
      default:
        if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f) {
          out += "\xef\xbf\xbd";
        } else {
          out += c;
        }
    }
  }
  return out;
}

std::string table_html(const DataTable& table) {
  std::string out = "<div class=\"scroll\"><table>\n<thead><tr>";
  for (const Column& column : table.columns) {
    out += column.text ? "<th class=\"t\"" : "<th";
    if (column.axis != 0) {
      out += " data-axis=\"";
      out += column.axis;
      out += '"';
    }
    out += " scope=\"col\">" + escape(column.title) + "</th>";
  }
  out += "</tr></thead>\n<tbody>\n";
  for (const std::vector<std::string>& row : table.rows) {
    out += "<tr>";
    for (std::size_t i = 0; i < row.size(); ++i) {
      out += table.columns[i].text ? "<td class=\"t\">" : "<td>";
      out += escape(row[i]) + "</td>";
    }
    out += "</tr>\n";
  }
  return out + "</tbody></table></div>\n";
}

std::string figure_html(const Figure& figure) {
  std::string out = figure.wide ? "<figure class=\"wide\">\n" : "<figure>\n";
  out += "<figcaption><h3>" + escape(figure.title) + "</h3>";
  if (!figure.note.empty()) {
    out += "<p>" + escape(figure.note) + "</p>";
  }
  out += "</figcaption>\n" + figure.chart + "\n" + figure.legend;
  const std::size_t rows = figure.data.rows.size();
  out += "<details><summary>Data, " + std::to_string(rows) + (rows == 1 ? " row" : " rows") +
         "</summary>\n" + table_html(figure.data) + "</details>\n";
  return out + "</figure>\n";
}

std::string section_html(std::string_view title, const std::string& body) {
  if (body.empty()) {
    return {};
  }
  return "<section>\n<h2>" + escape(title) + "</h2>\n" + body + "</section>\n";
}

}  // namespace octavo::sim::report
