/** Where the datasets of this folder's runs are, as far as they are not in the runs themselves. */

import { isFolder } from "../../files/disk.ts";
import { readDatasetManifest } from "./dataset_manifest.ts";

/** `folder`: a run's, or the user's with runs in it. */
export async function datasetPlaces(folder: string): Promise<string[]> {
  const places: string[] = [];
  for (const run of [folder, ...await foldersIn(`${folder}/runs`)]) {
    const place = (await readDatasetManifest(`${run}/dataset`))?.folder;
    if (place !== undefined) places.push(place);
  }
  return places;
}

async function foldersIn(folder: string): Promise<string[]> {
  if (!await isFolder(folder)) return [];
  const entries = await Array.fromAsync(Deno.readDir(folder));
  return entries.filter(({ isDirectory }) => isDirectory).map(({ name }) => `${folder}/${name}`);
}
