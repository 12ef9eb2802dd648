/** A view's news as lines, each with its severity. */

import { unreachable } from "../../../core/assert.ts";
import type { NewsRecord } from "../../../core/view/view.ts";
import type { RecordOf } from "../../../core/view/view_record.ts";
import { decimal, duration, plural, printable, shortAddress } from "../../terminal/text/format.ts";
import {
  endsEarlyText,
  faultText,
  isLate,
  isReturn,
  lostClause,
  reissuedClause,
  restoredText,
  retakenText,
  servedText,
  unservedText,
} from "./record_words.ts";

interface NewsLine {
  readonly level: "info" | "warn";
  readonly text: string;
}

export function newsLine(record: NewsRecord): NewsLine {
  return { level: isInfo(record) ? "info" : "warn", text: printable(sentence(record)) };
}

function isInfo(record: NewsRecord): boolean {
  switch (record.type) {
    case "runStarted":
    case "nodeReady":
    case "nodeResumed":
    case "nodeMoved":
    case "resumed":
    case "checkpointWritten":
    case "runContinued":
    case "trainingRetried":
    case "ownerActed":
      return true;
    case "nodeLost":
      return isReturn(record);
    case "stagesUnserved":
      return record.stages.length === 0;
    case "faultSeen":
      return isLate(record);
    case "runFinished":
      return record.finished;
    default:
      return false;
  }
}

function sentence(record: NewsRecord): string {
  switch (record.type) {
    case "runStarted":
      return `training begins with ${plural(record.miners, "miner")} on ${plural(record.stages, "stage")}`;
    case "nodeReady":
      return `${shortAddress(record.node)} joined stage ${record.stage}`;
    case "nodeResumed":
      return `${shortAddress(record.node)} is back with what it had; ${
        plural(record.tasksReissued, "task")
      } handed out again`;
    case "nodeMoved":
      return `${shortAddress(record.node)} moves from stage ${record.from} to ${record.to}, which needs it more`;
    case "nodeLost":
      return lostText(record);
    case "stagesUnserved":
      return record.stages.length === 0 ? servedText : `waiting: ${unservedText(record.stages)}`;
    case "taskReleased":
      return `task ${record.task} taken back from ${shortAddress(record.node)}: ${record.reason}`;
    case "stageRestored":
      return restoredText(record);
    case "roundEndsEarly":
      return endsEarlyText(record);
    case "rewound":
      return `no miner still has the parameters of step ${record.step}: back to step ${record.toStep}`;
    case "mergeRetaken":
      return `${retakenText(record)}: back to step ${record.step}`;
    case "mergeLate":
      return `stage ${record.stage} continues without ${shortAddress(record.node)} (${record.phase})`;
    case "resumed":
      return `the orchestrator is back at step ${record.step} and waits for ${plural(record.nodes, "node")}`;
    case "sliceDisputed":
      return disputeText(record);
    case "roundMerged":
      return `round ${record.round} began with different hashes on stage ${splitStages(record).join(", ")}`;
    case "checkpointWritten":
      return `checkpoint of step ${record.step} written to ${record.folder}`;
    case "verdict":
      return verdictText(record);
    case "faultSeen":
      return `${record.node === null ? "a stranger" : shortAddress(record.node)}: ${faultText(record)}`;
    case "blamed":
      return `${shortAddress(record.node)} is to blame: ${record.detail}`;
    case "runContinued":
      return `the run continues after a pause of ${duration(record.pausedMs)}: the disk has room again`;
    case "ownerActed":
      return ownerText(record);
    case "trainingRetried":
      return `the lost round is repeated after ${duration(record.haltedMs)}`;
    case "runPaused":
    case "trainingHalted":
    case "warning":
    case "noted":
      return record.text;
    case "runFinished":
      return `run ${record.finished ? "ended" : "stopped"} at step ${record.step}: ${record.reason}`;
    default:
      return unreachable(record);
  }
}

export function ownerText({ action, node, learningRate }: RecordOf<"ownerActed">): string {
  const who = node === undefined ? "a node" : shortAddress(node);
  const deeds = {
    pause: "paused the run",
    resume: "let the run go on",
    kick: `removed ${who} from the run`,
    admit: `let ${who} join again`,
    rate: `set the peak learning rate to ${learningRate}`,
    stop: "stopped the orchestrator",
    stopAfterRound: "stops the orchestrator after this round",
  };
  return `the owner ${deeds[action]}`;
}

function lostText(record: RecordOf<"nodeLost">): string {
  return `${shortAddress(record.node)} ${isReturn(record) ? "back" : "lost"}: ${record.reason}${
    reissuedClause(record.tasksReissued)
  }${lostClause(record)}`;
}

function disputeText({ slice, stage, liar }: RecordOf<"sliceDisputed">): string {
  const blame = liar === null ? "the liar is unknown" : `${shortAddress(liar)} is excluded`;
  return `slice ${slice} of stage ${stage} was reduced to different results: ${blame}`;
}

function verdictText({ miner, task, innovationError, tolerance, gradient }: RecordOf<"verdict">): string {
  if (gradient !== undefined) {
    const [claimed, found] = [gradient.claimed, gradient.found].map((square) => decimal(Math.sqrt(square)));
    return `${shortAddress(miner)} committed to a gradient of norm ${claimed}, but it is ${found}`;
  }
  const error = `innovation error ${decimal(innovationError)}, allowed ${decimal(tolerance)}`;
  return `${shortAddress(miner)} failed the replay of ${task}: ${error}`;
}

const splitStages = ({ stages }: RecordOf<"roundMerged">): number[] =>
  stages.filter((stage) => !stage.agree).map((stage) => stage.stage);
