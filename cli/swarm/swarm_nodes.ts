/**
 * The miners and validators of a swarm: processes on loopback, each with a wallet of its own that it keeps over all its lives.
 *
 * Owns: their names (miner-0, miner-1, …), starting, pausing and ending them. A node that dies is started again and joins as
 * itself. Before training a node that cannot live ends the swarm; later it is the run's problem: the others go on.
 */

import { createHotkey, hotkeyExists, loadHotkey } from "../../chain/wallet/hotkey_files.ts";
import { present } from "../../core/assert.ts";
import { systemTimers } from "../../net/timers.ts";
import { pinWords } from "../node/hub_pin.ts";
import { startChild } from "./role_process.ts";
import type { SwarmChain } from "./swarm_chain.ts";
import { type Death, type LastEnd, type Line, SupervisedProcess } from "./supervised_process.ts";

export type NodeRole = "miner" | "validator";

export interface SwarmNodesOptions {
  readonly folder: string; // of the run
  readonly device: string;
  /** Where nodes are registered and validators set weights; null: nowhere. */
  readonly chain: () => SwarmChain | null;
  /** Resolves when the orchestrator can be reached: a node that starts meanwhile waits for it. */
  readonly reachable: () => Promise<void>;
  readonly onStarted: (node: { name: string; role: NodeRole; pid: number }) => void;
  readonly onRestart: (death: Death) => void;
  /** A node has ended for good, and not because it was asked to or the run was over. */
  readonly onLost: (name: string, end: LastEnd) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Where the orchestrator listens and who it is: its nodes accept no other. */
export interface SwarmHub {
  readonly url: string;
  readonly hub: string;
  readonly run: string;
}

interface SwarmNode {
  readonly role: NodeRole;
  readonly process: SupervisedProcess;
  cancelPause: (() => void) | null; // while it is stopped
}

const commands: Readonly<Record<NodeRole, string>> = { miner: "miner", validator: "validate" };
const workRecords: ReadonlySet<unknown> = new Set(["taskComputed", "evaluated", "verdict"]);

/** After the orchestrator's end: who has not heard of it is asked to leave, then ended. */
const askToLeaveMs = 2_000;
const lastWeightsMs = 20_000; // validators wait for an epoch or two
const endMs = 10_000; // after it

export class SwarmNodes {
  readonly #options: SwarmNodesOptions;
  readonly #nodes = new Map<string, SwarmNode>(); // by name
  #hub: SwarmHub | null = null;

  constructor(options: SwarmNodesOptions) {
    this.#options = options;
  }

  get restarts(): number {
    return [...this.#nodes.values()].reduce((sum, { process }) => sum + process.restarts, 0);
  }

  count(role: NodeRole): number {
    return [...this.#nodes.values()].filter((node) => node.role === role).length;
  }

  /** Names of those that run and were not asked to leave, in the order of their indices. */
  running(role: NodeRole): string[] {
    return [...this.#nodes.values()].filter((node) => node.role === role && node.process.isRunning)
      .map(({ process }) => process.name);
  }

  start(hub: SwarmHub, counts: Readonly<Record<NodeRole, number>>): void {
    this.#hub = hub;
    for (let i = 0; i < counts.miner; i++) this.add("miner");
    for (let i = 0; i < counts.validator; i++) this.add("validator");
  }

  /** One more of this role. */
  add(role: NodeRole): SupervisedProcess {
    const { folder, onRestart, onStarted, onFailure } = this.#options;
    const name = `${role}-${this.count(role)}`;
    const process = new SupervisedProcess({
      name,
      words: async () => {
        await this.#options.reachable();
        return await this.#words(role, name);
      },
      start: ({ number, words, onLine }) =>
        startChild({ name, words, logFolder: `${folder}/logs`, keepsLog: number > 1, onLine }),
      onLine: () => {},
      isProgress: (line: Line) => workRecords.has(line["type"]),
      onStarted: (pid) => onStarted({ name, role, pid }),
      onRestart,
    });
    this.#nodes.set(name, { role, process, cancelPause: null });
    process.ended.then((end) => this.#onEnded(name, end), onFailure);
    return process;
  }

  process(name: string): SupervisedProcess {
    return this.#node(name).process;
  }

  /** Stops the process where it stands; it goes on by itself. */
  pause(name: string, pauseMs: number): void {
    const node = this.#node(name);
    node.cancelPause?.();
    node.process.signal("SIGSTOP");
    node.cancelPause = systemTimers.after(pauseMs, () => goOn(node));
  }

  /** The run is over, or about to be: who ends now stays ended, and who is paused hears it. */
  letGo(): void {
    for (const node of this.#nodes.values()) {
      goOn(node);
      node.process.letGo();
    }
  }

  /** Resolves when all have ended. They have been told of the end of a finished run; of any other end they have not. */
  async end({ isFinished }: { isFinished: boolean }): Promise<void> {
    this.letGo();
    const signalAll = (signal: Deno.Signal) => {
      for (const { process } of this.#nodes.values()) process.signal(signal);
    };
    const patienceMs = !isFinished ? 0 : this.#options.chain() === null ? askToLeaveMs : lastWeightsMs;
    if (!isFinished) signalAll("SIGTERM");
    const cancelAsking = isFinished ? systemTimers.after(patienceMs, () => signalAll("SIGTERM")) : () => {};
    const cancelEnding = systemTimers.after(patienceMs + endMs, () => signalAll("SIGKILL"));
    await Promise.allSettled([...this.#nodes.values()].map(({ process }) => process.ended)); // failures were reported
    cancelAsking();
    cancelEnding();
  }

  #node(name: string): SwarmNode {
    return present(this.#nodes.get(name), `The swarm has ${name}`);
  }

  async #words(role: NodeRole, name: string): Promise<string[]> {
    const { folder, device } = this.#options;
    const chain = this.#options.chain();
    const wallets = `${folder}/wallets`;
    const key = { folder: wallets, wallet: name, hotkey: "default" };
    if (!await hotkeyExists(key)) await createHotkey(key);
    const { address: hotkey } = await loadHotkey(key);
    chain?.enroll({ name, role, hotkey });
    const hub = present(this.#hub, "Nodes are started when the orchestrator listens");
    const place = ["--orchestrator", hub.url, ...pinWords(hub)];
    const wallet = ["--wallet", name, "--wallet-path", wallets];
    const paid = role === "validator" ? chain?.words ?? [] : []; // a client costs 100 MB: the swarm knows what miners earn
    return [commands[role], ...place, ...wallet, ...paid, "--data", folder, "--device", device];
  }

  #onEnded(name: string, end: LastEnd): void {
    goOn(this.#node(name));
    if (end.code !== 0 && !end.isAsked) this.#options.onLost(name, end);
  }
}

function goOn(node: SwarmNode): void {
  if (node.cancelPause === null) return;
  node.cancelPause();
  node.cancelPause = null;
  node.process.signal("SIGCONT");
}
