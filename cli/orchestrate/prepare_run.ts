/**
 * Prepares what a planned run needs once its port is open: folder, files, text, the orchestrator's hotkey.
 *
 * Owns: the order of the first writes. The text is read and checked before any of them. A folder with run.toml counts as
 * a run, so that file is written last; if it is lost later, a start writes it again.
 */

import { openProgress } from "../output/progress.ts";
import type { CommandContext } from "../command.ts";
import type { Dataset } from "../data/dataset.ts";
import { type DatasetPlan, planDataset } from "../data/prepare_dataset.ts";
import { openRunFolder, removeRun } from "../run_folder.ts";
import { type HubKey, openHubKey } from "./hub_key.ts";
import { optionsToKeep } from "./kept_options.ts";
import { describeText, sayRun, type TextFacts } from "./describe_run.ts";
import { type RunPlan, sayChanges } from "./plan_run.ts";
import { refuseWhileHeld } from "./recover_run.ts";
import { changedRunText, readRunText, restoredRunText, runText, writeRunText } from "./run_text.ts";
import { writeSavedRun } from "./saved_run.ts";

export interface PreparedRun extends RunPlan {
  readonly dataset: Dataset;
  readonly key: HubKey;
}

/** Where the run is served from. */
export interface ServedAt {
  readonly host: string;
  readonly port: number;
}

/** Refuses a text that the run could not use; only reads. */
export async function mustHaveText(plan: Pick<RunPlan, "folder" | "config" | "origins">): Promise<void> {
  if (!plan.folder.isResumed && suitsBySize(plan)) return;
  await planText(plan);
}

/** Every size is made for the built-in text, so that this need not be cut and counted again. */
const suitsBySize = ({ config, origins }: Pick<RunPlan, "config" | "origins">): boolean =>
  config.data.corpus === "sotu" &&
  textSettings.every((path) => origins[path] === "size" || origins[path] === "default");

const textSettings = ["model.vocabSize", "model.contextLength", "data.heldOutFraction", "data.maxBytes"] as const;

/** The plan's folder, emptied if planned. */
export async function makeRunFolder({ folder: { path }, deletes }: RunPlan): Promise<void> {
  if (deletes) {
    refuseWhileHeld(path);
    await removeRun(path);
  }
  await openRunFolder(path);
}

export async function prepareRun(context: CommandContext, plan: RunPlan, at: ServedAt): Promise<PreparedRun> {
  const { output } = context;
  const { folder: { path, isResumed }, config, origins, runId, changes, found } = plan;
  output.event({ type: "config", config, step: found?.manifest.step ?? 0 });
  sayRun(output, config);
  const { corpus } = config.data;
  const text = await planText(plan); // refuses a text that the run could not use
  await makeRunFolder(plan);
  const key = await openHubKey(context, plan);
  if (changes.length > 0) refuseWhileHeld(path); // before it says that a running orchestrator's settings changed
  sayChanges(context, changes);
  const progress = openProgress(output, "turning the text into tokens", "characters");
  const dataset = await text.write((done, total) => progress.at(done, total)).finally(() => progress.close());
  const facts = textFacts(dataset, corpus);
  output.event({ type: "text", ...facts });
  for (const line of describeText(facts)) output.line(line);
  if (!isResumed) {
    await writeSavedRun(path, { runId, config, ...at, ...keptOf(context, key) });
    await writeRunText(path, runText(config, origins));
  }
  return { ...plan, dataset, key };
}

function textFacts({ manifest }: Dataset, corpus: string): TextFacts {
  const { source, request, train, heldOut, bytesPerToken, unigramEntropy } = manifest;
  const use = source === undefined ? null : {
    ...source,
    trainingBytes: train.textBytes,
    heldOutBytes: heldOut.textBytes,
    maxBytes: request.maxBytes,
  };
  return { corpus, tokens: train.tokens, bytesPerToken, unigramEntropy, use };
}

/** Only reads. */
function planText({ folder: { path, isResumed }, config }: Pick<RunPlan, "folder" | "config">): Promise<DatasetPlan> {
  const { data: { corpus, heldOutFraction, maxBytes }, model: { vocabSize, contextLength }, seed } = config;
  const folder = `${path}/dataset`;
  return planDataset({ folder, corpus, vocabSize, contextLength, heldOutFraction, maxBytes, seed, isResumed });
}

/** Saves a resumed run's new settings once its state is open, so that the next restart knows them. */
export async function saveResumedRun(
  context: CommandContext,
  { folder: { path, isResumed }, config, runId, changes, key }: PreparedRun,
  { at, step }: { at: ServedAt; step: number },
): Promise<void> {
  if (!isResumed) return;
  await writeSavedRun(path, { runId, config, ...at, ...keptOf(context, key) });
  const text = await readRunText(path);
  if (changes.length === 0 && text !== "") return;
  await writeRunText(path, changedRunText(text === "" ? restoredRunText(config) : text, { config, changes, step }));
}

const keptOf = ({ options }: CommandContext, { signer, wallet }: HubKey) => ({
  hub: signer.address,
  options: optionsToKeep(options, wallet),
});
