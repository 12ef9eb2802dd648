/**
 * `iota generate`: newest whole checkpoint, all stages on one device, one sequence.
 *
 * Stages are opened for as many tokens as prompt and text have, if less than the model's context: attention is causal
 * and positions count from the first token, so the text is the same and each token costs less.
 */

import { openProgress } from "../../terminal/output/progress.ts";
import type { StageSpec } from "../../../core/model/spec.ts";
import { systemTimers } from "../../../net/timers.ts";
import type { StageCompute } from "../../../gpu/compute.ts";
import { planStage } from "../../../gpu/stage_plan.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { openModel } from "../source/open_model.ts";
import { type ModelSource, stagesOf } from "../source/model_source.ts";
import { UsageError } from "../../program/errors.ts";
import { byteSize } from "../../terminal/text/format.ts";
import { generateText, promptTokens } from "./generate_text.ts";
import type { ComputeHost } from "../../device/compute_host.ts";
import { openDevice } from "../../device/open_device.ts";

export interface SampleRequest {
  readonly model: string; // folder of a run, a checkpoint, an export or a Hugging Face Llama
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
  const model = options.text("model") ?? options.text("run") ?? options.text("data");
  if (model === undefined) {
    throw new UsageError("There is no run on this machine to generate from; --run must name the folder of one", {
      next: "Train one: iota swarm; or for example: --run runs/demo",
    });
  }
  const device = await openDevice(options.text("device"));
  const tokens = options.number("tokens") ?? 60;
  const progress = openProgress(output, "generating", "tokens");
  const startedMs = systemTimers.nowMs();
  try {
    const { text, trained } = await sampleModel(device, {
      model,
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
      const wallMs = systemTimers.nowMs() - startedMs;
      output.summary({ text, run: model, ...trained, device: device.adapter.name, wallMs });
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
  readonly trained: { readonly round: number; readonly step: number } | null; // null: not by a run of this machine
  readonly tokens: number;
}

export async function sampleModel(
  device: ComputeHost,
  request: SampleRequest,
  warn: (text: string) => void,
): Promise<Sample> {
  const source = await openModel(request.model, warn);
  const { tokenizer, trained } = source;
  const specs = specsFor(source, promptTokens(tokenizer, request.prompt).length + request.tokens);
  if (request.mostBytes !== undefined) await mustFit(specs, request.mostBytes);
  const stages = await openStages(device, { source, specs });
  let tokens = 0;
  request.onToken?.(0);
  const onToken = () => {
    tokens += 1;
    request.onToken?.(tokens);
  };
  const text = await generateText({ ...request, stages, tokenizer, onToken });
  for (const stage of stages) stage.close();
  return { text, tokens, trained: trained === null ? null : { round: trained.round, step: trained.step } };
}

async function openStages(
  device: ComputeHost,
  { source, specs }: { source: ModelSource; specs: readonly StageSpec[] },
): Promise<StageCompute[]> {
  const stages: StageCompute[] = [];
  for (const spec of specs) {
    const stage = await device.openStage(spec, { optimizer: null });
    await stage.loadParameters(await source.readStage(spec));
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

function specsFor(source: ModelSource, tokens: number): StageSpec[] {
  const most = source.plan.model.contextLength;
  const contextLength = Math.min(most, contextUnit * Math.ceil(tokens / contextUnit));
  return stagesOf(source, { sequences: 1, contextLength });
}
