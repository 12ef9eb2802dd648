/**
 * Which orchestrator and run a node accepts at an address: trust on first use, as with SSH host keys.
 *
 * Unless named, the first orchestrator to answer is remembered in the data folder, and no other is accepted at that
 * address. It may begin another run. At a loopback address it is replaced with a warning. A torn file counts as none.
 */

import { decodeAddress } from "../../chain/wallet/ss58.ts";
import { type NodeId, nodeId } from "../../core/ids.ts";
import { readIfPresent, realDisk, writeAtomically } from "../files/disk.ts";
import type { OptionValues } from "../terminal/command.ts";
import { UsageError } from "../program/errors.ts";
import { isLoopbackHost } from "./public_address.ts";

export interface Pinned {
  readonly hub: NodeId | null; // null: the first
  readonly run: string | null; // null: any
}

export class HubPin implements Pinned {
  readonly #folder: string;
  readonly #path: string;
  readonly #typed: Pinned;
  #remembered: Pinned;
  readonly run: string | null;
  hub: NodeId | null;
  #hasMet = false;

  private constructor(place: { folder: string; socket: string }, remembered: Pinned, typed: Pinned) {
    this.#folder = `${place.folder}/hubs`;
    this.#path = pathOf(place);
    this.#typed = typed;
    this.#remembered = remembered;
    const binding = isLoopbackSocket(place.socket) ? nobody : remembered;
    this.hub = typed.hub ?? binding.hub;
    this.run = typed.run;
  }

  static async open(place: { folder: string; socket: string }, typed: Pinned): Promise<HubPin> {
    const bytes = await readIfPresent(pathOf(place));
    return new HubPin(place, bytes === null ? nobody : parsePin(new TextDecoder().decode(bytes)), typed);
  }

  /** Null: what was typed conflicts. */
  rememberedIn(found: { hub: NodeId }): string | null {
    const isOther = this.hub !== null && this.hub !== found.hub;
    return isOther && this.#typed.hub === null ? this.#path : null;
  }

  /**
   * Returns a warning if remembered ones that were not typed are replaced, unless this process met the orchestrator
   * before.
   */
  async met({ hub, run }: { hub: NodeId; run: string }): Promise<string | null> {
    this.hub = hub;
    const wasMet = this.#hasMet;
    this.#hasMet = true;
    const before = this.#remembered;
    if (before.hub === hub && before.run === run) return null;
    this.#remembered = { hub, run };
    const text = `${JSON.stringify({ hub, run })}\n`;
    await realDisk.createFolder(this.#folder);
    await writeAtomically(this.#path, { disk: realDisk, chunks: [new TextEncoder().encode(text)] });
    const isMeant = before.hub === hub ? wasMet || this.#typed.run === run : this.#typed.hub === hub;
    if (before.hub === null || isMeant) return null;
    const other = before.hub === hub ? `run ${before.run}` : `another orchestrator, ${before.hub},`;
    return `Previously, this address led to ${other} (remembered in ${this.#path}); now ${hub} with run ${run} is remembered`;
  }
}

export function typedPin(options: OptionValues): Pinned {
  const hub = options.text("hub")?.trim();
  if (hub !== undefined && decodeAddress(hub) === null) {
    throw new UsageError(
      `--hub must be an orchestrator's ss58 address, but is '${hub}'`,
      {
        next: "Copy the line that the orchestrator prints when it listens",
      },
    );
  }
  return { hub: hub === undefined ? null : nodeId(hub), run: options.text("run")?.trim() ?? null };
}

export const pinWords = ({ hub, run }: { hub: string; run: string }): string[] => ["--hub", hub, "--run", run];

const isLoopbackSocket = (socket: string) => isLoopbackHost(hostOf(socket));
export const hostOf = (socket: string): string => URL.parse(socket)?.hostname.replace(/^\[(.*)\]$/, "$1") ?? "";

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
