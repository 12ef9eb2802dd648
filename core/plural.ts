/** A count with its noun in the right number. Terminal and pages group thousands too: cli/terminal/text/format.ts. */

/** `1 task`, `2400 tasks`. */
export function plural(count: number, noun: string): string {
  return `${count} ${nounFor(count, noun)}`;
}

/** Regular nouns only. */
export function nounFor(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}
