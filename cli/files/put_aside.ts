/**
 * Renames files that are in the way but may be valuable to `put-aside-1-NAME`. Files put aside together share a number.
 */

import { type Disk, isFolder, realDisk } from "./disk.ts";

const pattern = /^put-aside-(\d+)-/;

export function isPutAside(name: string): boolean {
  return name.startsWith("put-aside-");
}

export async function putAside(
  { folder, names, disk = realDisk }: { folder: string; names: readonly string[]; disk?: Disk },
): Promise<string[]> {
  if (names.length === 0) return [];
  const number = await nextNumber(folder);
  const paths: string[] = [];
  for (const name of names) {
    const path = `${folder}/put-aside-${number}-${name}`;
    await disk.rename(`${folder}/${name}`, path);
    paths.push(path);
  }
  await disk.syncFolder(folder);
  return paths;
}

export async function nextNumber(folder: string): Promise<number> {
  if (!(await isFolder(folder))) return 1;
  let last = 0;
  for await (const { name } of Deno.readDir(folder)) last = Math.max(last, Number(pattern.exec(name)?.[1] ?? 0));
  return last + 1;
}
