/** The running validator: connects link, machine and all stages. */

import { unreachable } from "../../core/assert.ts";
import type { Machine } from "../../core/protocol/machine.ts";
import type { MinerScore } from "../../core/score/work_score.ts";
import type { ValidatorEffect, ValidatorEvent, ValidatorRecord } from "../../core/validator/event.ts";
import { openValidator, validator, type ValidatorState } from "../../core/validator/machine.ts";
import { isTooLarge } from "../../gpu/worker_client.ts";
import type { BlobAccess } from "../roles/blob_access.ts";
import type { ComputeHost } from "../roles/compute_host.ts";
import type { RunningRole } from "./miner_role.ts";
import { tooLargeError } from "./link_errors.ts";
import { type NodeLink, NodeRole } from "./node_role.ts";
import { faultOf } from "./stage_host.ts";
import { ValidatorHost } from "./validator_host.ts";

export interface ValidatorRoleOptions {
  readonly link: NodeLink;
  readonly device: ComputeHost;
  readonly blobs: BlobAccess;
  readonly onRecord: (record: ValidatorRecord) => void;
  /** The newest scores, by miner's address. */
  readonly onScores: (round: number, scores: readonly MinerScore[]) => void;
  /** Decides what to do and send. @default an honest validator */
  readonly machine?: Machine<ValidatorState, ValidatorEvent, ValidatorEffect>;
}

export function startValidator(options: ValidatorRoleOptions): RunningRole {
  const { link, device, blobs, onRecord, onScores, machine = validator } = options;
  const state = openValidator({ adapter: device.adapter.name });
  const role: NodeRole<ValidatorState, ValidatorEvent, ValidatorEffect> = new NodeRole({
    role: "validator",
    link,
    machine,
    state,
    perform,
  });
  const host = new ValidatorHost({ device, blobs, segments: role.segments });

  function perform(effect: ValidatorEffect): void {
    switch (effect.type) {
      case "send":
        return role.send(effect.message);
      case "release":
        return role.segments.release(effect.refs);
      case "record":
        return onRecord(effect.record);
      case "score":
        return onScores(effect.round, effect.scores);
      case "perform":
        host.perform(effect).then(
          (result) => role.enqueue({ type: "workDone", job: effect.job, result }),
          (error) => {
            if (isTooLarge(error)) role.fail(tooLargeError(error.message));
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
  return { finished: role.finished, stop: (reason) => role.enqueue({ type: "stopRequested", reason }) };
}
