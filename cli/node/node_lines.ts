/** A node's records as lines for people; null: no line. */

import type { MinerRecord } from "../../core/miner/event.ts";
import type { ValidatorRecord } from "../../core/validator/event.ts";
import type { AuditTally } from "../observe/screen/record_words.ts";
import { byteSize, decimal, duration, plural } from "../terminal/text/format.ts";
import { failedUploadText, noticeText } from "./screen/notice_text.ts";

export function minerLine(record: MinerRecord): string | null {
  switch (record.type) {
    case "joined":
      return record.resumed ? "link resumed, nothing lost" : "signed in";
    case "welcomed":
      return welcomeLine(record);
    case "kept":
      return `stage ${record.stage}, round ${record.round}: kept, with the gradients of ${
        plural(record.tasks, "task")
      }`;
    case "stageAssigned":
      return `stage ${record.stage}, round ${record.round}: loading`;
    case "stageLoading":
      return `stage ${record.stage}, round ${record.round}: ${loadingText(record)}`;
    case "stageLoaded":
      return `stage ${record.stage}, round ${record.round}: ready, parameters ${record.parameters.slice(0, 12)}${
        record.optimizer === undefined ? "" : "; its optimizer begins empty, so its first steps are small"
      }`;
    case "loadFailed":
      return `stage ${record.stage}: cannot be loaded (${record.code}): ${record.detail}`;
    case "roundMerged":
      return `round ${record.round}: merged, parameters ${record.parameters.slice(0, 12)}`;
    case "notice":
      return noticeText(record);
    case "refused":
      return `refused (${record.code}): ${record.detail}`;
    case "uploadFailed":
      return failedUploadText(record);
    case "handingIn":
      return `round ${record.round}: most of its stage's work is held here alone; leaving when it is merged, in ${
        duration(record.mostMs)
      } at most`;
    case "handedIn":
      return record.isMerged
        ? `round ${record.round}: its work is merged`
        : `round ${record.round}: its work could not be merged in time and is lost`;
    case "stopped":
      return record.finished ? `done: ${record.reason}` : `stopped: ${record.reason}`;
    case "offline":
    case "taskComputed":
    case "stepApplied":
      return null;
  }
}

export const idleLine = ({ idleMs, isOver }: { idleMs: number; isOver: boolean }): string =>
  isOver
    ? `working again after ${duration(idleMs)}`
    : `nothing to do for ${
      duration(idleMs)
    }: the orchestrator is paused, another stage has no miner ready, or others are faster; its screen says which`;

function loadingText({ part, bytes, totalBytes }: Extract<MinerRecord, { type: "stageLoading" }>): string {
  switch (part) {
    case "making":
      return `making initial values ${Math.floor(100 * bytes / totalBytes)} %`;
    case "fetching":
      return `fetching parameters ${byteSize(bytes)} of ${byteSize(totalBytes)}`;
    case "placing":
      return `placing parameters on the device ${Math.floor(100 * bytes / totalBytes)} %`;
  }
}

function welcomeLine({ name, size, chain }: Extract<MinerRecord, { type: "welcomed" }>): string {
  const paid = chain.network === "none" ? "without a chain" : `subnet ${chain.netuid} on ${chain.network}`;
  return `run ${name}, size ${size}, ${paid}`;
}

/** `passed`: audits since the last round's summary. */
export function validatorLine(record: ValidatorRecord, passed: AuditTally): string | null {
  switch (record.type) {
    case "joined":
      return record.resumed ? "link resumed" : "signed in";
    case "welcomed":
      return record.stages > 1
        ? welcomeLine(record)
        : `${welcomeLine(record)}; it has one stage, so no wires to replay: its losses are checked`;
    case "evaluated":
      return `round ${record.round}: held-out loss ${record.loss.toFixed(4)} over ${plural(record.tokens, "token")}`;
    case "payloadTried":
      return `round ${record.round}: held-out loss ${record.loss.toFixed(4)} as one miner's payload leaves its stage`;
    case "verdict":
      if (!record.passed) return failedLine(record);
      passed.add(record);
      return null;
    case "scored": {
      const audits = passed.take();
      const failed = record.failed === 0 ? "" : `, ${record.failed} of them zero`;
      return `round ${record.round}: ${plural(record.miners, "miner")} scored${failed}${
        audits === null ? "" : `; ${audits}`
      }`;
    }
    case "notice":
      return noticeText(record);
    case "requestFailed":
    case "refused":
      return `${record.type === "refused" ? "refused" : "request failed"} (${record.code}): ${record.detail}`;
    case "stopped":
      return record.finished ? `done: ${record.reason}` : `stopped: ${record.reason}`;
    case "offline":
      return null;
  }
}

function failedLine(record: Extract<ValidatorRecord, { type: "verdict" }>): string {
  const { gradient, miner, task, innovationError, tolerance, equalShare, lossError } = record;
  const subject = `round ${record.round}: stage ${record.stage} ${miner} FAILED`;
  if (gradient !== undefined) {
    const [found, claimed] = [gradient.found, gradient.claimed].map((square) => decimal(Math.sqrt(square)));
    return `${subject}: its gradient's norm is ${found}, it committed to ${claimed}`;
  }
  const loss = lossError === null ? "" : `, loss error ${decimal(lossError)}`;
  return `${subject} on ${task}: innovation error ${decimal(innovationError)} (at most ${tolerance})${loss}, ` +
    `${(100 * equalShare).toFixed(1)} % of values equal`;
}
