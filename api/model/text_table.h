#pragma once

#include <string>
#include <vector>

namespace nyala {

enum class Align { left, right, center };

struct TableColumn {
  std::string header;
  Align align = Align::left;
  int width = 0;  // wanted, without padding
};

/// A stretch of text with a terminal colour (an SGR parameter such as "94"; empty: none).
struct StyledText {
  std::string text;
  std::string style;
};
using Cell = std::vector<StyledText>;

/// A box-drawing table as Keras' summary prints it: heavy header, a rule between all rows, cells wrapped at
/// spaces, words that are too long cut with an ellipsis. Columns share what the lines have too little of
/// equally.
std::string render_table(const std::vector<TableColumn>& columns, const std::vector<std::vector<Cell>>& rows,
                         int line_length, bool styled);

/// Cells that a text takes on a terminal (UTF-8 sequences count one).
int cell_width(const std::string& text);

/// `text` in an SGR style, or plain.
std::string in_style(const std::string& text, const std::string& style, bool styled);

}  // namespace nyala
