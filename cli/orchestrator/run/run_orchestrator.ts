/**
 * `iota orchestrate`, from the command line to the summary: configuration, folder, data, port, then the role.
 */

import { setImmediate } from "node:timers";
import { splitLayers } from "../../../core/model/stages.ts";
import { stageSpecs } from "../../../core/model/spec.ts";
import type { OrchestratorState } from "../../../core/orchestrator/state.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { BlobError } from "../../../net/blobs/blobs.ts";
import { type NetLimits, netLimits } from "../../../net/limits.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import type { RunOwner } from "../owner/run_owner.ts";
import { keepPage } from "../../observe/dashboard/keep_page.ts";
import { openHubChain } from "../../chain/duty/hub_chain.ts";
import type { Invite } from "../../address/invite.ts";
import { keepWires, takeWires } from "../hub/saved_wires.ts";
import type { BatchSource } from "../../model/data/dataset.ts";
import { JournalError } from "../../files/journal_error.ts";
import { explainRefusal, Terminated, UserError } from "../../program/errors.ts";
import { openLogFile } from "../../files/long_run.ts";
import { readOpenFiles } from "../../rights/open_files.ts";
import { shellWord, shellWords } from "../../program/shell_words.ts";
import { namedFolder } from "../../files/run_folder.ts";
import type { Projection } from "../../observe/projection/projection.ts";
import type { TextSamples } from "../../model/samples/text_samples.ts";
import { type CheckpointPlace, putBackEarlier, putBackRound, storeRound } from "../hub/checkpoint_writer.ts";
import { probeRoom } from "../../files/disk_room.ts";
import { openDevice } from "../../device/open_device.ts";
import { openPlaces } from "../hub/members/places.ts";
import { type HubPlace, hubPlace } from "./hub_place.ts";
import type { HubStore } from "../hub/hub_store.ts";
import { type HubPort, openHubPort } from "../hub/hub_port.ts";
import { hubTickets } from "../hub/hub_tickets.ts";
import { openProjection, ReplayedEffects } from "./open_projection.ts";
import { begunAt, openStorage, startOf } from "./open_run_state.ts";
import { planRun, sayOver } from "./plan_run.ts";
import { refuseHeldFolder } from "../../files/folder_lock.ts";
import { handedToken } from "../../program/lock_token.ts";
import { type PreparedRun, prepareRun, saveResumedRun } from "./prepare_run.ts";
import type { ServedAt } from "../../address/public_address.ts";
import { ArithmeticThreads } from "../hub/arithmetic/arithmetic_thread.ts";
import { SignatureThread } from "../../roles/signatures/signature_thread.ts";
import { startOrchestrator } from "../hub/orchestrator_role.ts";
import type { OrchestratorRoleOptions, RunningOrchestrator } from "../hub/running_orchestrator.ts";
import { refuseWhileHeld, removeJournal, userError as journalError } from "./recover_run.ts";
import { lostText, takenUp } from "./run_facts.ts";
import { type BegunAt, hasLostRound, runSummary, saveSummary, sessionFields } from "../../observe/run_summary.ts";
import { type Measures, openMeasures } from "../../observe/projection/measures.ts";
import { openOwner } from "./open_owner.ts";
import { openSamples } from "./open_samples.ts";
import { openHubTraces } from "../../observe/telemetry/hub_traces.ts";
import { serveRun } from "./serve_run.ts";
import { ownAddress, probeUpload } from "../../roles/upload_probe.ts";
import { nextLines } from "../../observe/screen/next_lines.ts";
import { dashboardAt, sayListening } from "./say_listening.ts";

const keptCheckpoints = 3;

export async function runOrchestrator(context: CommandContext): Promise<number> {
  await openLogFile(context);
  const startedMs = systemTimers.nowMs();
  const interruption = context.interruption();
  const plan = await planRun(context, (name) => namedFolder(context.dataFolder(), name));
  if (plan.isOver) {
    await sayOver(context, { plan, command: "orchestrate" });
    return 0;
  }
  const limits = netLimits(plan.config);
  const place = await hubPlace(context.options, plan.saved);
  let notice = (text: string) => context.output.log.warn(text);
  const port = await openHubPort({
    wanted: place,
    limits,
    descriptors: readOpenFiles(context.environment),
    onNotice: (text) => notice(text),
  }).catch((error) => {
    refuseHeldFolder(plan.folder.path, handedToken(context.environment)); // the port's other program may be this very run
    if (plan.folder.isResumed) refuseWhileHeld(plan.folder.path); // also one of a version without that lock
    throw error;
  });
  try {
    const prepared = await prepareRun(context, plan, port.at);
    const run = await startRun(context, { prepared, place, port, limits, startedMs });
    notice = (text) => run.projection.tell({ type: "warning", text });
    const ended = await untilTheEnd(context, { prepared, run, interruption, startedMs });
    if (ended.finished) {
      const { host, port: number } = port.at;
      const url = dashboardAt(place.urlAt(number));
      context.output.printSummary();
      await keepPage(context, { folder: plan.folder.path, host, port: number, url, tls: place.tls });
    }
    return ended.code;
  } finally {
    await port.close();
  }
}

async function untilTheEnd(
  context: CommandContext,
  options: { prepared: PreparedRun; run: StartedRun; interruption: AbortSignal; startedMs: number },
): Promise<{ code: number; finished: boolean }> {
  const { prepared, run, interruption, startedMs } = options;
  const onAbort = () => run.role.stop("interrupted");
  interruption.addEventListener("abort", onAbort);
  if (interruption.aborted) onAbort();
  const { path } = prepared.folder;
  let isOver = false; // then only the checkpoint is left to resume from
  let isOurs = true; // the run's folder
  try {
    const result = await Promise.race([run.role.finished, run.chainFailed]);
    if (result.finished) await Promise.race([run.samples.finish(), run.chainFailed]);
    run.measures.tellTraffic();
    const summary = runSummary({
      state: run.role.state,
      traffic: run.role.traffic,
      view: run.projection.view,
      dataset: prepared.dataset,
      folder: path,
      startedMs,
      firstStepAtMs: run.measures.firstStepAtMs,
      endedMs: systemTimers.nowMs(),
      begun: run.begun,
      isFinished: result.finished,
      trainedTokens: run.measures.trained.total,
    });
    run.projection.close();
    for (const [node, sums] of run.role.traffic.nodes) context.output.event({ type: "traffic", node, ...sums });
    const { output, environment } = context;
    const next = { environment, paint: output.paint, config: prepared.config, folder: path };
    output.summary(
      output.mode === "json" ? summary : { ...summary, sessionFields: sessionFields(run.begun) },
      result.finished ? nextLines(next) : [],
    );
    const { upload } = run.role.state;
    isOver = result.finished && upload === null;
    if (result.finished && upload !== null) {
      context.output.log.warn(
        `Round ${upload.round} could not be stored as a checkpoint; the journal that has it is kept`,
      );
    }
    await saveSummary(summary, { folder: path, warn: (text) => context.output.log.warn(text) });
    if (!result.finished) context.output.log.warn(stoppedText(run.role.state, { reason: result.reason, folder: path }));
    const isAsked = run.owner.hasStopped || interruption.reason instanceof Terminated;
    return { code: result.finished || (isAsked && !hasLostRound(summary)) ? 0 : 1, finished: result.finished };
  } catch (error) {
    isOurs = !(error instanceof JournalError && error.code === "fenced");
    throw explainStorage(error, path);
  } finally {
    await run.close({ isOver, isOurs });
    if (isOver) await removeJournal(path);
    prepared.dataset.close();
    prepared.lock.close();
  }
}

interface StartedRun {
  readonly role: RunningOrchestrator;
  readonly owner: RunOwner;
  readonly chainFailed: Promise<never>; // our own failure, not the chain's
  readonly projection: Projection;
  readonly samples: TextSamples;
  readonly begun: BegunAt;
  readonly measures: Measures;
  close(options: { isOver: boolean; isOurs: boolean }): Promise<void>;
}

async function startRun(
  context: CommandContext,
  options: { prepared: PreparedRun; place: HubPlace; port: HubPort; limits: NetLimits; startedMs: number },
): Promise<StartedRun> {
  const { output } = context;
  const { prepared, place, port, limits, startedMs } = options;
  const { config, folder, runId, key: { signer } } = prepared;
  const layersOfStages = splitLayers(config);
  const stages = stageSpecs(config, layersOfStages);
  const warn = (text: string) => output.log.warn(text);
  const replayed = new ReplayedEffects();
  const opened = await openStorage({ prepared, stages, limits, onReplayed: (effects) => replayed.take(effects), warn });
  const { members, journal, recovered } = opened;
  const { projection, ledger, recordedStep, ...seen } = await openProjection(context, {
    ...{ prepared, layersOfStages, startedMs, refused: () => role.refusals, owner: () => owner, replayed },
  });
  const { past } = ledger.log;
  const begun = begunAt(opened, past);
  const lost = lostText({ ...opened, recordedStep, begun, folder });
  ledger.log.begin(begun);
  await saveResumedRun(context, prepared, { at: port.at, step: begun.step });
  const tickets = hubTickets(signer, runId);
  const { promise: chainFailed, reject } = Promise.withResolvers<never>();
  const owner = await openOwner(context, { prepared, at: port.at, role: () => role, tell: seen.onRecord });
  const traces = openHubTraces(runId);
  const samples = openSamples(context, { folder: folder.path, projection, role: () => role });
  const chain = openHubChain(config.chain, { folder: folder.path, output, tell: seen.onRecord, onFailure: reject });
  output.line(`Run kept in ${folder.path}; ${folder.isResumed ? `resumes at step ${begun.step}` : "begins"}`);
  projection.tell(takenUp(begun, recovered?.state ?? null));
  if (lost !== null) projection.tell({ type: "warning", text: lost });
  const probe = ownAddress({ socket: place.urlAt(port.at.port), tls: place.tls, signer, blobs: members.blobs });
  const places = await openPlaces(folder.path, { state: () => role.state, warn });
  const measures = openMeasures(projection, { config, traffic: () => role.traffic });
  const role = startOrchestrator({
    ...{ runId, config, stages, layersOfStages },
    ...(traces === null ? {} : { traces }),
    ...startOf(opened, past),
    ...{ journal, recovered, savedWires: await takeWires(folder.path) },
    gather: (callback) => setImmediate(callback), // after all readable sockets have been read
    ...{ signer, verify: verifySignature },
    admit: (node) => owner.check(node.node) ?? chain.admit(node) ?? places.admit(node),
    ...{ checker: new SignatureThread({ run: runId, verify: verifySignature, warn }), tickets },
    ...{ arithmetic: new ArithmeticThreads({ config, stages, warn }), batches: batchesOf(prepared) },
    ...{ limits, timers: systemTimers, random: systemRandom, blobs: members.blobs },
    ...roundsOnDisk(checkpointPlace(prepared, { stages, warn }), members),
    openReferee: () => openDevice("cpu", { threads: 1 }),
    probeRoom: (bytes) => probeRoom(folder.path, bytes),
    probeUpload: (bytes) => probeUpload(probe, bytes),
    onLog: (entry) => ledger.log.take(entry),
    onRecord: (record) => {
      if (record.type === "stepClosed") measures.onStep(record);
      for (const each of [seen, owner, samples, traces, places]) each?.onRecord(record);
    },
  });
  chain.onRenewed(() => role.review());
  owner.begin();
  const served = { runId, owner, role, members, limits, port, tickets, pages: projection.pages };
  serveRun(context, { ...served, self: signer.address });
  chain.announce({ invite: sayWhere(output, { prepared, place, at: port.at }), signer });
  const close: StartedRun["close"] = async ({ isOver, isOurs }) => {
    samples.close();
    await port.close();
    await members.close();
    await chain.close({ isOver });
    await journal.close();
    if (isOurs) await keepWires(folder.path, { wires: isOver ? [] : role.segments.all, warn });
    seen.close({ isOurs });
  };
  return { role, owner, chainFailed, projection, samples, begun, measures, close };
}

/** Where nodes find the run, also for people. */
function sayWhere(
  output: CommandContext["output"],
  { prepared: { config, saved, runId: run, key }, place, at }: { prepared: PreparedRun; place: HubPlace; at: ServedAt },
): Invite {
  const invite = { socket: place.urlAt(at.port), hub: key.signer.address, run };
  const miners = config.swarm.replicas * splitLayers(config).length;
  sayListening(output, { place, at, saved, invite, chain: config.chain, miners });
  return invite;
}

const roundsOnDisk = (
  place: CheckpointPlace,
  { blobs }: Pick<HubStore, "blobs">,
): Pick<OrchestratorRoleOptions, "storeRound" | "putBackRound" | "putBackEarlier"> => ({
  storeRound: (round) => storeRound(place, round, blobs),
  putBackRound: (round) => putBackRound(place, { round, blobs }),
  putBackEarlier: (round) => putBackEarlier(place, { round, blobs }),
});

function batchesOf({ config, dataset }: PreparedRun): BatchSource {
  const { seed, train: { sequencesPerMicrobatch: sequences }, model: { contextLength } } = config;
  return dataset.batches({ seed, sequences, contextLength });
}

function checkpointPlace(
  { folder, config, dataset, runId }: PreparedRun,
  { stages, warn }: Pick<CheckpointPlace, "stages" | "warn">,
): CheckpointPlace {
  return {
    folder: `${folder.path}/checkpoints`,
    keep: keptCheckpoints,
    runId,
    config,
    stages,
    tokenizerHash: dataset.manifest.tokenizer.sha256,
    datasetHash: dataset.hash,
    warn,
  };
}

/** A disk error ends the run with its reason; what was saved before is whole. */
function explainStorage(error: unknown, path: string): unknown {
  const next = `Make room, then resume the run with --data ${shellWord(path)}`;
  if (error instanceof JournalError) return journalError(error, path);
  if (error instanceof BlobError) return new UserError(error.message, { next, cause: error });
  return explainRefusal(error, { action: "keep the run on disk", value: path }) ?? error;
}

function stoppedText({ step, config }: OrchestratorState, from: { reason: string; folder: string }): string {
  const { reason, folder } = from;
  return `Stopped (${reason}) after step ${step} of ${config.train.steps}; miners and validators wait for this orchestrator; ` +
    `resume at this step with: ${shellWords(["iota", "orchestrate", "--data", folder])}`;
}
