/** Rows of cells as lines of text: the first column to the left, the others to the right. */

export function alignedRows(all: readonly (readonly string[])[]): string[] {
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all.map((row) =>
    row.map((cell, column) => column === 0 ? cell.padEnd(widths[0]!) : cell.padStart(widths[column]!)).join("  ")
  );
}
