/**
 * What a run needs before its first socket: folder, configuration, checkpoint, text, the orchestrator's hotkey.
 */

import type { HotkeyPair } from "../../chain/wallet/hotkey.ts";
import { createHotkey, hotkeyExists, loadHotkey } from "../../chain/wallet/hotkey_files.ts";
import { WalletError } from "../../chain/wallet/wallet_error.ts";
import { present } from "../../core/assert.ts";
import type { RunConfig } from "../../core/config/config.ts";
import { describeConfig } from "../../core/config/describe.ts";
import { type FoundCheckpoint, latestCheckpoint } from "../checkpoint/checkpoint.ts";
import type { CommandContext } from "../command.ts";
import type { Dataset } from "../data/dataset.ts";
import { realDisk, writeAtomically } from "../data/disk.ts";
import { prepareDataset } from "../data/prepare_dataset.ts";
import { UserError } from "../errors.ts";
import { openRunFolder, type RunFolder } from "../run_folder.ts";
import { resolveRun, resumeConfig } from "../run_options.ts";
import { openHotkey } from "../wallet_options.ts";
import { hasJournal } from "./recover_run.ts";
import { readSavedRun, type SavedRun, writeSavedRun } from "./saved_run.ts";
import { describeRun, describeText, type TextFacts } from "./describe_run.ts";

export interface PreparedRun {
  readonly folder: RunFolder;
  readonly found: FoundCheckpoint | null;
  readonly savedPort: number | null; // of the run's last life
  readonly config: RunConfig;
  readonly runId: string;
  readonly dataset: Dataset;
}

export async function prepareRun(context: CommandContext): Promise<PreparedRun> {
  const { output } = context;
  const fresh = context.options.flag("resume") ? null : await resolveRun(context);
  const folder = await openRunFolder(context);
  const { saved, found } = folder.isResumed ? await findRun(context, folder.path) : { saved: null, found: null };
  const isJournaled = folder.isResumed && await hasJournal(folder.path);
  const config = fresh?.config ??
    await resumeConfig(context, present(saved?.config ?? found?.manifest.config, "a resumed run has a configuration"));
  const runId = saved?.runId ?? found?.manifest.runId ?? `${config.name}-${crypto.randomUUID().slice(0, 8)}`;
  if (found !== null && !isJournaled && found.manifest.step >= config.train.steps) {
    throw new UserError(`Cannot resume as all ${config.train.steps} steps of the run are done`, {
      next: `Ask for more: --resume --steps ${2 * config.train.steps}`,
    });
  }
  if (fresh !== null) {
    await writeSavedRun(folder.path, { runId, config, port: null }); // first: a folder with run.toml holds a run
    const lines = describeConfig(fresh.config, fresh.origins);
    const text = new TextEncoder().encode(`${lines.join("\n")}\n`);
    await writeAtomically(`${folder.path}/run.toml`, { disk: realDisk, chunks: [text] });
  }
  output.event({ type: "config", config, step: found?.manifest.step ?? 0 });
  for (const line of describeRun(config)) output.line(line);
  const { corpus, heldOutFraction, maxBytes } = config.data;
  const dataset = await prepareDataset({
    folder: `${folder.path}/dataset`,
    corpus,
    vocabSize: config.model.vocabSize,
    heldOutFraction,
    maxBytes,
    seed: config.seed,
    isResumed: folder.isResumed,
  });
  const { train, bytesPerToken, unigramEntropy } = dataset.manifest;
  const text: TextFacts = { corpus, tokens: train.tokens, bytesPerToken, unigramEntropy };
  output.event({ type: "text", ...text });
  output.line(describeText(text));
  return { folder, found, savedPort: saved?.port ?? null, config, runId, dataset };
}

/** What the folder says of the run; throws where neither its file nor a whole checkpoint tells which run it is. */
async function findRun(
  { output: { log } }: CommandContext,
  folder: string,
): Promise<{ saved: SavedRun | null; found: FoundCheckpoint | null }> {
  const read = await readSavedRun(folder);
  const saved = read === "damaged" ? null : read;
  const found = await latestCheckpoint(`${folder}/checkpoints`, (text) => log.warn(text), saved?.runId);
  if (saved !== null) return { saved, found };
  const problem = `'${folder}/run.json' must say which run this is: it is ${read === null ? "missing" : "damaged"}`;
  if (found === null) {
    throw new UserError(`Cannot resume as ${problem}, and there is no whole checkpoint that does`, {
      next: "Put the file back from a copy, or begin another run in another folder; nothing was changed",
    });
  }
  log.warn(`${problem}; the checkpoint '${found.folder}' says which run it is`);
  return { saved: null, found };
}

/** The wallet that was named, or a hotkey of the run's own in its folder. */
export async function hubSigner(
  context: CommandContext,
  { path: folder, isResumed }: RunFolder,
): Promise<HotkeyPair> {
  if (context.options.given("wallet")) return await openHotkey(context);
  const place = { folder: `${folder}/wallets`, wallet: "orchestrator", hotkey: "default" };
  try {
    if (await hotkeyExists(place)) return await loadHotkey(place);
    const { pair } = await createHotkey(place);
    if (isResumed) {
      context.output.log.warn(`'${place.folder}' had no hotkey of the orchestrator; a new one signs from now on`);
    }
    return pair;
  } catch (error) {
    if (!(error instanceof WalletError)) throw error;
    const next = "Put the orchestrator's key back from a copy, or sign with another one: --wallet NAME";
    throw new UserError(error.message, { next, cause: error });
  }
}
