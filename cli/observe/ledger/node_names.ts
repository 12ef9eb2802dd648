/** The names of a run's nodes where its folder knows them: a swarm keeps the wallets of its own nodes there, public halves apart. */

import { type NodeId, nodeId } from "../../../core/ids.ts";

/** By address; empty for a run whose nodes are strangers. */
export async function namesOf(folder: string): Promise<Map<NodeId, string>> {
  const names = new Map<NodeId, string>();
  for (const name of await foldersIn(`${folder}/wallets`)) {
    const address = await addressIn(`${folder}/wallets/${name}/hotkeys/defaultpub.txt`);
    if (address !== null) names.set(address, name);
  }
  return names;
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const names: string[] = [];
    for await (const entry of Deno.readDir(folder)) if (entry.isDirectory) names.push(entry.name);
    return names;
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

async function addressIn(path: string): Promise<NodeId | null> {
  try {
    const { ss58Address } = JSON.parse(await Deno.readTextFile(path)) as { ss58Address?: unknown };
    return typeof ss58Address === "string" ? nodeId(ss58Address) : null;
  } catch (error) {
    if (isUnreadable(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

const isUnreadable = (error: unknown): boolean =>
  error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied ||
  error instanceof Deno.errors.NotADirectory;
