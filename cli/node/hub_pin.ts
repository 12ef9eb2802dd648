/**
 * Which orchestrator and run a node takes part in at an address: what was typed or announced, or what the first contact there proved.
 *
 * Trust on first use, as with the host keys of SSH: an invite, the chain's announcement, or `--hub` and `--run` say it from the start;
 * without them whoever answers first is remembered in the data folder, and nobody else is accepted at that address until the new
 * one is named. At a loopback address, where only this machine listens, one run follows another: what is remembered is renewed with a
 * warning there and refuses nobody. Owns: the file, one for each address, and what counts. Refuses: checking (net/auth/hello.ts). A file that is torn or
 * foreign is as good as none.
 */

import { type NodeId, nodeId } from "../../core/ids.ts";
import { readIfPresent, realDisk, writeAtomically } from "../data/disk.ts";
import type { OptionValues } from "../command.ts";
import { UsageError } from "../output/errors.ts";
import { isLoopbackHost } from "../orchestrate/public_address.ts";

/** Null: whoever proves it first. */
export interface Pinned {
  readonly hub: NodeId | null;
  readonly run: string | null;
}

export class HubPin implements Pinned {
  readonly #folder: string;
  readonly #path: string;
  readonly #typed: Pinned;
  #remembered: Pinned;
  hub: NodeId | null;
  run: string | null;

  private constructor(place: { folder: string; socket: string }, remembered: Pinned, typed: Pinned) {
    this.#folder = `${place.folder}/hubs`;
    this.#path = pathOf(place);
    this.#typed = typed;
    this.#remembered = remembered;
    const binding = isLoopbackSocket(place.socket) ? nobody : remembered;
    const isOther = typed.hub !== null && typed.hub !== binding.hub; // its run is another one, too
    this.hub = typed.hub ?? binding.hub;
    this.run = typed.run ?? (isOther ? null : binding.run);
  }

  /** `socket`: the orchestrator's address. */
  static async open(place: { folder: string; socket: string }, typed: Pinned): Promise<HubPin> {
    const bytes = await readIfPresent(pathOf(place));
    return new HubPin(place, bytes === null ? nobody : parsePin(new TextDecoder().decode(bytes)), typed);
  }

  /** The file whose memory asks for another one than this; null: what was typed does. */
  rememberedIn(found: { hub: NodeId; run: string }): string | null {
    const typed = found.hub === this.hub ? this.#typed.run : this.#typed.hub;
    return typed === null ? this.#path : null;
  }

  /** These were proven: from now on no others count. Returns a warning where they replace what was remembered and not typed. */
  async met({ hub, run }: { hub: NodeId; run: string }): Promise<string | null> {
    this.hub = hub;
    this.run = run;
    const before = this.#remembered;
    if (before.hub === hub && before.run === run) return null;
    this.#remembered = { hub, run };
    const text = `${JSON.stringify({ hub, run })}\n`;
    await realDisk.createFolder(this.#folder);
    await writeAtomically(this.#path, { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
    const isMeant = before.hub === hub ? this.#typed.run === run : this.#typed.hub === hub;
    if (before.hub === null || isMeant) return null;
    const other = before.hub === hub ? `run ${before.run}` : `another orchestrator, ${before.hub},`;
    return `Before, ${other} was met at this address (remembered in ${this.#path}); now ${hub} with run ${run} is remembered`;
  }
}

/** What `--hub` and `--run` say. */
export function typedPin(options: OptionValues): Pinned {
  const hub = options.text("hub");
  if (hub !== undefined && !/^[1-9A-HJ-NP-Za-km-z]{40,64}$/.test(hub)) {
    throw new UsageError(`Cannot use --hub as it must be an orchestrator's ss58 address: current value is '${hub}'`, {
      next: "Copy the line that the orchestrator prints when it listens",
    });
  }
  return { hub: hub === undefined ? null : nodeId(hub), run: options.text("run") ?? null };
}

/** The words that take a node to this run and no other. */
export const pinWords = ({ hub, run }: { hub: string; run: string }): string[] => ["--hub", hub, "--run", run];

const isLoopbackSocket = (socket: string) => isLoopbackHost(hostOf(socket));
const hostOf = (socket: string) => URL.parse(socket)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";

const nobody: Pinned = { hub: null, run: null };

const pathOf = ({ folder, socket }: { folder: string; socket: string }): string =>
  `${folder}/hubs/${encodeURIComponent(socket)}.json`;

function parsePin(text: string): Pinned {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch {
    return nobody;
  }
  if (typeof value !== "object" || value === null || !("hub" in value) || !("run" in value)) return nobody;
  const { hub, run } = value;
  return typeof hub === "string" && typeof run === "string" ? { hub: nodeId(hub), run } : nobody;
}
