/**
 * Searches until a run proves itself: on the named chain, or without one on a local chain (then only there), a local
 * orchestrator, or subnet 9 of finney.
 */

import { type Chain, ChainError } from "../../../chain/chain.ts";
import { reconnectDelayMs } from "../../../chain/subtensor/connection/timers.ts";
import type { Random, Timers } from "../../../net/timers.ts";
import { pause } from "../../chain/duty/chain_link.ts";
import { unlessAborted } from "../../program/aborted.ts";
import type { NamedChain } from "../../terminal/options/named_chain.ts";
import type { Pinned } from "../../address/hub_pin.ts";
import { plural } from "../../terminal/text/format.ts";
import { type Announcement, readAnnouncements } from "../../address/announcements.ts";
import type { Invite } from "../../address/invite.ts";
import type { Meeting } from "./meet_hub.ts";
import { fittingRuns, type Missed, RunPicker } from "./pick_run.ts";

export interface SearchWorld {
  openChain(named: NamedChain): Promise<Chain>;
  isPublic(network: string): boolean;
  hasOwnChain(): Promise<boolean>;
  hasOwnHub(): Promise<boolean>;
  readonly timers: Timers;
  readonly random: Random;
}

export interface SearchOptions {
  readonly chain: NamedChain | null;
  readonly wanted: Pinned;
  readonly meet: (invite: Invite) => Promise<Meeting>;
  /** Returns what is still missing, or null. */
  readonly prepare: (chain: Chain, options: { isPublic: boolean }) => Promise<string | null>;
  readonly ownHubWords: string;
  readonly onWaiting: (why: string) => void;
  /** Only a person can choose. */
  readonly onAmbiguous: (runs: readonly Announcement[], chain: NamedChain) => Error;
  /** Null: never. */
  readonly giveUpAfterMs: number | null;
  readonly onGivenUp: (why: string) => Error;
  readonly signal: AbortSignal;
}

export type FoundRun =
  | {
    readonly place: "chain";
    readonly chain: NamedChain;
    readonly announcement: Announcement;
    readonly others: number;
  }
  | { readonly place: "machine" };

interface Connected {
  chain: Chain | null;
  failures: number;
  nextAttemptMs: number;
}

export const ownNetwork = "local";
export const usualChain: NamedChain = { network: "finney", netuid: 9 };
const lookEveryMs = 2_000;

export class RunSearch {
  readonly #world: SearchWorld;
  readonly #options: SearchOptions;
  readonly #connected = new Map<string, Connected>();
  readonly #picker: RunPicker;
  #said: string | null = null;
  #why: string | null = null;

  constructor(world: SearchWorld, options: SearchOptions) {
    this.#world = world;
    this.#options = options;
    this.#picker = new RunPicker({
      meet: ({ invite }) => options.meet(invite),
      steadyMs: () => world.timers.steadyMs(),
    });
  }

  /** Rejects with the signal's reason when aborted, or with the error from `onAmbiguous`. */
  async find(): Promise<FoundRun> {
    try {
      return await unlessAborted(this.#options.signal, this.#lookUntilFound());
    } finally {
      await Promise.all([...this.#connected.values()].map(({ chain }) => chain?.close()));
    }
  }

  async #lookUntilFound(): Promise<FoundRun> {
    const { signal } = this.#options;
    const { timers } = this.#world;
    const { giveUpAfterMs, onGivenUp } = this.#options;
    const startMs = timers.steadyMs();
    while (!signal.aborted) {
      const found = await this.#look();
      if (found !== null) return found;
      const isOver = giveUpAfterMs !== null && timers.steadyMs() - startMs >= giveUpAfterMs;
      if (isOver) throw onGivenUp(this.#why ?? "no chain and no orchestrator answers");
      await pause(lookEveryMs, { timers, signal });
    }
    throw signal.reason;
  }

  async #look(): Promise<FoundRun | null> {
    const { chain, wanted } = this.#options;
    if (chain !== null) return await this.#lookAt(chain);
    if (await this.#world.hasOwnChain()) return await this.#lookAt({ ...usualChain, network: ownNetwork });
    const isAnyRun = wanted.run === null && wanted.hub === null;
    if (isAnyRun && await this.#world.hasOwnHub()) return { place: "machine" };
    return await this.#lookAt(usualChain);
  }

  async #lookAt(named: NamedChain): Promise<FoundRun | null> {
    const { network, netuid } = named;
    const connected = this.#connected.get(network) ?? { chain: null, failures: 0, nextAttemptMs: 0 };
    this.#connected.set(network, connected);
    const { timers, random } = this.#world;
    if (connected.chain === null && timers.steadyMs() < connected.nextAttemptMs) return null;
    try {
      connected.chain ??= await this.#world.openChain(named);
      if (this.#options.signal.aborted) {
        await connected.chain.close(); // too late for `find` to close it
        return null;
      }
      const found = await this.#read(connected.chain, named);
      connected.failures = 0;
      return found;
    } catch (error) {
      if (!(error instanceof ChainError)) throw error;
      connected.failures += 1;
      const { failures } = connected;
      const isPublic = this.#world.isPublic(network);
      const delayMs = reconnectDelayMs({ failures, isPublic, isRateLimited: false, dice: random.unit() });
      connected.nextAttemptMs = timers.steadyMs() + delayMs;
      const lost = connected.chain;
      connected.chain = null;
      await lost?.close();
      this.#wait(`subnet ${netuid} of ${network} cannot be read: ${error.message}${this.#triedText(network)}`);
      return null;
    }
  }

  #triedText(network: string): string {
    const { chain, wanted } = this.#options;
    if (chain !== null || network !== usualChain.network) return "";
    const isAnyRun = wanted.run === null && wanted.hub === null;
    return `; on this machine there is no chain (port 9944)${
      isAnyRun ? " and no orchestrator (port 9009)" : ""
    } either`;
  }

  async #read(chain: Chain, named: NamedChain): Promise<FoundRun | null> {
    const { wanted, prepare, onAmbiguous } = this.#options;
    const isPublic = this.#world.isPublic(named.network);
    const { runs, unusable } = await readAnnouncements(chain, { isPublic });
    const fitting = fittingRuns(runs, wanted);
    if (fitting.length === 0) {
      const passedOver = unusable.map(({ hotkey, why }) => `${hotkey}: ${why}`);
      this.#wait(`${noneText({ runs, named, wanted, unusable: passedOver })}${await this.#ownHubText()}`);
      return null;
    }
    const pick = await this.#picker.pick(fitting, () => prepare(chain, { isPublic }));
    switch (pick.type) {
      case "found":
        return { place: "chain", chain: named, announcement: pick.announcement, others: fitting.length - 1 };
      case "ambiguous":
        throw onAmbiguous(pick.runs, named);
      case "unprepared": {
        const { announcement: { invite }, missing } = pick;
        this.#wait(`run ${invite.run} is announced on ${placeText(named)}; ${missing}`);
        return null;
      }
      case "none": {
        const isSoon = pick.missed.some(({ type }) => type === "later");
        const other = isSoon ? "" : await this.#ownHubText();
        const why = missedText(pick.missed, { named, count: fitting.length });
        this.#wait(why + other, outcomesOf(pick.missed) + other);
        return null;
      }
    }
  }

  /** The user may mean a local orchestrator even if the chain does not announce it. */
  async #ownHubText(): Promise<string> {
    if (!await this.#world.hasOwnHub()) return "";
    return `; an orchestrator answers on this machine, to join that one: ${this.#options.ownHubWords}`;
  }

  /** Equal keys mean the same reason, even if the words differ. */
  #wait(why: string, key = why): void {
    this.#why = why;
    if (this.#said === key) return;
    this.#said = key;
    this.#options.onWaiting(why);
  }
}

const placeText = ({ network, netuid }: NamedChain): string => `subnet ${netuid} of ${network}`;

const outcomesOf = (missed: readonly Missed[]): string =>
  missed.map(({ type, announcement: { invite } }) => `${invite.run} ${invite.socket} ${type}`).join(", ");

function missedText(missed: readonly Missed[], { named, count }: { named: NamedChain; count: number }): string {
  const tried = missed.map(({ announcement: { invite }, why }) => `${invite.run} at ${invite.socket} (${why})`);
  const name = count === 1 ? "" : `; to wait for one of them only: --run ${missed[0]!.announcement.invite.run}`;
  const state = count === 1 ? "it cannot be joined yet" : "none can be joined yet";
  return `${plural(count, "run")} announced on ${placeText(named)}, and ${state}: ${tried.join(", ")}; ` +
    `retrying until one answers${name}`;
}

function noneText({ runs, named, wanted, unusable }: {
  readonly runs: readonly Announcement[];
  readonly named: NamedChain;
  readonly wanted: Pinned;
  readonly unusable: readonly string[];
}): string {
  const place = placeText(named);
  const left = unusable.length === 0 ? "" : `; ignored: ${unusable.join(", ")}`;
  if (runs.length === 0) return `no run is announced on ${place} by its owner or by a validator with a permit${left}`;
  const asked = [wanted.run === null ? "" : ` ${wanted.run}`, wanted.hub === null ? "" : ` of ${wanted.hub}`].join("");
  return `run${asked} is not announced on ${place}: ${runs.map(({ invite }) => invite.run).join(", ")} ` +
    `${runs.length === 1 ? "is" : "are"}${left}`;
}
