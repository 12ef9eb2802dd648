/**
 * A swarm's miners and validators, each with a wallet kept over all its lives. Before training, a node that keeps dying
 * ends the swarm; later the others continue.
 */

import { createHotkey, hotkeyExists, loadHotkey } from "../../chain/wallet/hotkey_files.ts";
import { present } from "../../core/assert.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { pinWords } from "../address/hub_pin.ts";
import type { LinkShape } from "./chaos/link_shape.ts";
import { startChild } from "./role_process.ts";
import { ShapedLink } from "./shaped_link.ts";
import type { SwarmChain } from "./swarm_chain.ts";
import { type Death, type LastEnd, type Line, SupervisedProcess } from "./supervised_process.ts";

export type NodeRole = "miner" | "validator";

interface SwarmNodesOptions {
  readonly folder: string;
  readonly nodeWords: readonly string[];
  readonly links: LinkShape | null;
  readonly chain: () => SwarmChain | null;
  readonly reachable: () => Promise<void>;
  readonly onStarted: (node: { name: string; role: NodeRole; pid: number }) => void;
  readonly onRestart: (death: Death) => void;
  /** Unasked, and before the run was over. */
  readonly onLost: (name: string, end: LastEnd) => void;
  readonly onFailure: (error: unknown) => void;
}

/** Nodes accept no other. */
export interface SwarmHub {
  readonly url: string;
  readonly hub: string;
  readonly run: string;
}

interface SwarmNode {
  readonly role: NodeRole;
  readonly process: SupervisedProcess;
  cancelPause: (() => void) | null; // set while it is stopped
}

const commands: Readonly<Record<NodeRole, string>> = { miner: "miner", validator: "validate" };
const workRecords: ReadonlySet<unknown> = new Set(["taskComputed", "evaluated", "verdict"]);

/** Remaining nodes are asked to leave, then killed. */
const askToLeaveMs = 2_000;
const lastWeightsMs = 20_000; // validators wait for an epoch or two
const endMs = 10_000; // after that

export class SwarmNodes {
  readonly #options: SwarmNodesOptions;
  readonly #nodes = new Map<string, SwarmNode>();
  readonly #links = new Map<string, ShapedLink>(); // by name; kept over a node's lives
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

  running(role: NodeRole): string[] {
    return [...this.#nodes.values()].filter((node) => node.role === role && node.process.isRunning)
      .map(({ process }) => process.name);
  }

  start(hub: SwarmHub, counts: Readonly<Record<NodeRole, number>>): void {
    this.#hub = hub;
    for (let i = 0; i < counts.miner; i++) this.add("miner");
    for (let i = 0; i < counts.validator; i++) this.add("validator");
  }

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

  pause(name: string, pauseMs: number): void {
    const node = this.#node(name);
    node.cancelPause?.();
    node.process.signal("SIGSTOP");
    node.cancelPause = systemTimers.after(pauseMs, () => goOn(node));
  }

  /** Paused nodes resume to learn of the end. */
  letGo(): void {
    for (const node of this.#nodes.values()) {
      goOn(node);
      node.process.letGo();
    }
  }

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
    for (const link of this.#links.values()) link.close();
  }

  #node(name: string): SwarmNode {
    return present(this.#nodes.get(name), `The swarm has ${name}`);
  }

  async #words(role: NodeRole, name: string): Promise<string[]> {
    const { folder, nodeWords } = this.#options;
    const chain = this.#options.chain();
    const wallets = `${folder}/wallets`;
    const key = { folder: wallets, wallet: name, hotkey: "default" };
    if (!await hotkeyExists(key)) await createHotkey(key);
    const { address: hotkey } = await loadHotkey(key);
    const enrolment = chain?.enroll({ name, role, hotkey });
    if (role === "validator") await enrolment; // otherwise it would enrol itself as well
    const hub = present(this.#hub, "Nodes are started when the orchestrator listens");
    const place = ["--orchestrator", this.#urlFor(name, hub.url), ...pinWords(hub)];
    const wallet = ["--wallet", name, "--wallet-path", wallets];
    const paid = role === "validator" ? chain?.words ?? [] : []; // a client costs 100 MB
    return [
      commands[role],
      ...place,
      ...wallet,
      ...paid,
      "--data",
      folder,
      ...nodeWords,
    ];
  }

  #urlFor(name: string, hubUrl: string): string {
    const shape = this.#options.links;
    if (shape === null) return hubUrl;
    const { hostname, port } = new URL(hubUrl);
    const target = { hostname, port: Number(port) };
    const link = this.#links.get(name) ?? new ShapedLink({ target, shape, timers: systemTimers, random: systemRandom });
    this.#links.set(name, link);
    return `ws://127.0.0.1:${link.port}`;
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
