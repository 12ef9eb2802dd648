/** The running validator: connects link, machine and all stages. */

import type { Machine } from "../../core/protocol/machine.ts";
import type { MinerScore } from "../../core/score/work_score.ts";
import type { ValidatorEffect, ValidatorEvent, ValidatorRecord, ValidatorResult } from "../../core/validator/event.ts";
import { openValidator, type ValidatorState } from "../../core/validator/machine.ts";
import { isTooLarge } from "../../gpu/worker_client.ts";
import { UnusableDeviceError } from "../device/device_check.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../device/compute_host.ts";
import type { RunningNode } from "./miner_role.ts";
import { tooLargeError } from "./link_errors.ts";
import { type NodeLink, NodeRole } from "./node_role.ts";
import { faultOf } from "./stages/work_fault.ts";
import { ValidatorHost } from "./validator_host.ts";

export interface ValidatorRoleOptions {
  readonly link: NodeLink;
  readonly device: ComputeHost;
  readonly blobs: BlobAccess;
  readonly memoryBytes?: number | undefined;
  readonly onRecord: (record: ValidatorRecord) => void;
  /** `isAnyDue` false: no round has vested yet. */
  readonly onScores: (round: number, scores: readonly MinerScore[], isAnyDue: boolean) => void;
  readonly machine: Machine<ValidatorState, ValidatorEvent, ValidatorEffect>;
}

export function startValidator(options: ValidatorRoleOptions): RunningNode {
  const { link, device, blobs, memoryBytes, onRecord, onScores, machine } = options;
  const state = openValidator({ adapter: device.adapter.name });
  const role: NodeRole<ValidatorState, ValidatorEvent, ValidatorEffect, ValidatorResult> = new NodeRole({
    role: "validator",
    link,
    machine,
    state,
    work: (effect) => host.perform(effect),
    failureOf: (_, error) => {
      if (error instanceof UnusableDeviceError) return error;
      return isTooLarge(error) ? tooLargeError(error.message) : faultOf(error);
    },
    report(effect) {
      if (effect.type === "record") onRecord(effect.record);
      else onScores(effect.round, effect.scores, effect.isAnyDue);
    },
  });
  const host: ValidatorHost = new ValidatorHost({ device, blobs, memoryBytes, segments: role.segments });

  role.start();
  return {
    finished: role.finished,
    stop: (reason) => role.enqueue({ type: "stopRequested", reason }),
    close: () => host.close(),
  };
}
