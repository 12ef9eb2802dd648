/**
 * Prepares a planned run once its port is open. The text is checked before the first write, and all writes are made
 * behind the folder's lock. run.toml makes a folder a run, so it is written last.
 */

import type { RunConfig } from "../../../core/config/config.ts";
import { passesOver } from "../../../core/data/microbatch.ts";
import { openProgress } from "../../terminal/output/progress.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { type Dataset, openDatasetTokenizer } from "../../model/data/dataset.ts";
import { type DatasetPlan, planDataset } from "../../model/prepare/plan_dataset.ts";
import { mustBeTokenizerOf } from "../../model/data/tokenizer_file.ts";
import { restage } from "../../model/checkpoint/restage.ts";
import { writeFirstRound } from "../../model/source/first_round.ts";
import { UserError } from "../../program/errors.ts";
import { folderMark, openRunFolder, putRunAside } from "../../files/run_folder.ts";
import { type HubKey, openHubKey } from "./hub_key.ts";
import { optionsToKeep } from "../../files/kept_options.ts";
import { type AskedLock, type FolderLock, lockFolder } from "../../files/folder_lock.ts";
import { handedToken } from "../../program/lock_token.ts";
import { describeStart, describeText, sayRun, type TextFacts } from "./describe_run.ts";
import { type RunPlan, sayChanges } from "./plan_run.ts";
import type { ServedAt } from "../../address/public_address.ts";
import { refuseWhileHeld } from "./recover_run.ts";
import { changedRunText, readRunText, restoredRunText, runText, writeRunText } from "./run_text.ts";
import { writeSavedRun } from "../../files/saved_run.ts";

export interface PreparedRun extends Omit<RunPlan, "start"> {
  readonly dataset: Dataset;
  readonly key: HubKey;
  readonly lock: FolderLock;
}

type TextPlan = Pick<RunPlan, "folder" | "config"> & Partial<Pick<RunPlan, "saved" | "found" | "start" | "from">>;

/** Only reads. */
export async function mustHaveText(plan: TextPlan & Pick<RunPlan, "origins">): Promise<void> {
  if (!plan.folder.isResumed && suitsBySize(plan)) return;
  await planText(plan);
}

/** Every size fits the built-in text, so it need not be counted again. */
const suitsBySize = ({ config, origins }: Pick<RunPlan, "config" | "origins">): boolean =>
  config.data.corpus === "sotu" &&
  textSettings.every((path) => origins[path] === "size" || origins[path] === "default");

const textSettings = ["model.vocabSize", "model.contextLength", "data.heldOutFraction", "data.maxBytes"] as const;

/** Locks the folder; an existing run is put aside if planned. */
export async function takeRunFolder(
  { output, environment }: CommandContext,
  { folder: { path }, mark, putsAside }: RunPlan,
  holder: Omit<AskedLock, "handed">,
): Promise<FolderLock> {
  await openRunFolder(path);
  const lock = lockFolder(path, { ...holder, handed: handedToken(environment) });
  try {
    if (await folderMark(path) !== mark) throw changedMeanwhile(path);
    if (!putsAside) return lock;
    refuseWhileHeld(path);
    const aside = await putRunAside(path);
    output.event({ type: "runPutAside", run: aside });
    output.line(`The run that was here is kept in ${aside}`);
    return lock;
  } catch (error) {
    lock.close();
    throw error;
  }
}

function changedMeanwhile(path: string): UserError {
  return new UserError(`Another process has just begun or resumed a run in '${path}'`, {
    next: "Start again to resume that run, or choose another folder with --data DIR",
  });
}

export async function prepareRun(context: CommandContext, plan: RunPlan, at: ServedAt): Promise<PreparedRun> {
  const { output } = context;
  const { config, found } = plan;
  output.event({ type: "config", config, step: found?.manifest.step ?? 0 });
  sayRun(output, config);
  const text = await planText(plan); // refuses an unusable text
  const lock = await takeRunFolder(context, plan, { command: "orchestrate", port: at.port });
  try {
    const { start: _, ...lasting } = plan;
    return { ...lasting, ...await writeRun(context, { plan, text, at }), lock };
  } catch (error) {
    lock.close();
    throw error;
  }
}

async function writeRun(
  context: CommandContext,
  { plan, text, at }: { plan: RunPlan; text: DatasetPlan; at: ServedAt },
): Promise<Pick<PreparedRun, "key" | "dataset" | "from" | "found">> {
  const { output } = context;
  const { folder: { path, isResumed }, config, origins, runId, changes, found: stored } = plan;
  const key = await openHubKey(context, plan);
  if (changes.length > 0) refuseWhileHeld(path); // before reporting changed settings
  sayChanges(context, plan);
  if (stored !== null && stored.manifest.config.pipeline.stages !== config.pipeline.stages) {
    await restage(stored, { checkpoints: `${path}/checkpoints`, config, warn: (text) => output.log.info(text) });
  }
  const progress = openProgress(output, "turning the text into tokens", "bytes");
  const dataset = await text.write((done, total) => progress.at(done, total)).finally(() => progress.close());
  const facts = textFacts(dataset, config);
  output.event({ type: "text", ...facts });
  for (const line of describeText(facts)) output.line(line);
  if (isResumed) return { dataset, key, from: plan.from, found: plan.found };
  const { from, found } = await begin(context, { plan, dataset });
  await writeSavedRun(path, { runId, config, ...at, ...keptOf(context, { key, dataset, from }) });
  await writeRunText(path, runText(config, origins, from));
  return { dataset, key, from, found };
}

/** Before run.json: without the parameters it would name a run that begins with random ones. */
async function begin(
  { output }: CommandContext,
  { plan: { start, folder, runId, config }, dataset }: { plan: RunPlan; dataset: Dataset },
): Promise<Pick<PreparedRun, "from" | "found">> {
  if (start === null) return { from: null, found: null };
  const warn = (text: string) => output.log.warn(text);
  const begun = await writeFirstRound(start, { folder: folder.path, runId, config, dataset, warn });
  const lines = describeStart(start, config, begun.from);
  output.event({ type: "beganFrom", ...begun.from, lines });
  for (const line of lines) output.line(line);
  return begun;
}

function textFacts({ manifest }: Dataset, { train: own, model, data: { corpus } }: RunConfig): TextFacts {
  const { source, request, train, heldOut, bytesPerToken, unigramEntropy } = manifest;
  const use = source === undefined ? null : {
    ...source,
    trainingBytes: train.textBytes,
    heldOutBytes: heldOut.textBytes,
    maxBytes: request.maxBytes,
  };
  const { tokens } = train;
  const passes = passesOver({
    ...{ steps: own.steps, microbatchesPerStep: own.microbatchesPerStep, sequences: own.sequencesPerMicrobatch },
    ...{ contextLength: model.contextLength, tokens },
  });
  return { corpus, tokens, bytesPerToken, unigramEntropy, passes, use };
}

async function planText(
  { folder: { path, isResumed }, config, saved, found, start, from }: TextPlan,
): Promise<DatasetPlan> {
  const { data: { corpus, heldOutFraction, maxBytes }, model: { vocabSize, contextLength }, seed } = config;
  const folder = `${path}/dataset`;
  const known = found?.manifest.tokenizerHash ?? saved?.tokenizerHash ?? null;
  const tokenizer = start?.source ??
    (from === null || from === undefined || known === null ? null : await openDatasetTokenizer(folder, known));
  const plan = await planDataset({
    ...{ folder, corpus, vocabSize, contextLength, heldOutFraction, maxBytes, seed, isResumed },
    ...(tokenizer === null ? {} : { tokenizer }),
  });
  const wanted = known ?? plan.tokenizerHash;
  mustBeTokenizerOf(`${folder}/tokenizer.json`, { wanted, found: plan.tokenizerHash });
  return plan;
}

export async function saveResumedRun(
  context: CommandContext,
  { folder: { path, isResumed }, config, runId, changes, key, dataset, from }: PreparedRun,
  { at, step }: { at: ServedAt; step: number },
): Promise<void> {
  if (!isResumed) return;
  await writeSavedRun(path, { runId, config, ...at, ...keptOf(context, { key, dataset, from }) });
  const text = await readRunText(path);
  if (changes.length === 0 && text !== "") return;
  await writeRunText(
    path,
    changedRunText(text === "" ? restoredRunText(config, from) : text, { config, changes, step }),
  );
}

const keptOf = (
  { options }: CommandContext,
  { key: { signer, wallet }, dataset, from }: Pick<PreparedRun, "key" | "dataset" | "from">,
) => ({
  from,
  hub: signer.address,
  tokenizerHash: dataset.manifest.tokenizer.sha256,
  options: optionsToKeep(options, wallet),
});
