/**
 * Where a run starts: from its journal unless a checkpoint is newer, else from its newest whole checkpoint, else at
 * step 0. Newer checkpoints that are damaged or another run's are put aside. It also cleans the blob store, and
 * restores a round's missing parameters from its checkpoint.
 */

import { type BlobHash, blobHash, type BlobRef } from "../../../core/ids.ts";
import { parameterTable, type StageSpec } from "../../../core/model/spec.ts";
import type { PastRounds } from "../../../core/ledger/ledger_state.ts";
import type { OrchestratorEffect } from "../../../core/orchestrator/event.ts";
import { nextRound } from "../../../core/orchestrator/past_rounds.ts";
import type { OrchestratorState, RoundSources } from "../../../core/orchestrator/state.ts";
import { blobsOf, usedBlobs } from "../../../core/orchestrator/stored_blobs.ts";
import { mostStates } from "../../../core/update/payload/allowance.ts";
import { payloadCodecOf } from "../../../core/update/payload/payload_codecs.ts";
import type { LocalBlobStore, LostBlob } from "../../../net/blobs/blobs.ts";
import type { NetLimits } from "../../../net/limits.ts";
import { systemTimers } from "../../../net/timers.ts";
import { type FoundCheckpoint, putAsideNewer } from "../../model/checkpoint/checkpoint.ts";
import { hubBlobs } from "../../roles/blob_access.ts";
import { openRunStore } from "../../roles/stores.ts";
import { sourcesFrom } from "../hub/checkpoint_writer.ts";
import { HubStore } from "../hub/hub_store.ts";
import type { OpenedJournal, OpenHubJournal, RecoveredRun } from "../journal/hub_journal.ts";
import { ThreadedHubJournal } from "../journal/threaded_hub_journal.ts";
import type { OrchestratorRoleOptions } from "../hub/running_orchestrator.ts";
import type { PreparedRun } from "./prepare_run.ts";
import { hasJournal, markedStep, type OpenJournal, openRunJournal } from "./recover_run.ts";
import { type BegunAt, savedSummary } from "../../observe/run_summary.ts";

const storedBlobs = 256; // of the largest size, at once
const ownBlobs = 64; // reserved for the orchestrator to end a round

interface OpenRunState {
  readonly store: LocalBlobStore;
  readonly memberBytes: number;
  readonly journal: OpenedJournal["journal"];
  readonly recovered: RecoveredRun | null;
  readonly from: { readonly step: number; readonly sources: RoundSources } | null;
}

interface OpenRunOptions {
  readonly prepared: Pick<PreparedRun, "config" | "folder" | "runId" | "found" | "from">;
  readonly stages: readonly StageSpec[];
  readonly onReplayed: (effects: readonly OrchestratorEffect[]) => void;
  readonly onLost?: (hash: BlobHash) => void;
  readonly openJournal: OpenJournal;
  readonly warn: (text: string) => void;
}

export async function openRunState(options: OpenRunOptions): Promise<OpenRunState> {
  const { prepared, stages, onReplayed, openJournal, warn } = options;
  const { config, folder, runId, found, from } = prepared;
  const { path } = folder;
  const { journal, recovered } = await openRunJournal({
    folder: path,
    runId,
    config,
    hasBegun: folder.isResumed,
    checkpoint: found?.manifest ?? null,
    isFromModel: from !== null,
    onReplayed,
    warn,
    open: openJournal,
  });
  const round = recovered?.state.round ?? found?.manifest.round ?? 0;
  for (const kept of await putAsideNewer({ folder: `${path}/checkpoints`, round })) {
    warn(
      `A checkpoint newer than round ${round}, from which the run resumes, is unusable: it is kept as '${kept}'`,
    );
  }
  const { blobBytes } = config.limits;
  const onLost = ({ ref, why }: LostBlob) => {
    warn(
      `Blob ${ref.hash} in the store is ${why}; it will be requested from the nodes that have it`,
    );
    options.onLost?.(ref.hash);
  };
  const capacityBytes = storedBlobs * blobBytes;
  const memberBytes = capacityBytes - ownBlobs * blobBytes;
  const store = await openRunStore({ folder: `${path}/blobs`, blobBytes, capacityBytes, onLost });
  await sweep(store, recovered === null ? new Set() : usedBlobs(recovered.state));
  if (recovered !== null) {
    await putBack(store, { state: recovered.state, found, stages, warn });
    return { store, memberBytes, journal, recovered, from: null };
  }
  if (found === null) return { store, memberBytes, journal, recovered: null, from: null };
  const sources = await sourcesFrom(found, { stages, blobs: hubBlobs(store) });
  return { store, memberBytes, journal, recovered: null, from: { step: found.manifest.step, sources } };
}

async function sweep(store: LocalBlobStore, used: ReadonlySet<string>): Promise<void> {
  const unused: BlobRef[] = [];
  for await (const ref of store.list()) if (!used.has(ref.hash)) unused.push(ref);
  for (const ref of unused) await store.delete(ref.hash);
}

async function putBack(
  store: LocalBlobStore,
  { state, found, stages, warn }: {
    state: OrchestratorState;
    found: FoundCheckpoint | null;
    stages: readonly StageSpec[];
    warn: (text: string) => void;
  },
): Promise<void> {
  const missing: string[] = [];
  for (const ref of blobsOf(state.sources.stages)) if (await store.find(ref.hash) === null) missing.push(ref.hash);
  if (missing.length === 0) return;
  if (found?.manifest.round === state.sources.round) await sourcesFrom(found, { stages, blobs: hubBlobs(store) });
  for (const hash of missing) {
    if (await store.find(blobHash(hash)) !== null) continue;
    const { round } = state.sources;
    warn(`Blob ${hash} of round ${round} is missing from the store; it will be requested from a miner that has it`);
  }
}

interface OpenStorage extends OpenRunState {
  readonly members: HubStore;
  /** By the journal's mark or the last summary. */
  readonly toldStep: number | null;
  readonly hadJournal: boolean;
}

/** Opens the journal first: its lock refuses a second process before anything else is written. */
export async function openStorage(
  { limits, ...options }: Omit<OpenRunOptions, "openJournal"> & { limits: NetLimits },
): Promise<OpenStorage> {
  const { config, folder: { path: folder } } = options.prepared;
  const hadJournal = await hasJournal(folder);
  const toldStep = await stepTold(folder);
  let members: HubStore | null = null;
  const openJournal = (request: OpenHubJournal) => ThreadedHubJournal.open({ ...request, warn: options.warn });
  const opened = await openRunState({ ...options, openJournal, onLost: (hash) => members?.lost(hash) });
  const { store, memberBytes: capacityBytes } = opened;
  const stageFloats = options.stages.map((spec) => parameterTable(spec).length);
  const stored = { codec: payloadCodecOf(config), states: mostStates(config.validate) };
  members = await HubStore.open({
    ...{ folder, store, stageFloats, ...stored },
    ...{ capacityBytes, limits, timers: systemTimers },
  });
  return { ...opened, members, hadJournal, toldStep };
}

async function stepTold(folder: string): Promise<number | null> {
  const { steps } = await savedSummary(folder);
  const marked = markedStep(folder);
  return typeof steps === "number" && Number.isFinite(steps) ? Math.max(steps, marked) : marked > 0 ? marked : null;
}

type Opened = Pick<OpenRunState, "recovered" | "from">;

export function begunAt({ recovered, from }: Opened, past: PastRounds): BegunAt {
  return {
    step: recovered?.state.step ?? from?.step ?? 0,
    round: recovered?.state.round ?? nextRound(past, from ?? undefined),
    merges: recovered === null ? from?.sources.round ?? 0 : 0,
    isJournaled: recovered !== null,
  };
}

export const startOf = ({ from }: Opened, past: PastRounds): Pick<OrchestratorRoleOptions, "from" | "past"> =>
  from === null ? { past } : { from, past };
