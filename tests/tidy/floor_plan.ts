/**
 * The floor plan as data: which folder may import which, which rooms of core stand on which, and which packages belong to one
 * folder only.
 *
 * Owns the tables and the questions asked of them: one import, as the lint plugin sees it, and the arrows of the whole tree, for
 * the tidy tests. Paths are relative to the repository root, with forward slashes.
 */

/** Folder -> the folders it may import, itself included. A folder that is not here may not be imported at all. */
const ALLOWED: Readonly<Record<string, readonly string[]>> = {
  core: ["core"],
  gpu: ["gpu", "core"],
  net: ["net", "core"],
  chain: ["chain", "core"],
  cli: ["cli", "core", "gpu", "net", "chain"],
  tests: ["tests", "cli", "core", "gpu", "net", "chain"],
};

/** Package -> the folders that may import it. Every other package is open to all but core. */
const PACKAGE_HOMES: Readonly<Record<string, readonly string[]>> = {
  "@std/assert": ["tests"],
  "@std/cli": ["cli", "tests"],
  "axe-core": ["tests"],
  "playwright-core": ["tests"],
};

const INSTEAD: Readonly<Record<string, string>> = {
  core: "Put arithmetic in a leaf of core; reach the outside by returning an Effect that a role in cli performs",
  gpu: "Move what both sides need to core, or let cli pass it in",
  net: "Move what both sides need to core, or let cli pass it in",
  chain: "Move what both sides need to core, or let cli pass it in",
  cli: "Move what is shared out of tests",
  tests: "Import from one of the six folders",
};

/** The rooms of each layer from the ground up: a room imports those before it, never one behind it. */
export const ROOMS: Readonly<Record<string, readonly string[]>> = {
  core: [
    ...["tokenizer", "codec", "score", "data", "model", "config", "train", "protocol", "statements", "update", "view"],
    ...["settings", "ledger", "miner", "validator", "orchestrator"],
  ],
  gpu: ["fit", "speed", "layers", "codecs", "optimizers", "cpu", "trace", "webgpu"],
  net: ["messages", "auth", "blobs", "proxy", "links"],
  chain: ["timelock", "wallet", "weights", "epochs", "duty", "subtensor", "local"],
  cli: [
    ...["shims", "program", "rights", "terminal", "files", "address", "device", "model", "roles", "chain", "observe"],
    ...["node", "orchestrator", "swarm", "tools", "commands"],
  ],
};

export const FOLDERS: readonly string[] = Object.keys(ALLOWED);

/** The top-level folder of a path, or "" for a file beside them. */
export function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : "";
}

/** The path that a specifier names, or null for a package. */
export function resolveImport(importer: string, specifier: string): string | null {
  if (!specifier.startsWith(".")) return null;
  return new URL(specifier, `file:///${importer}`).pathname.slice(1);
}

/** Why this import breaks the floor plan, or null when it does not. */
export function importProblem(importer: string, specifier: string): string | null {
  const folder = folderOf(importer);
  const allowed = ALLOWED[folder];
  if (allowed === undefined) return null;
  const target = resolveImport(importer, specifier);
  if (target === null) {
    if (folder === "core") return `Cannot import '${specifier}' in core, which imports no package. ${INSTEAD.core}`;
    const homes = PACKAGE_HOMES[specifier];
    if (homes === undefined || homes.includes(folder)) return null;
    return `Cannot import '${specifier}' in ${folder}: it belongs to ${homes.join(" and ")}`;
  }
  if (allowed.includes(folderOf(target))) return roomProblem(importer, target);
  return `Cannot import '${target}' in ${folder}, which may import ${allowed.join(", ")} only. ${INSTEAD[folder]}`;
}

/** The room that a path is in: `cli/node`; null for a file beside the rooms. */
export function roomOf(path: string): string | null {
  const [layer, room, ...rest] = path.split("/");
  return rest.length === 0 ? null : `${layer}/${room}`;
}

const levelOf = (room: string): number => {
  const layer = folderOf(room);
  return (ROOMS[layer] ?? []).indexOf(room.slice(layer.length + 1));
};

function roomProblem(importer: string, target: string): string | null {
  const [own, other] = [roomOf(importer), roomOf(target)];
  if (own === null || other === null || folderOf(target) !== folderOf(importer)) return null;
  if (levelOf(other) <= levelOf(own)) return null;
  return `Cannot import '${target}' in ${own}, as ${other} stands above it. ` +
    `What both need belongs into ${own} or a room below it; what only ${other} knows, ${own} takes as an argument`;
}

/** Each file of the six folders -> the files that it imports. */
export type FileArrows = ReadonlyMap<string, readonly string[]>;

/** What rises through files beside the rooms: such a file stands as high as the highest room that it reaches in its layer. */
export function risingArrows(arrows: FileArrows): string[] {
  const known = new Map<string, string | null>();
  function highestRoom(path: string): string | null {
    const room = roomOf(path);
    if (room !== null) return room;
    const found = known.get(path);
    if (found !== undefined) return found;
    known.set(path, null); // for a cycle, which another check reports
    const reached = (arrows.get(path) ?? []).filter((target) => folderOf(target) === folderOf(path)).map(highestRoom);
    const highest = reached.reduce((a, b) => a === null || (b !== null && levelOf(b) > levelOf(a)) ? b : a, null);
    known.set(path, highest);
    return highest;
  }
  return [...arrows].flatMap(([importer, targets]) => {
    const own = roomOf(importer);
    if (own === null || folderOf(importer) === "tests") return [];
    return targets.filter((target) => roomOf(target) === null && folderOf(target) === folderOf(importer))
      .flatMap((target) => {
        const reached = highestRoom(target);
        return reached !== null && levelOf(reached) > levelOf(own) ? [`${importer} -> ${target} -> ${reached}`] : [];
      });
  });
}

/** Its rooms still stand on each other: the trust rules are cut anew before they are layered. */
const UNLAYERED = "core/orchestrator";

/** A folder's own files are one place; so is all of `UNLAYERED`, and each file beside the rooms of a layer. */
function placeOf(path: string): string {
  if (path.startsWith(`${UNLAYERED}/`)) return UNLAYERED;
  return roomOf(path) === null ? path : path.slice(0, path.lastIndexOf("/"));
}

/** Arrows between the places of the product's files. */
export function placeArrows(arrows: FileArrows): Map<string, string[]> {
  const found = new Map<string, string[]>();
  for (const [path, targets] of arrows) {
    if (folderOf(path) === "tests") continue;
    const from = placeOf(path);
    const others = targets.map(placeOf).filter((target) => target !== from);
    found.set(from, [...(found.get(from) ?? []), ...others]);
  }
  return found;
}
