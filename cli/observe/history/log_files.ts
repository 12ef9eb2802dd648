/**
 * The files of a run's record log, oldest first, kept open so that their names may change meanwhile. A file is known
 * by its place on the disk, not by its name.
 */

import { recordFileNames } from "../../files/record_files.ts";

export interface HistoryFile {
  readonly file: Deno.FsFile;
  readonly key: string;
  readBytes: number; // as far as its lines are known
}

/** `grown`: the known files, perhaps without the oldest. `other`: another log. */
export type FoundFiles = "grown" | "other";

export class HistoryFiles {
  readonly #folder: string;
  files: HistoryFile[] = []; // oldest first

  constructor(folder: string) {
    this.#folder = folder;
  }

  async find(): Promise<FoundFiles> {
    const before = this.files;
    const listed = await this.#list(before);
    const known = before.filter((file) => listed.includes(file));
    const isTail = known.every((file, i) => file === before[before.length - known.length + i]);
    const isHead = known.every((file, i) => file === listed[i]);
    const hasShrunk = await someAsync(known, async ({ file, readBytes }) => (await file.stat()).size < readBytes);
    for (const file of before) if (!listed.includes(file)) file.file.close();
    this.files = listed;
    const isSame = isTail && isHead && !hasShrunk && (known.length > 0 || before.length === 0);
    if (!isSame) { for (const file of listed) file.readBytes = 0; }
    return isSame ? "grown" : "other";
  }

  close(): void {
    for (const { file } of this.files) file.close();
    this.files = [];
  }

  /** From the newest name to the oldest: a file renamed meanwhile is met twice, never missed. */
  async #list(known: readonly HistoryFile[]): Promise<HistoryFile[]> {
    const found: HistoryFile[] = [];
    for (const name of recordFileNames) {
      const file = await openIfThere(`${this.#folder}/${name}`);
      if (file === null) continue;
      const { dev, ino } = await file.stat();
      const key = ino === null ? name : `${dev}:${ino}`;
      const other = [...known, ...found].find((each) => each.key === key);
      if (other === undefined) found.unshift({ file, key, readBytes: 0 });
      else {
        file.close();
        if (!found.includes(other)) found.unshift(other);
      }
    }
    return found;
  }
}

async function openIfThere(path: string): Promise<Deno.FsFile | null> {
  try {
    return await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

async function someAsync<Item>(items: readonly Item[], test: (item: Item) => Promise<boolean>): Promise<boolean> {
  for (const item of items) if (await test(item)) return true;
  return false;
}
