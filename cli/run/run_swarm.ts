/**
 * `iota swarm`: starts the orchestrator, then every miner and validator, as processes of their own on loopback; shows the run;
 * ends with a sample of the model's text.
 *
 * Owns the children: whatever ends the swarm (the run is over, Ctrl-C, an orchestrator that failed) ends them too. A miner that
 * dies while training is the run's problem, not the swarm's: the others go on.
 */

import { createHotkey, hotkeyExists } from "../../chain/wallet/hotkey_files.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { modelParameters } from "../../core/config/derive.ts";
import { splitLayers } from "../../core/model/stages.ts";
import type { RunRecord } from "../../core/protocol/record.ts";
import { systemTimers } from "../../net/timers.ts";
import type { CommandContext } from "../command.ts";
import { UserError } from "../errors.ts";
import { openRunFolder } from "../run_folder.ts";
import { resolveRun, runWords } from "../run_options.ts";
import { openRunScreen, type RunScreen } from "../screen/run_screen.ts";
import { newRunView, type WireCost } from "../screen/view.ts";
import { type Child, lastLines, startChild } from "./child.ts";
import { describeRun, describeText, type TextFacts } from "./describe_run.ts";
import { sampleRun } from "./run_generate.ts";
import { openDevice } from "./run_node.ts";

const nodesLeaveMs = 10_000; // after the orchestrator has ended

type Line = Record<string, unknown>;

export async function runSwarm(context: CommandContext): Promise<number> {
  const startedMs = systemTimers.nowMs();
  const interruption = context.interruption();
  if (!context.options.flag("resume")) await resolveRun(context); // wrong options fail before anything starts
  const folder = (await openRunFolder(context)).path;
  const swarm = new Swarm(context, { folder, startedMs });
  const onAbort = () => swarm.interrupt();
  interruption.addEventListener("abort", onAbort);
  if (interruption.aborted) return 1;
  const exitCode = await swarm.run();
  const summary = swarm.summary();
  if (interruption.aborted) {
    const next = summary["checkpoint"] === null ? "no checkpoint yet, begin anew with" : "go on with";
    const flag = summary["checkpoint"] === null ? "--fresh" : "--resume";
    context.output.log.warn(`Stopped after step ${summary["steps"]}; ${next}: iota swarm --data ${folder} ${flag}`);
  }
  if (exitCode === 0 && !interruption.aborted) summary["sample"] = await writeSample(context, folder);
  summary["wallMs"] = systemTimers.nowMs() - startedMs;
  const { sample: _, ...table } = summary;
  context.output.summary(context.output.mode === "json" ? summary : table); // people have seen the text
  await Deno.writeTextFile(`${folder}/summary.json`, `${JSON.stringify(summary, null, 2)}\n`);
  return exitCode;
}

/** What the trained model writes; for people it is shown before the table. */
async function writeSample({ options, output }: CommandContext, run: string): Promise<string | null> {
  const tokens = options.number("sample-tokens") ?? 60;
  if (tokens === 0) return null;
  const prompt = options.text("prompt") ?? "";
  const device = await openDevice(options.text("device"));
  try {
    const sampling = { temperature: 0.7, topK: 40, seed: 1 };
    const { text } = await sampleRun(
      device,
      { run, prompt, tokens, ...sampling },
      (warning) => output.log.warn(warning),
    );
    output.line("");
    output.line(`${output.paint.bold(prompt)}${text}`);
    output.line("");
    return `${prompt}${text}`;
  } finally {
    await device.finish();
  }
}

class Swarm {
  readonly #context: CommandContext;
  readonly #folder: string;
  readonly #startedMs: number;
  readonly #nodes: Child[] = [];
  readonly #nodeErrors = new Map<string, UserError>();
  #orchestrator: Child | null = null;
  #config: RunConfig | null = null;
  #screen: RunScreen | null = null;
  #summary: Line | null = null;
  #device = "";
  #firstStepAtMs: number | null = null;
  #isTraining = false;
  #isEnding = false;
  #failure: unknown = null;

  constructor(context: CommandContext, { folder, startedMs }: { folder: string; startedMs: number }) {
    this.#context = context;
    this.#folder = folder;
    this.#startedMs = startedMs;
  }

  async run(): Promise<number> {
    const { options } = this.#context;
    const logFolder = `${this.#folder}/logs`;
    await Deno.mkdir(logFolder, { recursive: true });
    const orchestrator = startChild({
      name: "orchestrator",
      words: [
        "orchestrate",
        ...runWords(this.#context),
        "--data",
        this.#folder,
        "--port",
        `${options.number("port") ?? 0}`,
      ],
      logFolder,
      onLine: (line) => this.#onLine(line),
    });
    this.#orchestrator = orchestrator;
    const exitCode = await orchestrator.ended;
    this.#isEnding = true;
    this.#screen?.close();
    await this.#endNodes();
    if (this.#failure !== null) throw this.#failure;
    if (this.#summary === null) throw await failureOf(orchestrator);
    return exitCode;
  }

  /** The orchestrator tells the nodes; its own end brings everything down. */
  interrupt(): void {
    this.#isEnding = true;
    this.#context.output.log.info("Stopping: the nodes hand their work back");
    this.#orchestrator?.kill("SIGINT");
  }

  summary(): Line {
    const { type: _, ...fields } = this.#summary ?? {};
    const firstLossMs = this.#firstStepAtMs === null ? null : this.#firstStepAtMs - this.#startedMs;
    return { ...fields, firstLossMs, device: this.#device, sample: null };
  }

  #onLine(line: Line): void {
    switch (line["type"]) {
      case "config":
        this.#screen = this.#openScreen(line["config"] as RunConfig);
        return;
      case "text":
        this.#context.output.line(describeText(line as unknown as TextFacts));
        return;
      case "listening":
        this.#context.output.event({ type: "listening", url: String(line["url"]) });
        this.#startNodes(String(line["url"])).catch((error) => this.#fail(error));
        return;
      case "summary":
        this.#summary = line;
        return;
      case "wire":
        this.#screen?.wire(line as unknown as WireCost);
        return;
      case "error":
        this.#failure ??= errorOf(line);
        return;
      default:
        return this.#onRecord(line as unknown as RunRecord);
    }
  }

  #onRecord(record: RunRecord): void {
    if (record.type === "runStarted") this.#isTraining = true;
    if (record.type === "stepClosed") this.#firstStepAtMs ??= systemTimers.nowMs();
    if (record.type === "nodeJoined" && this.#device === "") {
      this.#device = record.adapter;
      if (this.#screen !== null) this.#screen.view.facts = { ...this.#screen.view.facts, device: record.adapter };
    }
    this.#screen?.record(record);
  }

  #openScreen(config: RunConfig): RunScreen {
    const { output } = this.#context;
    const view = newRunView({
      command: "swarm",
      run: config.name,
      size: config.size,
      parameters: modelParameters(config.model),
      device: this.#device,
      steps: config.train.steps,
      stepsPerRound: config.train.stepsPerRound,
      layersOfStages: splitLayers(config),
    }, this.#startedMs);
    this.#config = config;
    for (const text of describeRun(config)) output.line(text);
    return openRunScreen({ output, view, nowMs: () => systemTimers.nowMs() });
  }

  async #startNodes(url: string): Promise<void> {
    const config = this.#config;
    if (config === null) return;
    const miners = config.pipeline.stages * config.swarm.replicas;
    for (let i = 0; i < miners; i++) await this.#startNode("miner", { name: `miner-${i}`, url });
    for (let i = 0; i < config.swarm.validators; i++) {
      await this.#startNode("validate", { name: `validator-${i}`, url });
    }
  }

  async #startNode(command: "miner" | "validate", { name, url }: { name: string; url: string }): Promise<void> {
    if (this.#isEnding) return;
    const wallets = `${this.#folder}/wallets`;
    const place = { folder: wallets, wallet: name, hotkey: "default" };
    if (!await hotkeyExists(place)) await createHotkey(place);
    const device = this.#context.options.text("device") ?? "auto";
    const child = startChild({
      name,
      words: [
        command,
        "--orchestrator",
        url,
        "--wallet",
        name,
        "--wallet-path",
        wallets,
        "--data",
        this.#folder,
        "--device",
        device,
      ],
      logFolder: `${this.#folder}/logs`,
      onLine: (line) => {
        if (line["type"] === "error") this.#nodeErrors.set(name, errorOf(line));
      },
    });
    this.#nodes.push(child);
    this.#context.output.event({ type: "nodeStarted", name, role: command, pid: child.pid });
    child.ended.then((code) => this.#onNodeEnded(child, code), (error) => this.#fail(error));
  }

  async #onNodeEnded(child: Child, code: number): Promise<void> {
    if (this.#isEnding || code === 0) return;
    const error = this.#nodeErrors.get(child.name) ?? await failureOf(child);
    if (this.#isTraining) this.#context.output.log.warn(`${child.name} ended with code ${code}: ${error.message}`);
    else this.#fail(error);
  }

  #fail(error: unknown): void {
    this.#failure ??= error;
    this.#isEnding = true;
    this.#orchestrator?.kill("SIGTERM");
  }

  async #endNodes(): Promise<void> {
    const all = Promise.all(this.#nodes.map((node) => node.ended));
    const cancel = systemTimers.after(nodesLeaveMs, () => {
      for (const node of this.#nodes) node.kill("SIGKILL");
    });
    const isEarly = this.#failure !== null || this.#summary?.["finished"] !== true;
    if (isEarly) { for (const node of this.#nodes) node.kill("SIGTERM"); } // some still look for the orchestrator
    await all;
    cancel();
  }
}

/** A child's last word in --json mode. */
function errorOf(line: Line): UserError {
  const next = line["next"];
  return new UserError(String(line["message"]), typeof next === "string" ? { next } : {});
}

async function failureOf(child: Child): Promise<UserError> {
  const text = await lastLines(child.logPath);
  return new UserError(`The ${child.name} ended early: ${text === "" ? "it left no log" : text}`, {
    next: `Its log: ${child.logPath}`,
  });
}
