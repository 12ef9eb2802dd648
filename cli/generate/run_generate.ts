/**
 * `iota generate`, from the command line to the text: newest whole checkpoint, all stages on one device, one sequence.
 */

import { splitLayers } from "../../core/model/stages.ts";
import { parameterTable, type StageSpec, stageSpecs } from "../../core/model/spec.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { systemTimers } from "../../net/timers.ts";
import type { StageCompute } from "../../gpu/compute.ts";
import { type FoundCheckpoint, latestCheckpoint, readStage } from "../checkpoint/checkpoint.ts";
import type { CommandContext } from "../command.ts";
import { readTokenizer } from "../data/tokenizer_file.ts";
import { UsageError, UserError } from "../output/errors.ts";
import { generateText } from "./generate_text.ts";
import { shellWord } from "../shell_words.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import { openDevice } from "../roles/open_device.ts";

export interface SampleRequest {
  readonly run: string; // folder
  readonly prompt: string;
  readonly tokens: number;
  readonly temperature: number;
  readonly topK: number;
  readonly seed: number;
  readonly onText?: (text: string) => void;
}

export async function runGenerate(context: CommandContext): Promise<number> {
  const { options, output } = context;
  const run = options.text("run") ?? options.text("data");
  if (run === undefined) {
    throw new UsageError("Cannot generate as --run must name the folder of a run", {
      next: "For example: --run runs/demo",
    });
  }
  const device = await openDevice(options.text("device"));
  const startedMs = systemTimers.nowMs();
  try {
    const { text, round, step } = await sampleRun(device, {
      run,
      prompt: options.text("prompt") ?? "",
      tokens: options.number("tokens") ?? 60,
      temperature: options.number("temperature") ?? 0.8,
      topK: options.number("top-k") ?? 40,
      seed: options.number("seed") ?? 1,
    }, (warning) => output.log.warn(warning));
    output.line(`${options.text("prompt") ?? ""}${text}`);
    if (output.mode === "json") {
      output.summary({ text, round, step, device: device.adapter.name, wallMs: systemTimers.nowMs() - startedMs });
    }
    return 0;
  } finally {
    await device.finish();
  }
}

export interface Sample {
  readonly text: string; // without the prompt
  readonly round: number;
  readonly step: number;
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
    throw new UserError(`Cannot generate as '${request.run}' must hold a whole checkpoint`, {
      next: isFile
        ? "That is a file: name the folder of a run, which iota swarm and iota orchestrate print and fill"
        : outer === undefined
        ? `Train one: iota swarm --data ${shellWord(request.run)}`
        : `Name the run's own folder: --run ${shellWord(outer)}`,
    });
  }
  const tokenizer = await readTokenizer(`${request.run}/dataset/tokenizer.json`);
  const stages = await openStages(device, found);
  const text = await generateText({ ...request, stages, tokenizer });
  for (const stage of stages) stage.close();
  return { text, round: found.manifest.round, step: found.manifest.step };
}

/** The run whose checkpoint, or folder of checkpoints, was named in its place: by its name, as only that folder may be read. */
const runAround = (folder: string): string | undefined => /^(.+?)\/checkpoints(\/[^/]*)?\/?$/.exec(folder)?.[1];

async function openStages(device: ComputeHost, found: FoundCheckpoint): Promise<StageCompute[]> {
  const stages: StageCompute[] = [];
  for (const spec of singleSequence(found.manifest.config)) {
    const stage = await device.openStage(spec);
    await stage.loadParameters(
      await readStage({ folder: found.folder, stage: spec.index, table: parameterTable(spec) }),
    );
    stages.push(stage);
  }
  return stages;
}

function singleSequence(config: RunConfig): StageSpec[] {
  return stageSpecs(config, splitLayers(config)).map((spec) => ({ ...spec, sequences: 1 }));
}
