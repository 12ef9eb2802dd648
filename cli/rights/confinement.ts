/**
 * Before a command runs, gives up every right that it does not declare.
 *
 * An unrestricted right can be revoked as a whole, permanently. A narrower right (one folder, one program, some
 * variables) can only be given to a new thread: the command then runs in a worker, and the main thread revokes all of
 * its own.
 *
 * Measured on Deno 2.9.6: a waiting miner's thread takes 15 MB and, on a machine with four times its cores in load, 0.4
 * s more to start. Each worker that the confined thread starts takes 1.0 s instead of 0.03. So commands that open stage
 * after stage take whole rights.
 */

import { resolve as resolvePath } from "node:path";
import { assert } from "../../core/assert.ts";
import { askOpenFiles, openFilesVariable } from "./open_files.ts";
import { type HeldRights, isWhole, packageVariables, type Scope } from "./rights.ts";
import type { SensorProcess } from "./sensor_process.ts";

export type ToConfined =
  | {
    readonly type: "begin";
    readonly words: readonly string[];
    readonly variables: Readonly<Record<string, string>>;
    readonly hasSensors: boolean;
  }
  | { readonly type: "sensors"; readonly text: string | null };

export type FromConfined =
  | { readonly type: "ready" }
  | { readonly type: "readSensors" }
  | { readonly type: "exit"; readonly code: number };

interface Confinement {
  readonly held: HeldRights;
  readonly words: readonly string[];
  readonly variables: Readonly<Record<string, string>>;
  readonly code: URL; // of the thread
}

const kinds = ["read", "write", "net", "run", "env", "sys", "ffi", "import"] as const;

/** Null: the command continues in this thread. Otherwise it ran in its own thread, and this is its exit code. */
export function confine(confinement: Confinement): Promise<number> | null {
  const { held } = confinement;
  if (!isWhole(held)) return runConfined(confinement);
  for (const kind of kinds) if (kind === "ffi" || kind === "import" || held[kind] !== "any") revoke(kind);
  return null;
}

/** Final: Deno never restores a right without asking the user, and this program runs with --no-prompt. */
function revoke(name: typeof kinds[number]): void {
  const { state } = Deno.permissions.revokeSync({ name });
  assert(state !== "granted", `The right to ${name} was not given up`);
}

async function runConfined({ held, words, code, ...given }: Confinement): Promise<number> {
  const sensors = held.needsSensors ? (await import("./sensor_process.ts")).startSensors() : null;
  const openFiles = askOpenFiles();
  const variables = openFiles === null ? given.variables : { ...given.variables, [openFilesVariable]: openFiles };
  const worker = new Worker(code, {
    type: "module",
    name: "command",
    deno: {
      permissions: {
        read: listOf(held.read),
        write: listOf(held.write),
        net: listOf(held.net),
        run: listOf(held.run),
        env: listOf(held.env === "any" ? "any" : [...packageVariables, ...held.env]),
        sys: listOf(held.sys) as boolean | (keyof Deno.SystemMemoryInfo & "hostname")[], // Deno's type lacks some entries
        ffi: false,
        import: false,
      },
    },
  });
  const { promise, resolve, reject } = Promise.withResolvers<number>();
  worker.onerror = (event) => {
    event.preventDefault();
    reject(new Error(event.message));
  };
  worker.onmessage = ({ data }: MessageEvent<FromConfined>) => {
    if (data.type === "exit") return resolve(data.code);
    if (data.type === "readSensors") return answer(worker, sensors);
    for (const kind of kinds) revoke(kind); // not before: the worker's modules are read with this thread's rights
    send(worker, { type: "begin", words, variables, hasSensors: sensors !== null });
  };
  return await promise;
}

/**
 * Such as the folder of a key that is now in memory. Revoking a path also revokes every grant above it, so paths in
 * `kept` stay.
 */
export function giveUpReading(folders: readonly string[], { kept }: { kept: string }): void {
  const above = `${resolvePath(kept)}/`;
  for (const path of folders) {
    if (!`${resolvePath(path)}/`.startsWith(above)) Deno.permissions.revokeSync({ name: "read", path });
  }
}

const listOf = (scope: Scope): boolean | string[] => scope === "any" ? true : scope.length === 0 ? false : [...scope];

function send(worker: Worker, message: ToConfined): void {
  worker.postMessage(message);
}

function answer(worker: Worker, sensors: SensorProcess | null): void {
  const reading = sensors?.read() ?? Promise.resolve(null);
  reading.then(
    (text) => send(worker, { type: "sensors", text }),
    () => send(worker, { type: "sensors", text: null }), // it has ended: the rules then report unknown readings
  );
}
