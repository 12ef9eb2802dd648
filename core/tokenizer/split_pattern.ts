/**
 * A tokenizer's split pattern as JavaScript. It comes from a stranger's file, so a pattern is used only if it provably
 * takes time in proportion to the text: what it scans is either taken, or taken by the next alternative.
 */

import { type Alternative, type Part, readPattern, spaceSet } from "./pattern_reader.ts";

/** `tokenizers` finds the same matches with its own reading of `text`. */
export function splitPattern(text: string): { pattern: RegExp } | { problem: string } {
  const read = readPattern(text);
  if ("problem" in read) return read;
  const { alternatives } = read;
  if (isTrailingSpace(alternatives)) return { pattern: trailingSpace() };
  if (alternatives.length > mostAlternatives) return { problem: `it has ${alternatives.length} alternatives` };
  for (const [i, alternative] of alternatives.entries()) {
    const problem = problemOf(alternative, alternatives[i + 1]);
    if (problem !== null) return { problem: `alternative ${i + 1} ${problem}` };
  }
  return { pattern: new RegExp(sourceOf(alternatives), "gu") };
}

const mostAlternatives = 64;
const mostVariable = 4; // parts of an alternative whose count may vary
const mostParts = 16;

/**
 * `\s+$`. A match from within a run of spaces implies one from the run's beginning; without saying so, a long run
 * that ends in text would be scanned from each of its characters.
 */
const isTrailingSpace = (alternatives: readonly Alternative[]): boolean => {
  const [parts = [], ...others] = alternatives;
  const [space, end, ...more] = parts;
  return others.length === 0 && more.length === 0 && isEndless(space) && space?.source === spaceSet &&
    end?.kind === "lineEnd";
};

const trailingSpace = (): RegExp => /(?<!\p{White_Space})\p{White_Space}+(?=\n|$)/gu;

function problemOf(parts: Alternative, next: Alternative | undefined): string | null {
  if (parts.length > mostParts) return `has ${parts.length} parts`;
  if (parts.every(({ least }) => least === 0)) return "may match nothing";
  if (parts.filter(({ least, most }) => least !== most).length > mostVariable) return "varies in too many ways";
  for (const [i, part] of parts.entries()) {
    const rest = parts.slice(i + 1);
    if (part.kind === "lineEnd") return "has $ where it is not understood";
    if (part.kind === "notBeforeText" && (rest.length > 0 || !isSpaces(parts[i - 1]))) {
      return "has (?!\\S) where it is not understood";
    }
    if (part.most !== Infinity || neverFails(part, rest)) continue;
    const [needed, ...others] = rest;
    if (others.some(({ least }) => least > 0) || needed?.kind !== "set" || !takesRunOf(next, parts.slice(0, i + 1))) {
      return "may scan a text again and again";
    }
  }
  return null;
}

const isEndless = (part: Part | undefined): boolean => part?.kind === "set" && part.least > 0 && part.most === Infinity;

const isSpaces = (part: Part | undefined): boolean =>
  isEndless(part) && part?.source === spaceSet && part.keepsAll === false;

/** What follows a run needs nothing, or fails at most until one character is given back. */
function neverFails(run: Part, rest: Alternative): boolean {
  if (rest.length === 1 && rest[0]!.kind === "notBeforeText") return isSpaces(run);
  return rest.every(({ kind, least }) => least === 0 && kind !== "notBeforeText");
}

/** Whether `next` matches at least what `scanned`, which ends in a run, has looked at. */
function takesRunOf(next: Alternative | undefined, scanned: Alternative): boolean {
  if (next === undefined || next.length < scanned.length) return false;
  const run = scanned.length - 1;
  const isSame = scanned.every(({ source, least, most }, i) =>
    next[i]!.source === source && (i === run || (next[i]!.least === least && next[i]!.most === most))
  );
  return isSame && isEndless(next[run]) && neverFails(next[run]!, next.slice(run + 1));
}

function sourceOf(alternatives: readonly Alternative[]): string {
  let groups = 0;
  const partSource = ({ source, least, most, keepsAll, kind }: Part): string => {
    if (kind === "notBeforeText") return source;
    const counted = `${source}${countSource(least, most)}`;
    return keepsAll ? `(?=(${counted}))\\${groups += 1}` : counted;
  };
  return alternatives.map((parts) => parts.map(partSource).join("")).join("|");
}

function countSource(least: number, most: number): string {
  if (most === Infinity) return least === 0 ? "*" : "+";
  if (most === 1) return least === 0 ? "?" : "";
  return `{${least},${most}}`;
}
