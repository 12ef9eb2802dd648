/**
 * `iota orchestrate`, from the command line to the summary: configuration, folder, data, port, then the role.
 */

import type { RunConfig } from "../../core/config/config.ts";
import { describeConfig } from "../../core/config/describe.ts";
import { splitLayers } from "../../core/model/stages.ts";
import { stageSpecs } from "../../core/model/spec.ts";
import { modelParameters } from "../../core/config/derive.ts";
import type { OrchestratorState } from "../../core/orchestrator/state.ts";
import { verifySignature } from "../../chain/wallet/hotkey.ts";
import { createHotkey, hotkeyExists, loadHotkey } from "../../chain/wallet/hotkey_files.ts";
import { createApi } from "../../net/api.ts";
import { DiskBlobs } from "../../net/blob_disk.ts";
import type { Signer } from "../../net/hello.ts";
import { netLimits } from "../../net/limits.ts";
import { listen, type Listener } from "../../net/server.ts";
import { systemRandom, systemTimers } from "../../net/timers.ts";
import { type FoundCheckpoint, latestCheckpoint } from "../checkpoint/checkpoint.ts";
import type { CommandContext } from "../command.ts";
import type { Dataset } from "../data/dataset.ts";
import { prepareDataset } from "../data/prepare_dataset.ts";
import { explainRefusal, UserError } from "../errors.ts";
import { openRunFolder, type RunFolder } from "../run_folder.ts";
import { resolveRun, resumeConfig } from "../run_options.ts";
import { openRunScreen, type RunScreen } from "../screen/run_screen.ts";
import { newRunView, type WireCost } from "../screen/view.ts";
import { openHotkey } from "../wallet_options.ts";
import { type CheckpointPlace, sourcesFrom, storeRound } from "./checkpoint_writer.ts";
import { type RunningOrchestrator, startOrchestrator } from "./orchestrator_role.ts";
import { runSummary } from "./run_summary.ts";
import { bf16BytesPerToken, type Traffic } from "./traffic.ts";

const keptCheckpoints = 3;

interface Prepared {
  readonly folder: RunFolder;
  readonly found: FoundCheckpoint | null;
  readonly config: RunConfig;
  readonly runId: string;
  readonly dataset: Dataset;
}

export async function runOrchestrator(context: CommandContext): Promise<number> {
  const { output } = context;
  const startedMs = systemTimers.nowMs();
  const interruption = context.interruption();
  const prepared = await prepare(context);
  const { config, dataset, folder } = prepared;
  const signer = await hubSigner(context, folder.path);
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  await Deno.remove(`${folder.path}/blobs`, { recursive: true }).catch(ignoreMissing); // a killed run leaves some
  const blobs = await DiskBlobs.open({ folder: `${folder.path}/blobs`, blobBytes: config.limits.blobBytes });
  const place: CheckpointPlace = {
    folder: `${folder.path}/checkpoints`,
    keep: keptCheckpoints,
    runId: prepared.runId,
    config,
    stages,
    tokenizerHash: dataset.manifest.tokenizer.sha256,
    datasetHash: dataset.hash,
  };
  const { found } = prepared;
  const from = found === null
    ? null
    : { step: found.manifest.step, sources: await sourcesFrom(found, { stages, blobs }) };
  const screen = openScreen(context, { config, layersOfStages, startedMs });
  let firstStepAtMs: number | null = null;
  const showWire = () => {
    const cost = wireCost(role.traffic, config);
    if (cost === null) return;
    screen.wire(cost);
    output.event({ type: "wire", ...cost });
  };
  const limits = netLimits(config.limits);
  const { sequencesPerMicrobatch: sequences } = config.train;
  const role = startOrchestrator({
    runId: prepared.runId,
    config,
    stages,
    layersOfStages,
    ...(from === null ? {} : { from }),
    signer,
    verify: verifySignature,
    admit: () => null, // a local run takes anyone; the chain decides elsewhere
    limits,
    timers: systemTimers,
    random: systemRandom,
    blobs,
    batches: dataset.batches({ seed: config.seed, sequences, contextLength: config.model.contextLength }),
    storeRound: (round) => storeRound(place, round, blobs),
    onRecord: (record) => {
      if (record.type === "stepClosed") firstStepAtMs ??= systemTimers.nowMs();
      screen.record(record);
      if (record.type === "roundMerged" || record.type === "stepClosed") showWire();
    },
  });
  let listener: Listener;
  try {
    listener = await open(context, { role, blobs, limits });
  } catch (error) {
    screen.close();
    throw new UserError(error instanceof Error ? error.message : String(error), { cause: error });
  }
  output.event({ type: "listening", url: listener.url.replace(/^http/, "ws"), run: prepared.runId });
  output.line(
    `Listening on ${listener.url.replace(/^http/, "ws")} for ${config.swarm.replicas * stages.length} miners`,
  );
  const onAbort = () => role.stop("interrupted");
  interruption.addEventListener("abort", onAbort);
  if (interruption.aborted) onAbort();
  try {
    const { finished, reason } = await role.finished;
    const summary = runSummary({
      state: role.state,
      traffic: role.traffic,
      view: screen.view,
      dataset,
      folder: folder.path,
      startedMs,
      firstStepAtMs,
      endedMs: systemTimers.nowMs(),
    });
    screen.close();
    output.summary(summary);
    await Deno.writeTextFile(`${folder.path}/summary.json`, `${JSON.stringify(summary, null, 2)}\n`);
    if (!finished) output.log.warn(stoppedText(role.state, { reason, folder: folder.path }));
    return finished ? 0 : 1;
  } catch (error) {
    throw explainRefusal(error, { action: "keep the run on disk", value: folder.path }) ?? error;
  } finally {
    screen.close();
    await listener.close();
    dataset.close();
  }
}

/** Null before anything has crossed a boundary. */
function wireCost(traffic: Traffic, config: RunConfig): WireCost | null {
  const forwardBytes = traffic.bytesPerToken("forward");
  const backwardBytes = traffic.bytesPerToken("backward");
  if (forwardBytes === null || backwardBytes === null) return null;
  return { forwardBytes, backwardBytes, bf16Bytes: bf16BytesPerToken(config) };
}

function ignoreMissing(error: unknown): void {
  if (!(error instanceof Deno.errors.NotFound)) throw error;
}

function stoppedText(state: OrchestratorState, { reason, folder }: { reason: string; folder: string }): string {
  const saved = state.sources.round === 0
    ? "before the first checkpoint"
    : `the last checkpoint is round ${state.sources.round}`;
  return `Stopped (${reason}) after step ${state.step} of ${state.config.train.steps}, ${saved}; go on with: --data ${folder} --resume`;
}

async function prepare(context: CommandContext): Promise<Prepared> {
  const { output } = context;
  const fresh = context.options.flag("resume") ? null : await resolveRun(context);
  const folder = await openRunFolder(context);
  const found = folder.isResumed
    ? await latestCheckpoint(`${folder.path}/checkpoints`, (text) => output.log.warn(text))
    : null;
  if (folder.isResumed && found === null) {
    throw new UserError(`Cannot resume as '${folder.path}' must hold a whole checkpoint`, {
      next: "Begin anew: --fresh",
    });
  }
  const resolved = fresh ?? { config: await resumeConfig(context, found!.manifest.config), origins: null };
  const { config } = resolved;
  if (found !== null && found.manifest.step >= config.train.steps) {
    throw new UserError(`Cannot resume as all ${config.train.steps} steps of the run are done`, {
      next: `Ask for more: --resume --steps ${2 * config.train.steps}`,
    });
  }
  if (fresh !== null) {
    const lines = describeConfig(fresh.config, fresh.origins);
    await Deno.writeTextFile(`${folder.path}/run.toml`, `${lines.join("\n")}\n`);
  }
  output.event({ type: "config", config });
  describe(context, config);
  const { corpus, heldOutFraction, maxBytes } = config.data;
  const dataset = await prepareDataset({
    folder: `${folder.path}/dataset`,
    corpus,
    vocabSize: config.model.vocabSize,
    heldOutFraction,
    maxBytes,
    seed: config.seed,
  });
  const { train, bytesPerToken, unigramEntropy } = dataset.manifest;
  output.line(
    `text ${corpus}: ${train.tokens} training tokens of ${bytesPerToken.toFixed(2)} bytes, unigram entropy ${
      unigramEntropy.toFixed(3)
    } nats`,
  );
  const runId = found?.manifest.runId ?? `${config.name}-${crypto.randomUUID().slice(0, 8)}`;
  return { folder, found, config, runId, dataset };
}

/** The numbers the size dial derived, for people; run.toml has all of them with their origin. */
function describe({ output }: CommandContext, config: RunConfig): void {
  const { model, train, pipeline, outer } = config;
  const tokens = train.microbatchesPerStep * train.sequencesPerMicrobatch * model.contextLength;
  output.line(
    `model ${config.size}: ${
      (modelParameters(model) / 1e6).toFixed(2)
    } M parameters, width ${model.width}, ${model.layers} layers, ` +
      `${model.heads}/${model.kvHeads} heads, ffn ${model.ffnWidth}, vocabulary ${model.vocabSize}, context ${model.contextLength}`,
  );
  output.line(
    `run: ${pipeline.stages} stages, codec ${pipeline.codec} (r ${pipeline.bottleneckWidth}), ${train.steps} steps of ${tokens} tokens ` +
      `(${train.microbatchesPerStep} x ${train.sequencesPerMicrobatch} x ${model.contextLength}), merge every ${train.stepsPerRound}, ` +
      `lr ${train.learningRate}, outer lr ${outer.learningRate} momentum ${outer.momentum}, seed ${config.seed}`,
  );
}

/** The wallet that was named, or a hotkey of the run's own in its folder. */
async function hubSigner(context: CommandContext, folder: string): Promise<Signer> {
  if (context.options.given("wallet")) return await openHotkey(context);
  const place = { folder: `${folder}/wallets`, wallet: "orchestrator", hotkey: "default" };
  if (await hotkeyExists(place)) return await loadHotkey(place);
  return (await createHotkey(place)).pair;
}

function openScreen(
  { output }: CommandContext,
  options: { config: RunConfig; layersOfStages: readonly number[]; startedMs: number },
): RunScreen {
  const { config, layersOfStages, startedMs } = options;
  const view = newRunView({
    command: "orchestrate",
    run: config.name,
    size: config.size,
    parameters: modelParameters(config.model),
    device: "",
    steps: config.train.steps,
    stepsPerRound: config.train.stepsPerRound,
    layersOfStages,
  }, startedMs);
  return openRunScreen({ output, view, nowMs: () => systemTimers.nowMs() });
}

async function open(
  { options }: CommandContext,
  parts: { role: RunningOrchestrator; blobs: DiskBlobs; limits: ReturnType<typeof netLimits> },
): Promise<Listener> {
  const { role, blobs, limits } = parts;
  const api = createApi({
    blobs,
    limits,
    verify: verifySignature,
    isMember: (node) => role.isMember(node),
    timers: systemTimers,
    status: () => ({}),
  });
  return await listen({
    host: options.text("host") ?? "127.0.0.1",
    port: options.number("port") ?? 9009,
    limits,
    accept: (wire) => role.accept(wire),
    fetch: (request) => api.fetch(request),
  });
}
