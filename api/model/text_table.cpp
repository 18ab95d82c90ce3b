// The tables of Rich, which prints Keras' summaries: columns share equally what a line has too little of
// (halves to even, as Python rounds), cells are wrapped before words that no longer fit, a word that is too
// long ends in an ellipsis. Text is cut by characters with their style, so that escapes never count.
#include <nyala/api/model/text_table.h>

#include <algorithm>
#include <cmath>

#include <nyala/backend/core/printable.h>

namespace nyala {

int cell_width(const std::string& text) {
  return static_cast<int>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

std::string in_style(const std::string& text, const std::string& style, bool styled) {
  return styled && !style.empty() && !text.empty() ? "\x1b[" + style + "m" + text + "\x1b[0m" : text;
}

namespace {

/// One character of a cell with its style, so that wrapping need not know about escapes.
struct Glyph {
  std::string text;
  std::string style;
};
using Line = std::vector<Glyph>;

Line glyphs(const Cell& cell) {
  Line out;
  for (const StyledText& part : cell) {
    const std::string text = printable(part.text);
    for (size_t i = 0; i < text.size();) {
      size_t length = 1;
      while (i + length < text.size() && (static_cast<unsigned char>(text[i + length]) & 0xC0) == 0x80)
        ++length;
      out.push_back({text.substr(i, length), part.style});
      i += length;
    }
  }
  return out;
}

bool is_space(const Glyph& glyph) { return glyph.text == " "; }

void strip_end(Line& line) {
  while (!line.empty() && is_space(line.back())) line.pop_back();
}

/// Breaks before words that no longer fit; spaces belong to the word before them, leading ones to the first.
std::vector<Line> wrap(const Line& text, size_t width) {
  std::vector<Line> lines(1);
  for (size_t i = 0; i < text.size();) {
    Line word;
    while (i < text.size() && is_space(text[i])) word.push_back(text[i++]);
    while (i < text.size() && !is_space(text[i])) word.push_back(text[i++]);
    const size_t length = word.size();
    while (i < text.size() && is_space(text[i])) word.push_back(text[i++]);
    if (lines.back().size() + length > width && !lines.back().empty()) lines.emplace_back();
    lines.back().insert(lines.back().end(), word.begin(), word.end());
  }
  for (Line& line : lines) {
    strip_end(line);
    if (line.size() > width) {
      line.resize(width - 1);
      line.push_back({"…", line.empty() ? "" : line.back().style});
    }
  }
  return lines;
}

std::string render_line(const Line& line, bool styled) {
  std::string out;
  for (size_t i = 0; i < line.size();) {
    std::string run;
    const std::string& style = line[i].style;
    while (i < line.size() && line[i].style == style) run += line[i++].text;
    out += in_style(run, style, styled);
  }
  return out;
}

std::string padded(const Line& line, int width, Align align, bool styled) {
  const int space = width - static_cast<int>(line.size());
  const int before = align == Align::left ? 0 : align == Align::right ? space : space / 2;
  return std::string(static_cast<size_t>(before), ' ') + render_line(line, styled) +
         std::string(static_cast<size_t>(space - before), ' ');
}

std::string repeat(const char* text, int count) {
  std::string out;
  for (int i = 0; i < count; ++i) out += text;
  return out;
}

std::string rule(const std::vector<int>& widths, const char* left, const char* line, const char* cross,
                 const char* right) {
  std::string out = left;
  for (size_t i = 0; i < widths.size(); ++i) out += (i > 0 ? cross : "") + repeat(line, widths[i] + 2);
  return out + right + "\n";
}

/// Content widths that make the table exactly as wide as asked: each column gives up an equal part, halves
/// rounded to even.
std::vector<int> fitted_widths(const std::vector<TableColumn>& columns, int line_length) {
  const int count = static_cast<int>(columns.size());
  int remaining = 3 * count + 1 - line_length;
  for (const TableColumn& column : columns) remaining += column.width;
  std::vector<int> widths;
  for (int i = 0; i < count; ++i) {
    const int given = static_cast<int>(std::nearbyint(static_cast<double>(remaining) / (count - i)));
    widths.push_back(std::max(1, columns[static_cast<size_t>(i)].width - given));
    remaining -= given;
  }
  return widths;
}

std::string header_cell(const TableColumn& column, int width, bool styled) {
  const std::vector<Line> lines = wrap(glyphs({{column.header, ""}}), static_cast<size_t>(width));
  const std::string text = padded(lines[0], width, column.align, false);
  return in_style(" ", "1", styled) + in_style(text, "1", styled) + in_style(" ", "1", styled);
}

std::string row_text(const std::vector<TableColumn>& columns, const std::vector<Cell>& row,
                     const std::vector<int>& widths, bool styled) {
  std::vector<std::vector<Line>> cells;
  size_t height = 1;
  for (size_t i = 0; i < columns.size(); ++i) {
    cells.push_back(wrap(glyphs(row[i]), static_cast<size_t>(widths[i])));
    height = std::max(height, cells.back().size());
  }
  std::string out;
  for (size_t y = 0; y < height; ++y) {
    out += "│";
    for (size_t i = 0; i < columns.size(); ++i)
      out += " " + padded(y < cells[i].size() ? cells[i][y] : Line(), widths[i], columns[i].align, styled) +
             " │";
    out += "\n";
  }
  return out;
}

}  // namespace

std::string render_table(const std::vector<TableColumn>& columns, const std::vector<std::vector<Cell>>& rows,
                         int line_length, bool styled) {
  const std::vector<int> widths = fitted_widths(columns, line_length);
  std::string out = rule(widths, "┏", "━", "┳", "┓") + "┃";
  for (size_t i = 0; i < columns.size(); ++i) out += header_cell(columns[i], widths[i], styled) + "┃";
  out += "\n" + rule(widths, "┡", "━", "╇", "┩");
  for (size_t i = 0; i < rows.size(); ++i)
    out += (i > 0 ? rule(widths, "├", "─", "┼", "┤") : "") + row_text(columns, rows[i], widths, styled);
  return out + rule(widths, "└", "─", "┴", "┘");
}

}  // namespace nyala
