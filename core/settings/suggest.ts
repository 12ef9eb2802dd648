/** "Did you mean …?": the known path with few other letters, or with another table. Cost is bounded. */

const longestPath = 64; // characters that are compared

export function didYouMean<T extends string>(unknown: string, known: readonly T[]): T | null {
  const wanted = unknown.slice(0, longestPath).toLowerCase();
  const allowed = Math.max(1, Math.floor(lastPart(wanted).length / 3)); // letters that may differ
  let best: { path: T; distance: number } | null = null;
  for (const path of known) {
    const candidate = path.toLowerCase();
    const otherTable = editDistance(lastPart(wanted), lastPart(candidate)) + 0.5; // the right table is better
    const distance = Math.min(editDistance(wanted, candidate), otherTable);
    if (distance <= allowed + 0.5 && (best === null || distance < best.distance)) best = { path, distance };
  }
  return best === null ? null : best.path;
}

function lastPart(path: string): string {
  return path.slice(path.lastIndexOf(".") + 1);
}

/** Insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
export function editDistance(a: string, b: string): number {
  let beforeAbove: number[] = [];
  let above = Array.from({ length: b.length + 1 }, (_, column) => column);
  for (let row = 1; row <= a.length; row++) {
    const current = [row];
    for (let column = 1; column <= b.length; column++) {
      const replaced = above[column - 1]! + (a[row - 1] === b[column - 1] ? 0 : 1);
      const isSwapped = row > 1 && column > 1 && a[row - 1] === b[column - 2] && a[row - 2] === b[column - 1];
      const swapped = isSwapped ? beforeAbove[column - 2]! + 1 : Infinity;
      current.push(Math.min(replaced, swapped, above[column]! + 1, current[column - 1]! + 1));
    }
    beforeAbove = above;
    above = current;
  }
  return above[b.length]!;
}
