/** A count with its noun. cli/terminal/text/format.ts also groups thousands. */

export function plural(count: number, noun: string): string {
  return `${count} ${nounFor(count, noun)}`;
}

/** Regular nouns only. */
export function nounFor(count: number, noun: string): string {
  return count === 1 ? noun : `${noun}s`;
}
