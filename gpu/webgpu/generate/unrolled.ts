/** Unrolled lines, because naga guards every loop. */

export const range = (count: number) => Array.from({ length: count }, (_, i) => i);
export const each = (count: number, line: (i: number) => string) => range(count).map(line).join("\n");
