/** A word of a command that is printed for people to paste: quoted where a shell would read it as something else. */

export function shellWord(text: string): string {
  return /^[\w@%+=:,./~-]+$/.test(text) ? text : `'${text.replaceAll("'", "'\\''")}'`;
}
