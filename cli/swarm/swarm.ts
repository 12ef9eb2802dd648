/**
 * A whole swarm as child processes, whose output becomes one run screen. Nodes start when the orchestrator first
 * listens; its final end ends the swarm.
 */

import type { RunConfig } from "../../core/config/config.ts";
import { nodeId } from "../../core/ids.ts";
import { splitLayers } from "../../core/model/stages.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import type { RecordOf } from "../../core/view/view_record.ts";
import { systemTimers } from "../../net/timers.ts";
import type { ChaosPlan } from "./chaos/plan.ts";
import { askOwnHub, pauseKey } from "../orchestrator/owner/pause_key.ts";
import type { OwnerRequest } from "../orchestrator/owner/owner_request.ts";
import type { CommandContext } from "../terminal/command.ts";
import { inviteText } from "../address/invite.ts";
import { joinCommand } from "../address/join_command.ts";
import { projectionConsumers } from "../orchestrator/run/consumers.ts";
import { Projection } from "../observe/projection/projection.ts";
import { describeText, sayRun, type TextFacts } from "../orchestrator/run/describe_run.ts";
import { runFacts } from "../orchestrator/run/run_facts.ts";
import { dashboardAt } from "../orchestrator/run/say_listening.ts";
import { type Death, type LastEnd, type Line, maxDeaths } from "./supervised_process.ts";
import { SwarmChain } from "./swarm_chain.ts";
import { type ChaosReport, SwarmChaos } from "./swarm_chaos.ts";
import { type LinkShape, linksText } from "./chaos/link_shape.ts";
import { type SwarmHub, SwarmNodes } from "./swarm_nodes.ts";
import { SwarmOrchestrator } from "./swarm_orchestrator.ts";
import { type ByteKind, noBytes } from "../../core/view/curves.ts";
import { SwarmTally } from "./swarm_tally.ts";

const askToStopMs = 300; // an orchestrator that was interrupted says so at once

interface SwarmOptions {
  readonly folder: string;
  readonly lockToken: string | null; // null: the folder's lock is not held
  readonly startedMs: number;
  readonly plan: ChaosPlan;
  readonly links: LinkShape | null; // null: plain loopback
  readonly nodeWords: readonly string[]; // --device and what goes with it
}

export class Swarm {
  readonly #context: CommandContext;
  readonly #options: SwarmOptions;
  readonly #nodes: SwarmNodes;
  readonly #tally = new SwarmTally();
  #orchestrator: SwarmOrchestrator | null = null;
  #config: RunConfig | null = null;
  #chaos: SwarmChaos | null = null;
  #chain: SwarmChain | null = null;
  #projection: Projection | null = null;
  #dashboard: string | null = null;
  #summary: Line | null = null;
  #device = "";
  #isTraining = false;
  #isInterrupted = false;
  #isOver = false;
  #failure: unknown = null;

  constructor(context: CommandContext, options: SwarmOptions) {
    this.#context = context;
    this.#options = options;
    this.#nodes = new SwarmNodes({
      folder: options.folder,
      nodeWords: options.nodeWords,
      links: options.links,
      chain: () => this.#chain,
      reachable: () => this.#orchestrator?.reachable() ?? Promise.resolve(),
      onStarted: ({ name, role, pid }) =>
        context.output.event({ type: "nodeStarted", name, role: role === "validator" ? "validate" : role, pid }),
      onRestart: (death) => this.#onRestart(death),
      onLost: (name, end) => this.#onNodeLost(name, end),
      onFailure: (error) => this.#fail(error),
    });
  }

  /** The orchestrator's exit code, or 1 unless it has finished. */
  async run(): Promise<number> {
    const { folder, lockToken } = this.#options;
    await Deno.mkdir(`${folder}/logs`, { recursive: true });
    if (this.#context.options.text("chain") !== "none") this.#chain = await this.#openChain(folder);
    const orchestrator = new SwarmOrchestrator({
      context: this.#context,
      folder,
      lockToken,
      onLine: (line) => this.#onLine(line),
      onRestart: (death) => this.#onRestart(death),
    });
    this.#orchestrator = orchestrator;
    if (this.#isInterrupted) orchestrator.process.letGo();
    try {
      const { code, error } = await orchestrator.ended;
      this.#failure ??= error;
      if (this.#failure !== null) throw this.#failure;
      return this.#summary?.["finished"] === true ? code : 1; // no summary if it was away
    } finally {
      this.#projection?.close();
      const isFinished = this.#failure === null && this.#summary?.["finished"] === true;
      if (isFinished && this.#chain !== null) this.#context.output.log.info("Sending the last weights");
      await this.#nodes.end({ isFinished });
      if (isFinished && !this.#isInterrupted) await this.#chain?.paid();
      await this.#chain?.close();
    }
  }

  #openChain(folder: string): Promise<SwarmChain> {
    const { output } = this.#context;
    return SwarmChain.open({
      folder,
      onEvent: (event) => output.event(event),
      onNews: (text) => this.#projection?.tell({ type: "noted", label: "chain", text }),
      onActivity: (activity) => this.#projection?.tell({ type: "chain", ...activity }),
      warn: (text) => output.log.warn(text),
      onFailure: (error) => this.#fail(error),
    });
  }

  /**
   * The orchestrator's end stops everything. A second Ctrl-C would cost its summary, so it is asked only if it has not
   * begun to stop.
   */
  interrupt(): void {
    this.#isInterrupted = true;
    this.#context.output.log.info("Stopping: what was merged is kept");
    this.#nodes.letGo();
    this.#orchestrator?.process.letGo();
    systemTimers.after(askToStopMs, () => {
      if (!this.#isOver) this.#orchestrator?.process.signal("SIGINT");
    });
  }

  get dashboard(): string | null {
    return this.#dashboard;
  }

  get #moved(): Record<ByteKind, number> {
    return this.#projection?.view.bytes ?? noBytes();
  }

  summary(): Record<string, unknown> {
    const { folder, startedMs } = this.#options;
    const { firstStepAtMs } = this.#tally;
    return {
      ...this.#tally.summary(this.#summary, { nowMs: systemTimers.nowMs(), moved: this.#moved }),
      run: folder,
      firstLossMs: firstStepAtMs === null ? null : firstStepAtMs - startedMs,
      minersKilled: this.#chaos?.minersKilled ?? 0,
      orchestratorKills: this.#chaos?.orchestratorKills ?? 0,
      restarts: this.#nodes.restarts + (this.#orchestrator?.process.restarts ?? 0),
      device: this.#device,
      links: this.#options.links === null ? null : linksText(this.#options.links),
      ...(this.#chain?.summary() ?? { chain: null, weightsSet: null, epochs: null, emission: null, burnedRao: null }),
      sample: null,
    };
  }

  #onLine(line: Line): void {
    switch (line["type"]) {
      case "config":
        if (this.#config === null) this.#begin(line["config"] as RunConfig, Number(line["step"]));
        return;
      case "text":
        if (this.#isTraining) return;
        for (const text of describeText(line as unknown as TextFacts)) this.#context.output.line(text);
        return;
      case "beganFrom": {
        const { type: _, lines, ...from } = line;
        this.#context.output.event({ type: "beganFrom", ...from });
        for (const text of lines as string[]) this.#context.output.line(text);
        return;
      }
      case "listening":
        return this.#onListening({ url: String(line["url"]), hub: String(line["hub"]), run: String(line["run"]) });
      case "takenUp":
        this.#tally.begin(Number(line["step"]));
        this.#projection?.tell({ type: "takenUp", step: Number(line["step"]), round: Number(line["round"]) });
        return;
      case "summary":
        this.#summary = line;
        return;
      case "textSampled":
        return this.#projection?.tell(line as unknown as RecordOf<"textSampled">);
      case "wire":
      case "bytesMoved":
        this.#projection?.keep(line as unknown as RecordOf<"wire" | "bytesMoved">); // no line of a swarm's own
        return;
      case "traffic":
        return this.#context.output.event({ ...line, type: "traffic" });
      case "error":
      case "settingChanged": // reported when the swarm began
        return;
      default:
        return this.#onRecord(line as unknown as RunRecord);
    }
  }

  /** `step`: of the newest checkpoint, until the journal is read. */
  #begin(config: RunConfig, step: number): void {
    const { output } = this.#context;
    this.#config = config;
    sayRun(output, config);
    const facts = runFacts({
      command: "swarm",
      device: this.#device,
      config,
      layersOfStages: splitLayers(config),
    });
    const act = async (request: OwnerRequest) => {
      if (this.#dashboard === null) return "Not yet: the orchestrator does not listen";
      return await askOwnHub({ folder: this.#options.folder, url: new URL(this.#dashboard).origin }, request);
    };
    const projection: Projection = new Projection({
      output,
      keys: [pauseKey({ isPaused: () => projection.view.isPausedByOwner, act })],
      opened: { facts, startedAtMs: this.#options.startedMs, step },
      nowMs: () => systemTimers.nowMs(),
      consumers: projectionConsumers,
    });
    this.#projection = projection;
  }

  #onListening(at: SwarmHub): void {
    const { output } = this.#context;
    this.#dashboard = dashboardAt(at.url);
    const invite = { socket: at.url, run: at.run, hub: nodeId(at.hub) };
    output.event({ type: "listening", ...at, invite: inviteText(invite), dashboard: dashboardAt(at.url) });
    const config = this.#config;
    const orchestrator = this.#orchestrator;
    if (config === null || orchestrator === null || this.#chaos !== null) return; // running nodes find it again by themselves
    output.line(`Dashboard: ${dashboardAt(at.url)}`);
    output.line(`Join with: ${joinCommand(invite, { chain: this.#chain?.place ?? null })}`);
    const { pipeline, seed, swarm, train } = config;
    this.#chaos = new SwarmChaos({
      plan: this.#options.plan,
      seed,
      steps: train.steps,
      orchestrator: orchestrator.process,
      nodes: this.#nodes,
      report: (report) => this.#onChaos(report),
      onFailure: (error) => this.#fail(error),
    });
    this.#nodes.start(at, { miner: pipeline.stages * swarm.replicas, validator: swarm.validators });
  }

  #onRecord(record: RunRecord): void {
    if (record.type === "runStarted" || record.type === "stepClosed") this.#isTraining = true;
    if (record.type === "runFinished") {
      this.#isOver = true;
      this.#nodes.letGo();
    }
    if (record.type === "nodeJoined" && this.#device === "") {
      this.#device = record.adapter;
      this.#projection?.tell({ type: "deviceFound", device: record.adapter });
    }
    this.#tally.onRecord(record, systemTimers.nowMs());
    this.#projection?.tell(record);
    this.#chaos?.onRecord(record);
  }

  #onChaos(report: ChaosReport): void {
    const { text, ...facts } = report;
    this.#context.output.event({ type: "chaos", ...facts, text });
    this.#projection?.tell({ type: "noted", label: "chaos", text });
  }

  #onRestart({ name, pid, code, count }: Death): void {
    const text = `${name} (pid ${pid}) died with code ${code} and is started again (${count} of ${maxDeaths} in a row)`;
    this.#context.output.event({ type: "processDied", name, pid, code, count });
    this.#context.output.log.warn(text);
  }

  #onNodeLost(name: string, { code, error }: LastEnd): void {
    const reason = error?.message ?? "it left";
    if (this.#isTraining || error === null) this.#context.output.log.warn(`${name} ended with code ${code}: ${reason}`);
    else this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#nodes.letGo();
    this.#orchestrator?.process.letGo("SIGTERM");
  }
}
