/**
 * Makes a model's text harmless for a page, a terminal and a log.
 *
 * Line breaks and right-to-left letters stay. Control and format characters, which move a cursor or turn the direction
 * of reading, surrogates, and unassigned characters become U+FFFD.
 */

const mostMarks = 3; // on one letter: no script needs more
const mostBreaks = 2; // in a row

const breaks = /\r\n?|[\u2028\u2029]/gu;
const harmful = /[^\P{C}\n\t]/gu;
const piles = new RegExp(`(\\p{M}{${mostMarks}})\\p{M}+`, "gu");
const gaps = new RegExp(`\\n{${mostBreaks}}\\n+`, "g");

export function harmless(text: string, most: number): string {
  const short = text.slice(0, 4 * most); // before any work; a character is two units at most
  const safe = short.replace(breaks, "\n").replace(harmful, "\ufffd").replace(piles, "$1").replace(gaps, "\n\n");
  return [...safe].slice(0, most).join("");
}
