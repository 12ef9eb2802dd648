/** A command line for people to paste: each word quoted for a POSIX shell where it needs that. */

export function shellWords(words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

/** One word of it. */
export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
