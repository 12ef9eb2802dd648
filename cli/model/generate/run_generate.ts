/**
 * `iota generate`: newest whole checkpoint, all stages on one device, one sequence.
 *
 * Stages are opened for as many tokens as prompt and text have, if less than the model's context: attention is causal
 * and positions count from the first token, so the text is the same and each token costs less.
 */

import { openProgress } from "../../terminal/output/progress.ts";
import { splitLayers } from "../../../core/model/stages.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../../core/model/spec.ts";
import type { RunConfig } from "../../../core/config/config.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { planStage } from "../../../gpu/stage_plan.ts";
import { type FoundCheckpoint, latestCheckpoint, readStage } from "../checkpoint/checkpoint.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { readTokenizer } from "../data/tokenizer_file.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { byteSize } from "../../terminal/text/format.ts";
import { generateText, promptTokens } from "./generate_text.ts";
import { shellWord } from "../../program/shell_words.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import { openDevice } from "../../device/open_device.ts";

export interface SampleRequest {
  readonly run: string; // folder
  readonly prompt: string;
  readonly tokens: number;
  readonly temperature: number;
  readonly topK: number;
  readonly seed: number;
  /** Of all stages together; a larger model throws a `ModelTooLarge`. @default what the device can hold */
  readonly mostBytes?: number;
  readonly onToken?: (made: number) => void;
  readonly goesOn?: () => boolean;
}

export async function runGenerate(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const run = options.text("run") ?? options.text("data");
  if (run === undefined) {
    throw new UsageError("There is no run on this machine to generate from; --run must name the folder of one", {
      next: "Train one: iota swarm; or for example: --run runs/demo",
    });
  }
  const device = await openDevice(options.text("device"));
  const tokens = options.number("tokens") ?? 60;
  const progress = openProgress(output, "generating", "tokens");
  const startedMs = systemTimers.nowMs();
  try {
    const { text, round, step } = await sampleRun(device, {
      run,
      prompt: options.text("prompt") ?? "",
      tokens,
      onToken: (made) => progress.at(made, tokens),
      temperature: options.number("temperature") ?? 0.8,
      topK: options.number("top-k") ?? 40,
      seed: options.number("seed") ?? 1,
    }, (warning) => output.log.warn(warning));
    progress.close();
    output.line(`${options.text("prompt") ?? ""}${text}`);
    if (output.mode === "json") {
      output.summary({ text, run, round, step, device: device.adapter.name, wallMs: systemTimers.nowMs() - startedMs });
    }
    return 0;
  } finally {
    await device.finish();
  }
}

export class ModelTooLarge extends Error {
  override name = "ModelTooLarge";
}

export interface Sample {
  readonly text: string;
  readonly round: number;
  readonly step: number;
  readonly tokens: number;
}

export async function sampleRun(
  device: ComputeHost,
  request: SampleRequest,
  warn: (text: string) => void,
): Promise<Sample> {
  const found = await latestCheckpoint(`${request.run}/checkpoints`, warn);
  if (found === null) {
    const outer = runAround(request.run);
    const isFile = await Deno.stat(request.run).then((info) => info.isFile, () => false);
    throw new UserError(`Cannot generate: '${request.run}' holds no complete checkpoint`, {
      next: isFile
        ? "That is a file: name the folder of a run, which iota swarm and iota orchestrate print and fill"
        : outer === undefined
        ? `Train one: iota swarm --data ${shellWord(request.run)}`
        : `Name the run's own folder: --run ${shellWord(outer)}`,
    });
  }
  const tokenizer = await readTokenizer(`${request.run}/dataset/tokenizer.json`, found.manifest.tokenizerHash);
  const specs = specsFor(found.manifest.config, promptTokens(tokenizer, request.prompt).length + request.tokens);
  if (request.mostBytes !== undefined) await mustFit(specs, request.mostBytes);
  const stages = await openStages(device, { found, specs });
  let tokens = 0;
  request.onToken?.(0);
  const onToken = () => {
    tokens += 1;
    request.onToken?.(tokens);
  };
  const text = await generateText({ ...request, stages, tokenizer, onToken });
  for (const stage of stages) stage.close();
  return { text, tokens, round: found.manifest.round, step: found.manifest.step };
}

/** The run whose checkpoint, or folder of checkpoints, was named in its place. Only the run's folder may be read. */
const runAround = (folder: string): string | undefined => /^(.+?)\/checkpoints(\/[^/]*)?\/?$/.exec(folder)?.[1];

async function openStages(
  device: ComputeHost,
  { found, specs }: { found: FoundCheckpoint; specs: readonly StageSpec[] },
): Promise<StageCompute[]> {
  const stages: StageCompute[] = [];
  for (const spec of specs) {
    const stage = await device.openStage(spec, { optimizer: null });
    await stage.loadParameters(
      await readStage({ folder: found.folder, stage: spec.index, table: parameterTable(spec) }),
    );
    stages.push(stage);
  }
  return stages;
}

async function mustFit(specs: readonly StageSpec[], mostBytes: number): Promise<void> {
  let bytes = 0;
  for (const spec of specs) bytes += (await planStage(spec, "cpu", { optimizer: null })).bytes;
  if (bytes > mostBytes) {
    throw new ModelTooLarge(`the model takes ${byteSize(bytes)} to compute, of at most ${byteSize(mostBytes)}`);
  }
}

const contextUnit = 8; // tokens, as in core/config/knobs.ts

function specsFor(config: RunConfig, tokens: number): StageSpec[] {
  const { contextLength: most } = config.model;
  const contextLength = Math.min(most, contextUnit * Math.ceil(tokens / contextUnit));
  return stageSpecs(config, splitLayers(config)).map((spec) => ({
    ...spec,
    sequences: 1,
    model: { ...spec.model, contextLength },
  }));
}
