/** What a run's role uses of this machine. */

import { setImmediate } from "node:timers";
import type { StageSpec } from "../../../core/model/spec.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import { systemRandom, systemTimers } from "../../../net/timers.ts";
import type { ServedAt } from "../../address/public_address.ts";
import { openDevice } from "../../device/open_device.ts";
import { probeRoom } from "../../files/journal_error.ts";
import type { HubBlobs } from "../../roles/blob_access.ts";
import { SignatureThread } from "../../roles/signatures/signature_thread.ts";
import { ownAddress, probeUpload } from "../../roles/upload_probe.ts";
import { ArithmeticThreads } from "../hub/arithmetic/arithmetic_thread.ts";
import type { Retention } from "../../model/checkpoint/checkpoint.ts";
import { type CheckpointPlace, putBackEarlier, putBackRound, storeRound } from "../hub/checkpoint_writer.ts";
import type { OrchestratorRoleOptions } from "../hub/running_orchestrator.ts";
import type { HubPlace } from "./hub_place.ts";
import type { PreparedRun } from "./prepare_run.ts";

interface OwnMachineOptions {
  readonly stages: readonly StageSpec[];
  readonly warn: (text: string) => void;
  readonly place: HubPlace;
  readonly at: ServedAt;
  readonly blobs: HubBlobs;
  readonly keep: Retention;
}

export function ownMachine(prepared: PreparedRun, options: OwnMachineOptions) {
  const { config, dataset, folder, runId, key: { signer } } = prepared;
  const { stages, warn, place, at, blobs } = options;
  const { seed, train: { sequencesPerMicrobatch: sequences }, model: { contextLength } } = config;
  const address = ownAddress({ socket: place.urlAt(at.port), tls: place.tls, signer, blobs });
  return {
    timers: systemTimers,
    random: systemRandom,
    verify: verifySignature,
    gather: (callback) => setImmediate(callback), // after all readable sockets
    checker: new SignatureThread({ run: runId, verify: verifySignature, warn }),
    arithmetic: new ArithmeticThreads({ config, stages, warn }),
    openReferee: () => openDevice("cpu", { threads: 1 }),
    batches: dataset.batches({ seed, sequences, contextLength }),
    probeRoom: (bytes) => probeRoom(folder.path, bytes),
    probeUpload: (bytes) => probeUpload(address, bytes),
    ...roundsOnDisk(prepared, options),
  } satisfies Partial<OrchestratorRoleOptions>;
}

function roundsOnDisk(
  { folder, config, dataset, runId, from }: PreparedRun,
  { stages, blobs, warn, keep }: OwnMachineOptions,
): Pick<OrchestratorRoleOptions, "storeRound" | "putBackRound" | "putBackEarlier"> {
  const place: CheckpointPlace = {
    folder: `${folder.path}/checkpoints`,
    keep,
    runId,
    config,
    stages,
    tokenizerHash: dataset.manifest.tokenizer.sha256,
    datasetHash: dataset.hash,
    from,
    warn,
  };
  return {
    storeRound: (round) => storeRound(place, round, blobs),
    putBackRound: (round) => putBackRound(place, { round, blobs }),
    putBackEarlier: (round) => putBackEarlier(place, { round, blobs }),
  };
}
