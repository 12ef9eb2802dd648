/** The files that an input names: itself, or all of a folder in the order of their names. */

import { join } from "node:path";
import { attempting, UserError } from "../../program/errors.ts";
import { isWebAddress } from "./byte_input.ts";

export async function filesOfInput(place: string): Promise<string[]> {
  if (isWebAddress(place)) return [place];
  const { isDirectory, isFile } = await attempting({ action: "read the text", value: place }, () => Deno.stat(place));
  if (isFile) return [place];
  if (!isDirectory) {
    throw new UserError(`Cannot read '${place}': it is neither a file nor a folder`, { next: "Pass a file" });
  }
  const files = await filesIn(place);
  if (files.length === 0) {
    throw new UserError(`There is no file in the folder '${place}'`, { next: "Pass another one" });
  }
  return files;
}

/** Files whose name begins with a dot are the system's or an editor's. Links to folders could go in circles. */
async function filesIn(folder: string): Promise<string[]> {
  const entries: { name: string; isFolder: boolean }[] = [];
  await attempting({ action: "read the folder", value: folder }, async () => {
    for await (const { name, isDirectory, isFile, isSymlink } of Deno.readDir(folder)) {
      if (name.startsWith(".")) continue;
      const isLinkToFile = isSymlink && (await Deno.stat(join(folder, name))).isFile;
      if (isDirectory || isFile || isLinkToFile) entries.push({ name, isFolder: isDirectory });
    }
  });
  const files: string[] = [];
  for (const { name, isFolder } of entries.toSorted((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, name);
    if (isFolder) files.push(...await filesIn(path));
    else files.push(path);
  }
  return files;
}
