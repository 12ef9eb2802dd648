/**
 * Performs a chaos plan on a swarm's processes with real signals, when the run's records make an action due. It spares
 * processes that end or are being replaced.
 */

import type { RunRecord } from "../../core/protocol/record.ts";
import type { ChaosAction, ChaosPlan } from "./chaos/plan.ts";
import { type ChaosSchedule, drawTarget, dueActions, openSchedule } from "./chaos/schedule.ts";
import type { SupervisedProcess } from "./supervised_process.ts";
import type { NodeRole, SwarmNodes } from "./swarm_nodes.ts";

/** Published field names stay. */
export interface ChaosReport {
  readonly action: ChaosAction["type"];
  readonly step: number;
  readonly target: string | null; // "miner-3"; null when there was none
  readonly pid: number | null;
  readonly newPid: number | null; // of the replacement or the added process
  readonly text: string;
}

interface SwarmChaosOptions {
  readonly plan: ChaosPlan;
  readonly seed: number;
  readonly steps: number;
  readonly orchestrator: SupervisedProcess;
  readonly nodes: SwarmNodes;
  readonly report: (report: ChaosReport) => void;
  readonly onFailure: (error: unknown) => void;
}

const maxMiners = 256; // processes on this machine

export class SwarmChaos {
  minersKilled = 0;
  orchestratorKills = 0;
  readonly #options: SwarmChaosOptions;
  readonly #schedule: ChaosSchedule;
  #step = 0;

  constructor(options: SwarmChaosOptions) {
    this.#options = options;
    this.#schedule = openSchedule(options.plan, options.seed);
  }

  onRecord(record: RunRecord): void {
    if (record.type === "runStarted" || record.type === "stepClosed") this.#step = record.step;
    const actions = dueActions(this.#schedule, record);
    if (record.type === "roundMerged" && this.#step >= this.#options.steps) return;
    for (const action of actions) this.#perform(action).catch(this.#options.onFailure);
  }

  /** Choosing and signalling are synchronous, so two simultaneous actions never hit the same process. */
  async #perform(action: ChaosAction): Promise<void> {
    switch (action.type) {
      case "kill-miner":
        return await this.#kill(action, this.#target("miner", action.index));
      case "kill-validator":
        return await this.#kill(action, this.#target("validator", action.index));
      case "kill-orchestrator": {
        const { orchestrator } = this.#options;
        return await this.#kill(action, orchestrator.isRunning ? orchestrator : null);
      }
      case "stop-miner":
        return this.#stop(action, this.#target("miner", action.index));
      case "pause-miner":
        return this.#pause(action, this.#target("miner", action.index));
      case "add-miner":
        return await this.#add(action);
    }
  }

  #target(role: NodeRole, index: number | null): SupervisedProcess | null {
    const { nodes } = this.#options;
    const running = nodes.running(role);
    const named = index === null ? drawTarget(this.#schedule, running) : `${role}-${index}`;
    return named === null || !running.includes(named) ? null : nodes.process(named);
  }

  async #kill(action: ChaosAction, target: SupervisedProcess | null): Promise<void> {
    if (target === null) return this.#reportNone(action);
    const step = this.#step;
    const { name, pid } = target;
    if (action.type === "kill-miner") this.minersKilled += 1;
    if (action.type === "kill-orchestrator") this.orchestratorKills += 1;
    const newPid = await target.kill();
    const after = newPid === null ? "not restarted as it was leaving" : `restarted as pid ${newPid}`;
    const text = `step ${step}: killed ${name} (pid ${pid}), ${after}`;
    this.#options.report({ action: action.type, step, target: name, pid, newPid, text });
  }

  #stop(action: ChaosAction, target: SupervisedProcess | null): void {
    if (target === null) return this.#reportNone(action);
    const { name, pid } = target;
    target.letGo("SIGTERM");
    this.#report(action, { target: name, pid, text: `asked ${name} (pid ${pid}) to leave` });
  }

  #pause(action: Extract<ChaosAction, { type: "pause-miner" }>, target: SupervisedProcess | null): void {
    if (target === null) return this.#reportNone(action);
    const { name, pid } = target;
    this.#options.nodes.pause(name, action.seconds * 1000);
    this.#report(action, { target: name, pid, text: `paused ${name} (pid ${pid}) for ${action.seconds} s` });
  }

  async #add(action: ChaosAction): Promise<void> {
    const { nodes } = this.#options;
    if (nodes.count("miner") >= maxMiners) {
      const text = `added no miner as a swarm has at most ${maxMiners}`;
      return this.#report(action, { target: null, pid: null, text });
    }
    const step = this.#step;
    const added = nodes.add("miner");
    const newPid = await added.nextPid();
    const text = `step ${step}: added ${added.name} (pid ${newPid ?? "none"})`;
    this.#options.report({ action: action.type, step, target: added.name, pid: null, newPid, text });
  }

  #reportNone(action: ChaosAction): void {
    const index = "index" in action && action.index !== null ? ` ${action.index}` : "";
    this.#report(action, { target: null, pid: null, text: `found nothing running for ${action.type}${index}` });
  }

  #report(action: ChaosAction, done: { target: string | null; pid: number | null; text: string }): void {
    const { target, pid, text } = done;
    const step = this.#step;
    this.#options.report({ action: action.type, step, target, pid, newPid: null, text: `step ${step}: ${text}` });
  }
}
