/** The running miner: connects link, machine and stage. */

import { unreachable } from "../../core/assert.ts";
import type { MinerEffect, MinerEvent, MinerRecord, MinerWork } from "../../core/miner/event.ts";
import { miner } from "../../core/miner/machine.ts";
import { type MinerState, openMiner } from "../../core/miner/state.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import type { OwnStateFolder } from "./own_state_folder.ts";
import type { PeerServer } from "./peer_server.ts";
import { type Finished, type NodeLink, NodeRole } from "./node_role.ts";
import { faultOf, StageHost, WorkRefused } from "./stage_host.ts";

export interface MinerRoleOptions {
  readonly link: NodeLink;
  readonly device: ComputeHost;
  readonly blobs: BlobAccess;
  readonly ownState: OwnStateFolder | null;
  readonly peers?: PeerServer | null;
  readonly activationBytes?: number; // of device memory, so that no forward is computed twice
  readonly onRecord: (record: MinerRecord) => void;
  /** Decides what to do and send. @default an honest miner */
  readonly machine?: Machine<MinerState, MinerEvent, MinerEffect>;
}

/** Tasks and steps use only the device: a failure there that is not a stranger's fault will recur. */
function isDeviceFailure(work: MinerWork, error: unknown): boolean {
  const usesOnlyDevice = work.type === "runTask" || work.type === "sealGradients" || work.type === "applyStep" ||
    work.type === "zeroGradients";
  return usesOnlyDevice && !(error instanceof WorkRefused);
}

export interface RunningRole {
  readonly finished: Promise<Finished>;
  stop(reason: string): void;
}

export interface RunningMiner extends RunningRole {
  /** Frees the device's memory when it has finished, for a process that continues. */
  close(): void;
}

export async function startMiner(options: MinerRoleOptions): Promise<RunningMiner> {
  const { link, device, blobs, ownState, peers = null, activationBytes = 0, onRecord, machine = miner } = options;
  const state = openMiner({
    adapter: device.adapter.name,
    previousStage: await ownState?.stage() ?? null,
    listens: peers?.url ?? null,
  });
  const role: NodeRole<MinerState, MinerEvent, MinerEffect> = new NodeRole({
    role: "miner",
    link,
    machine,
    state,
    perform,
  });
  const stage = new StageHost({
    device,
    blobs,
    segments: role.segments,
    ownState,
    peers,
    activationBytes,
    nowMs: () => link.timers.steadyMs(),
    onLoading: (part, bytes) => role.enqueue({ type: "loadProgressed", part, bytes }),
  });

  function perform(effect: MinerEffect): void {
    switch (effect.type) {
      case "send":
        return role.send(effect.message, effect.attachments);
      case "release":
        return role.segments.release(effect.refs);
      case "record":
        return onRecord(effect.record);
      case "perform":
        stage.perform(effect.work).then(
          (result) => role.enqueue({ type: "workDone", job: effect.job, result }),
          (error) => {
            if (isDeviceFailure(effect.work, error)) role.fail(error);
            else role.enqueue({ type: "workFailed", job: effect.job, fault: faultOf(error) });
          },
        );
        return;
      case "finish":
        return role.finish(effect);
      default:
        return unreachable(effect);
    }
  }

  role.start();
  return {
    finished: role.finished,
    stop: (reason) => role.enqueue({ type: "stopRequested", reason }),
    close: () => stage.close(),
  };
}
