/**
 * Foreign text of several lines, as a model writes it, made harmless for a page, a terminal and a log.
 *
 * Line breaks stay; control and format characters, which move a cursor or turn the direction of reading, halves of
 * pairs, and characters without a meaning of their own become U+FFFD. Marks that pile up on one letter and empty
 * lines are limited. Letters written from right to left stay.
 */

const mostMarks = 3; // on one letter: no script needs more
const mostBreaks = 2; // in a row

const breaks = /\r\n?|[\u2028\u2029]/gu;
const harmful = /[^\P{C}\n\t]/gu;
const piles = new RegExp(`(\\p{M}{${mostMarks}})\\p{M}+`, "gu");
const gaps = new RegExp(`\\n{${mostBreaks}}\\n+`, "g");

/** At most `most` characters. */
export function harmless(text: string, most: number): string {
  const short = text.slice(0, 4 * most); // before any work; a character is two units at most
  const safe = short.replace(breaks, "\n").replace(harmful, "\ufffd").replace(piles, "$1").replace(gaps, "\n\n");
  return [...safe].slice(0, most).join("");
}
