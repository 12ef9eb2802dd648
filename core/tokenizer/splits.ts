/**
 * Cuts a text into pieces that no merge crosses: pre-tokenisation. A split hands on its pieces in the text's order and
 * leaves out empty ones.
 */

export type Split = (text: string, visit: (piece: string) => void) => void;

/** What becomes of a match (`tokenizers.pre_tokenizers.Split`). */
export const splitBehaviors = ["Isolated", "Removed", "MergedWithPrevious", "MergedWithNext", "Contiguous"] as const;
export type SplitBehavior = typeof splitBehaviors[number];

interface SplitOptions {
  readonly behavior: SplitBehavior;
  readonly isInverted: boolean; // what lies between matches counts as the match
}

/** `pattern`: global, and never matches the empty text. */
export function splitAt(pattern: RegExp, { behavior, isInverted }: SplitOptions): Split {
  const patterns = { search: pattern, next: new RegExp(pattern.source, pattern.flags.replace("g", "y")) };
  if (behavior === "Isolated") return (text, visit) => eachPart(patterns, text, visit);
  return (text, visit) => {
    const parts: Part[] = [];
    eachPart(patterns, text, (piece, isMatch) => parts.push({ piece, isMatch: isMatch !== isInverted }));
    for (const piece of joined(parts, behavior)) visit(piece);
  };
}

export const unsplit: Split = (text, visit) => {
  if (text !== "") visit(text);
};

export function inSequence(splits: readonly Split[]): Split {
  return splits.reduceRight<Split>(
    (later, first) => later === unsplit ? first : (text, visit) => first(text, (piece) => later(piece, visit)),
    unsplit,
  );
}

interface Patterns {
  readonly search: RegExp; // global
  readonly next: RegExp; // sticky
}

const windowLength = 2 ** 19; // UTF-16 units; V8 cannot match some runs of a few million
const margin = 256; // units; more than a match looks at behind its end, or needs to begin

/**
 * Searches a window after the other, and what ends near a window's end again with more behind it. So only words as long
 * as a window are cut. Matches mostly follow each other: the sticky pattern finds them without making an object.
 */
function eachPart({ search, next }: Patterns, text: string, visit: (piece: string, isMatch: boolean) => void): void {
  let told = 0; // up to here `visit` has the text
  for (let base = 0; base < text.length;) {
    const window = text.slice(base, base + windowLength);
    const isLast = base + windowLength >= text.length;
    const sure = isLast ? window.length : window.length - margin;
    let from = 0;
    while (from < window.length) {
      next.lastIndex = from; // set each time: a visitor may use the same pattern
      let start = from;
      let end = next.test(window) ? next.lastIndex : from;
      if (end === from) {
        search.lastIndex = from;
        const match = search.exec(window);
        start = match === null ? Math.max(from, sure) : match.index;
        end = match === null ? start : start + match[0].length;
      }
      from = start;
      if (end === start || (end > sure && start > 0)) break;
      if (base + start > told) visit(text.slice(told, base + start), false);
      visit(text.slice(base + start, base + end), true);
      told = base + end;
      from = end;
    }
    base += from;
  }
  if (told < text.length) visit(text.slice(told), false);
}

interface Part {
  readonly piece: string;
  readonly isMatch: boolean;
}

function joined(parts: readonly Part[], behavior: Exclude<SplitBehavior, "Isolated">): string[] {
  switch (behavior) {
    case "Removed":
      return parts.filter(({ isMatch }) => !isMatch).map(({ piece }) => piece);
    case "Contiguous":
      return runs(parts, (last, part) => last.isMatch === part.isMatch);
    case "MergedWithPrevious":
      return runs(parts, (last, part) => part.isMatch && !last.isMatch);
    case "MergedWithNext":
      return runs(parts, (last, part) => last.isMatch && !part.isMatch);
  }
}

/** Neighbours that belong together become one piece. */
function runs(parts: readonly Part[], isJoined: (last: Part, part: Part) => boolean): string[] {
  const pieces: string[] = [];
  for (const [i, part] of parts.entries()) {
    const last = parts[i - 1];
    if (last !== undefined && isJoined(last, part)) pieces.push(pieces.pop()! + part.piece);
    else pieces.push(part.piece);
  }
  return pieces;
}
