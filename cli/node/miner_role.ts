/** The running miner: connects link, machine and stage. */

import type { Fault } from "../../core/fault.ts";
import type { MinerEffect, MinerEvent, MinerRecord, MinerResult, MinerWork } from "../../core/miner/event.ts";
import { type MinerState, openMiner } from "../../core/miner/state.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../device/compute_host.ts";
import { UnusableDeviceError } from "../device/device_check.ts";
import { StageLostError } from "../device/lasting_stage.ts";
import type { OwnStateStore } from "./own_state.ts";
import type { PeerServer } from "./peer_server.ts";
import { IdleWatch } from "./idle_watch.ts";
import { type NodeLink, NodeRole } from "./node_role.ts";
import type { Finished } from "./node_runtime.ts";
import { StageHost } from "./stage_host.ts";
import { faultOf, WorkRefused } from "./stages/work_fault.ts";

export interface MinerRoleOptions {
  readonly link: NodeLink;
  readonly device: ComputeHost;
  readonly blobs: BlobAccess;
  readonly ownState: OwnStateStore | null;
  readonly peers?: PeerServer | null;
  readonly activationBytes?: number; // memory to keep activations, so that no forward is computed twice
  readonly onRecord: (record: MinerRecord) => void;
  readonly onIdle?: (idle: { idleMs: number; isOver: boolean }) => void;
  readonly machine: Machine<MinerState, MinerEvent, MinerEffect>;
}

/** The miner cannot rebuild its stage, but may rejoin at once as a newcomer. */
export const stageLostReason = "its device was lost, and its stage with it";

/**
 * Tasks and steps use only the device, so their failures will recur unless a stranger caused them. So will failures of
 * an unusable device.
 */
function isDeviceFailure(work: MinerWork, error: unknown): boolean {
  if (error instanceof UnusableDeviceError) return true;
  const usesOnlyDevice = work.type === "runTask" || work.type === "sealGradients" || work.type === "applyStep" ||
    work.type === "zeroGradients" || work.type === "copyState";
  return usesOnlyDevice && !(error instanceof WorkRefused);
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}

export interface RunningRole {
  readonly finished: Promise<Finished>;
  stop(reason: string): void;
}

export interface RunningNode extends RunningRole {
  /** Frees the device's memory, for a process that continues. */
  close(): void;
}

export async function startMiner(options: MinerRoleOptions): Promise<RunningNode> {
  const { link, device, blobs, ownState, peers = null, activationBytes = 0, onRecord, machine } = options;
  const { onIdle = () => {} } = options;
  const state = openMiner({
    adapter: device.adapter.name,
    previousStage: await ownState?.stage() ?? null,
    listens: peers?.url ?? null,
  });
  const role: NodeRole<MinerState, MinerEvent, MinerEffect, MinerResult> = new NodeRole({
    role: "miner",
    link,
    machine,
    state,
    work: ({ work }) => idleWatch.during(() => stage.perform(work)),
    failureOf: ({ work }, error) => {
      if (error instanceof StageLostError) return leave(error);
      return isDeviceFailure(work, error) ? asError(error) : faultOf(error);
    },
    report: ({ record }) => {
      if (record.type === "offline") idleWatch.linked(false);
      if (record.type === "joined") idleWatch.linked(true);
      if (record.type === "stopped") idleWatch.stop();
      onRecord(record);
    },
  });
  const idleWatch = new IdleWatch({
    timers: link.timers,
    onIdle: (idleMs) => onIdle({ idleMs, isOver: false }),
    onBusy: (idleMs) => onIdle({ idleMs, isOver: true }),
  });
  role.finished.then(() => idleWatch.stop(), () => idleWatch.stop());
  const stage: StageHost = new StageHost({
    device,
    blobs,
    segments: role.segments,
    ownState,
    peers,
    activationBytes,
    nowMs: () => link.timers.steadyMs(),
    onLoading: (part, bytes) => role.enqueue({ type: "loadProgressed", part, bytes }),
  });

  const stop = (reason: string) => role.enqueue({ type: "stopRequested", reason });
  function leave(error: StageLostError): Fault {
    role.enqueue({ type: "stopRequested", reason: stageLostReason, atOnce: true });
    return faultOf(error);
  }
  role.start();
  return {
    finished: role.finished,
    stop,
    close: () => stage.close(),
  };
}
