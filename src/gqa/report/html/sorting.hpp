// The script that sorts the rows of long tables, and the digest by which a page allows it.
#pragma once

#include <string_view>

namespace gqa::html {

/// Makes a button of every heading of a table of class "sortable": the rows by that column, names
/// from the first on, figures from the largest on; a second press turns the order round. It reads
/// the page's own text, and nothing else. Without < and &, so that the page is XML.
inline constexpr std::string_view sorting_script =
    R"js('use strict';
const digits = '⁰¹²³⁴⁵⁶⁷⁸⁹';
const number = words => {
  const parts = /^(-?[0-9.]+)(?:×10([⁻⁰¹²³⁴⁵⁶⁷⁸⁹]+))?$/.exec(words.replace(/,/g, ''));
  if (parts === null) return words === 'infinite' ? Infinity : -Infinity;
  const power = Array.from(parts[2] || '⁰', c => c === '⁻' ? '-' : digits.indexOf(c)).join('');
  return Number(parts[1]) * 10 ** Number(power);
};
for (const table of document.querySelectorAll('table.sortable')) {
  const body = table.tBodies[0];
  const headings = Array.from(table.tHead.rows[0].cells);
  headings.forEach((heading, column) => {
    const isNumber = heading.className === 'number';
    const button = document.createElement('button');
    button.type = 'button';
    button.textContent = heading.textContent;
    button.title = 'Sort by this column';
    heading.replaceChildren(button);
    button.addEventListener('click', () => {
      const before = heading.getAttribute('aria-sort');
      const falls = before === null ? isNumber : before === 'ascending';
      headings.forEach(one => one.removeAttribute('aria-sort'));
      heading.setAttribute('aria-sort', falls ? 'descending' : 'ascending');
      const keys = new Map(Array.from(body.rows, row => {
        const words = row.cells[column].textContent.trim();
        return [row, isNumber ? number(words) : words];
      }));
      const order = (a, b) => isNumber ? (a > b) - (b > a)
        : a.localeCompare(b, 'en', {numeric: true});
      body.append(...Array.from(body.rows).sort(
        (a, b) => (falls ? -1 : 1) * order(keys.get(a), keys.get(b))));
    });
  });
}
)js";

/// base64 of the SHA-256 of the script's bytes, as a content security policy names it; a test
/// computes it again.
inline constexpr std::string_view sorting_script_digest =
    "7HyvurBqdknU8BqPwL2qaztp6yjeu7jZ/QJ8B1epzfA=";

}  // namespace gqa::html
