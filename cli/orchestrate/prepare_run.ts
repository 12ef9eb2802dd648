/**
 * Prepares what a planned run needs once its port is open: folder, files, text, the orchestrator's hotkey.
 *
 * Owns: the order of the first writes. A folder with run.toml counts as a run, so that file is written last.
 */

import type { CommandContext } from "../command.ts";
import type { Dataset } from "../data/dataset.ts";
import { prepareDataset } from "../data/prepare_dataset.ts";
import { openRunFolder, removeRun } from "../run_folder.ts";
import { type HubKey, openHubKey } from "./hub_key.ts";
import { optionsToKeep } from "./kept_options.ts";
import { describeRun, describeText, type TextFacts } from "./describe_run.ts";
import { type RunPlan, sayChanges } from "./plan_run.ts";
import { refuseWhileHeld } from "./recover_run.ts";
import { changedRunText, readRunText, runText, writeRunText } from "./run_text.ts";
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
  await makeRunFolder(plan);
  const key = await openHubKey(context, plan);
  output.event({ type: "config", config, step: found?.manifest.step ?? 0 });
  for (const line of describeRun(config)) output.line(line);
  sayChanges(context, changes);
  const { corpus, heldOutFraction, maxBytes } = config.data;
  const dataset = await prepareDataset({
    folder: `${path}/dataset`,
    corpus,
    vocabSize: config.model.vocabSize,
    heldOutFraction,
    maxBytes,
    seed: config.seed,
    isResumed,
  });
  const { train, bytesPerToken, unigramEntropy } = dataset.manifest;
  const text: TextFacts = { corpus, tokens: train.tokens, bytesPerToken, unigramEntropy };
  output.event({ type: "text", ...text });
  output.line(describeText(text));
  if (!isResumed) { // only once its text exists: a run that cannot start has no settings to keep
    await writeSavedRun(path, { runId, config, ...at, ...keptOf(context, key) });
    await writeRunText(path, runText(config, origins));
  }
  return { ...plan, dataset, key };
}

/** Saves a resumed run's new settings once its state is open, so that the next restart knows them. */
export async function saveResumedRun(
  context: CommandContext,
  { folder: { path, isResumed }, config, runId, changes, key }: PreparedRun,
  { at, step }: { at: ServedAt; step: number },
): Promise<void> {
  if (!isResumed) return;
  await writeSavedRun(path, { runId, config, ...at, ...keptOf(context, key) });
  if (changes.length === 0) return;
  await writeRunText(path, changedRunText(await readRunText(path), { config, changes, step }));
}

const keptOf = ({ options }: CommandContext, { signer, wallet }: HubKey) => ({
  hub: signer.address,
  options: optionsToKeep(options, wallet),
});
