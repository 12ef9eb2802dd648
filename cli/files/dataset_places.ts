/** Where the datasets of this folder's runs are, as far as they are elsewhere (cli/model/data). */

import * as v from "valibot";
import { readIfPresent } from "./disk.ts";

const elsewhere = v.pipe(v.string(), v.parseJson(), v.object({ folder: v.string() }));

/** `folder`: a run's, or the user's with runs in it. */
export async function datasetPlaces(folder: string): Promise<string[]> {
  const places: string[] = [];
  for (const run of [folder, ...await foldersIn(`${folder}/runs`)]) {
    const bytes = await readIfPresent(`${run}/dataset/dataset.json`);
    const shaped = bytes === null ? null : v.safeParse(elsewhere, new TextDecoder().decode(bytes));
    if (shaped?.success) places.push(shaped.output.folder);
  }
  return places;
}

async function foldersIn(folder: string): Promise<string[]> {
  const names: string[] = [];
  try {
    for await (const { name, isDirectory } of Deno.readDir(folder)) if (isDirectory) names.push(`${folder}/${name}`);
  } catch (error) {
    if (!(error instanceof Deno.errors.NotFound || error instanceof Deno.errors.NotADirectory)) throw error;
  }
  return names;
}
