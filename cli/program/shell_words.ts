/** For people to paste: each word is quoted for a POSIX shell where needed. */

export function shellWords(words: readonly string[]): string {
  return words.map(shellWord).join(" ");
}

export function shellWord(word: string): string {
  return /^[\w@%+=:,./-]+$/.test(word) ? word : `'${word.replaceAll("'", `'\\''`)}'`;
}
