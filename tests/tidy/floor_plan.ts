/**
 * The floor plan as data: which folder may import which, which rooms of core stand on which, and which packages belong to one
 * folder only.
 *
 * Owns the table and the one question asked of it. Paths are relative to the repository root, with forward slashes.
 * Both users, the lint plugin and the tidy test, get the same answer and the same words.
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

/** Rooms of core that stand on each other: each may import those before it, and none behind it. */
const CORE_STEPS: readonly string[] = ["core/codec", "core/model", "core/config"];

export const FOLDERS: readonly string[] = Object.keys(ALLOWED);

/** The top-level folder of a path, or "" for a file beside them. */
export function folderOf(path: string): string {
  return path.includes("/") ? path.slice(0, path.indexOf("/")) : "";
}

/** The path a relative specifier names, or null for a package. */
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
  if (allowed.includes(folderOf(target))) return stepProblem(importer, target);
  return `Cannot import '${target}' in ${folder}, which may import ${allowed.join(", ")} only. ${INSTEAD[folder]}`;
}

function stepProblem(importer: string, target: string): string | null {
  const stepOf = (path: string) => CORE_STEPS.findIndex((room) => path.startsWith(`${room}/`));
  const [own, other] = [stepOf(importer), stepOf(target)];
  if (own === -1 || other <= own) return null;
  return `Cannot import '${target}' in ${CORE_STEPS[own]}, which ${CORE_STEPS[other]} stands on. ` +
    `Move what both need into ${CORE_STEPS[own]}, or take it as an argument`;
}
