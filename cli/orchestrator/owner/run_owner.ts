/**
 * Acts for a run's owner. A lasting decision is saved first, then recorded, then takes effect. Calls run one after
 * another. Invariant: a removed node is refused, also after a restart, until the owner admits it again.
 */

import { changesBetween, withChanges } from "../../../core/settings/change.ts";
import { type Fault, fault, type Parsed, parsed, refused } from "../../../core/fault.ts";
import { type NodeId, nodeId } from "../../../core/ids.ts";
import type { RunRecord } from "../../../core/protocol/record.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { brokenRules } from "../../../core/settings/rules.ts";
import type { RunningOrchestrator } from "../hub/running_orchestrator.ts";
import { type OwnerDecisions, writeOwnerDecisions } from "./owner_file.ts";
import { nodeNamed } from "./named_node.ts";
import type { OwnerRequest } from "./owner_request.ts";

interface RunOwnerOptions {
  readonly folder: string;
  readonly decisions: OwnerDecisions;
  readonly role: () => Pick<
    RunningOrchestrator,
    "state" | "isMember" | "holdForOwner" | "dismiss" | "retryRound" | "changeSettings" | "stop"
  >;
  readonly tell: (record: RunRecord) => void;
  readonly saveSettings: (config: RunConfig) => Promise<void>;
  readonly later: (callback: () => void) => void;
}

export class RunOwner {
  readonly #options: RunOwnerOptions;
  readonly #removed: Set<string>;
  #isPaused: boolean;
  #stopsAfterRound = false;
  #turn: Promise<unknown> = Promise.resolve();
  hasStopped = false;

  constructor(options: RunOwnerOptions) {
    this.#options = options;
    this.#isPaused = options.decisions.isPaused;
    this.#removed = new Set(options.decisions.removed);
  }

  begin(): void {
    if (!this.#isPaused) return;
    this.#options.tell({ type: "ownerActed", action: "pause" });
    this.#options.role().holdForOwner(true);
  }

  /** Null: not removed. */
  check(node: NodeId): Fault | null {
    return this.#removed.has(node) ? removalOf(node) : null;
  }

  onRecord({ type }: RunRecord): void {
    if (type === "roundMerged" && this.#stopsAfterRound) this.#options.later(() => this.#stop());
  }

  act(request: OwnerRequest): Promise<Parsed<string>> {
    const acted = this.#turn.then(() => this.#act(request));
    this.#turn = acted.catch(() => "its caller gets the error");
    return acted;
  }

  async #act(request: OwnerRequest): Promise<Parsed<string>> {
    switch (request.action) {
      case "pause":
      case "resume":
        return await this.#pause(request.action);
      case "kick":
        return await this.#kick(request.node);
      case "admit":
        return await this.#admit(request.node);
      case "rate":
        return await this.#setRate(request.learningRate);
      case "stop":
      case "stopAfterRound":
        return this.#stopSoon(request.action);
    }
  }

  async #pause(action: "pause" | "resume"): Promise<Parsed<string>> {
    const isPaused = action === "pause";
    if (!isPaused && !this.#isPaused && this.#options.role().retryRound()) {
      this.#options.tell({ type: "ownerActed", action });
      return parsed("The run repeats the round that was lost");
    }
    if (isPaused === this.#isPaused) {
      return refused(
        "wrongPhase",
        `Cannot ${action} the run: its owner ${isPaused ? "has already paused it" : "has not paused it"}`,
      );
    }
    await this.#keep({ isPaused });
    this.#options.tell({ type: "ownerActed", action });
    this.#options.role().holdForOwner(isPaused);
    return parsed(isPaused ? "The run is paused; iota admin resume lets it go on" : "The run goes on");
  }

  async #kick(text: string): Promise<Parsed<string>> {
    const role = this.#options.role();
    const connected = role.isMember(nodeId(text)) ? [text] : []; // it may still wait for a place
    const found = nodeNamed(text, { nodes: [...connected, ...role.state.members.keys()], which: "member of the run" });
    if (!found.ok) return found;
    const node = found.value;
    await this.#keep({ removed: [...this.#removed, node] });
    this.#options.tell({ type: "ownerActed", action: "kick", node });
    this.#options.role().dismiss(node, { fault: removalOf(node), reason: "the run's owner removed it" });
    return parsed(
      `${node} is removed${this.#isPaused ? " as soon as the run goes on" : ""}; iota admin admit lets it join again`,
    );
  }

  async #admit(text: string): Promise<Parsed<string>> {
    const found = nodeNamed(text, { nodes: this.#removed, which: "node that the owner has removed" });
    if (!found.ok) return found;
    const node = found.value;
    await this.#keep({ removed: [...this.#removed].filter((other) => other !== node) });
    this.#options.tell({ type: "ownerActed", action: "admit", node });
    return parsed(`${node} may join again`);
  }

  async #setRate(learningRate: number): Promise<Parsed<string>> {
    const { tell, role, saveSettings } = this.#options;
    const { config } = role().state;
    const from = config.train.learningRate;
    if (from === learningRate) {
      return refused("wrongPhase", `The learning rate is ${from} already`);
    }
    const changed = withChanges(config, [{ path: "train.learningRate", from, to: learningRate }]);
    const broken = brokenRules(changed).find(({ fields }) => fields.includes("train.learningRate"));
    if (broken !== undefined) return refused("badNumbers", `Cannot set the learning rate: ${broken.text}`);
    await saveSettings(changed);
    tell({ type: "ownerActed", action: "rate", learningRate });
    role().changeSettings(changesBetween(config, changed));
    return parsed(`The peak learning rate is ${learningRate} from the next step on; it was ${from}`);
  }

  #stopSoon(action: "stop" | "stopAfterRound"): Parsed<string> {
    this.#options.tell({ type: "ownerActed", action });
    if (action === "stop") this.#options.later(() => this.#stop());
    else this.#stopsAfterRound = true;
    return parsed(
      action === "stop"
        ? "The orchestrator stops; its nodes wait for it"
        : "The orchestrator stops when the open round is merged; its nodes wait for it",
    );
  }

  #stop(): void {
    this.hasStopped = true;
    this.#options.role().stop("the run's owner stopped it");
  }

  async #keep(change: Partial<OwnerDecisions>): Promise<void> {
    const decisions = { isPaused: this.#isPaused, removed: [...this.#removed], ...change };
    await writeOwnerDecisions(this.#options.folder, decisions);
    this.#isPaused = decisions.isPaused;
    this.#removed.clear();
    for (const node of decisions.removed) this.#removed.add(node);
  }
}

const removalOf = (node: NodeId): Fault => fault("notAdmitted", `Cannot admit ${node}: the run's owner has removed it`);
