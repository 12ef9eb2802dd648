/**
 * The run as plain lines for a file or a pipe. Steps at most once a second, but always the first and last; passed
 * audits one line a round.
 */

import { ownerText } from "./news_words.ts";
import { unreachable } from "../../../core/assert.ts";
import { isOfNode, type NodeRecord } from "../../../core/view/fold_nodes.ts";
import { type RunView, tokensPerSecond } from "../../../core/view/view.ts";
import type { RecordOf as Of, ViewRecord } from "../../../core/view/view_record.ts";
import { byteSize, clock, decimal, duration, plural, printable, shortAddress } from "../../terminal/text/format.ts";
import {
  AuditTally,
  awaitedText,
  endsEarlyText,
  isReturn,
  lostClause,
  reissuedClause,
  restoredText,
  retakenText,
  servedText,
  unservedText,
} from "./record_words.ts";

const throttleMs = 1_000;
const loadingMs = 5_000;

interface PlainLines {
  /** `view` contains the record. */
  of(record: ViewRecord, view: RunView, nowMs: number): string[];
}

export function createPlainLines(): PlainLines {
  let lastStepMs = -Infinity;
  let lastReleaseMs = -Infinity;
  let lastLoadingMs = -Infinity;
  const passed = new AuditTally();
  return {
    of(record, view, nowMs) {
      if (record.type === "stepClosed") {
        if (nowMs - lastStepMs < throttleMs && record.step < record.steps) return [];
        lastStepMs = nowMs;
      }
      if (record.type === "taskReleased") {
        if (nowMs - lastReleaseMs < throttleMs) return [];
        lastReleaseMs = nowMs;
      }
      if (record.type === "nodeLoading") {
        if (nowMs - lastLoadingMs < loadingMs) return [];
        lastLoadingMs = nowMs;
      }
      if (record.type === "verdict" && record.passed) {
        passed.add(record);
        return [];
      }
      const isEnd = record.type === "roundMerged" || record.type === "runFinished";
      const audits = isEnd ? passed.take() : null;
      const sentences = audits === null ? [] : [`audits   ${audits}`];
      if (isSpoken(record)) sentences.push(sentence(record, view));
      return sentences.map((text) => timedLine(text, { view, nowMs }));
    },
  };
}

function timedLine(text: string, { view, nowMs }: { view: RunView; nowMs: number }): string {
  return `${clock(nowMs - view.startedAtMs).padStart(7)}  ${printable(text)}`;
}

const loadingTexts = {
  making: "making initial values",
  fetching: "fetching parameters",
  placing: "placing parameters on its device",
} as const;

function loadingSentence({ node, stage, part, percent }: Of<"nodeLoading">): string {
  return `load     ${shortAddress(node)} on stage ${stage}: ${loadingTexts[part]} ${percent} %`;
}

function releaseSentence({ task, node, reason }: Of<"taskReleased">, { reLeases }: RunView): string {
  return `lease    task ${task} taken back from ${shortAddress(node)}: ${reason} (${reLeases} so far)`;
}

function lostSentence(record: Of<"nodeLost">): string {
  const kept = record.tasksKept === 0
    ? ""
    : `; ${plural(record.tasksKept, "task")} kept, as its gradient was committed`;
  const what = `${isReturn(record) ? "back" : "lost"}     ${shortAddress(record.node)}`;
  return `${what}: ${record.reason}${reissuedClause(record.tasksReissued)}${kept}${lostClause(record)}`;
}

const silentTypes = [
  ...[
    "opened",
    "takenUp",
    "deviceFound",
    "wire",
    "bytesMoved",
    "chain",
    "nodeAssigned",
    "taskFinished",
    "mergePhase",
  ] as const,
];
type SpokenRecord = Exclude<ViewRecord, { type: typeof silentTypes[number] }>;

const silent: ReadonlySet<string> = new Set(silentTypes);
const isSpoken = (record: ViewRecord): record is SpokenRecord => !silent.has(record.type);

const emptyClause = ({ optimizer }: Of<"nodeReady">): string =>
  optimizer === undefined ? "" : "; its optimizer begins empty";

function nodeSentence(record: Exclude<NodeRecord, { type: "nodeAssigned" }>): string {
  switch (record.type) {
    case "nodeJoined":
      return `node     ${shortAddress(record.node)} joined as ${record.role} (${record.adapter})`;
    case "nodeLoading":
      return loadingSentence(record);
    case "nodeReady":
      return `node     ${shortAddress(record.node)} serves stage ${record.stage} from round ${record.round}${
        emptyClause(record)
      }`;
    case "nodeResumed":
      return `back     ${shortAddress(record.node)} on stage ${record.stage} with what it had${
        reissuedClause(record.tasksReissued)
      }`;
    case "nodeMoved":
      return `move     ${shortAddress(record.node)} from stage ${record.from} to ${record.to}, which needs it more`;
    case "nodeLost":
      return lostSentence(record);
    default:
      return unreachable(record);
  }
}

function sentence(record: SpokenRecord, view: RunView): string {
  if (isOfNode(record)) return nodeSentence(record);
  switch (record.type) {
    case "runStarted":
      return `start    step ${record.step}, round ${record.round}, ${plural(record.stages, "stage")}, ${
        plural(record.miners, "miner")
      }`;
    case "stageRestored":
      return `restore  ${restoredText(record)}`;
    case "roundEndsEarly":
      return `merge    ${endsEarlyText(record)}`;
    case "rewound":
      return `rollback from step ${record.step} to ${record.toStep}: no miner still has the parameters of that step`;
    case "mergeRetaken":
      return `rollback round ${record.round} begins again at step ${record.step} as ${retakenText(record)}`;
    case "mergeLate":
      return `late     stage ${record.stage} continues without ${shortAddress(record.node)} (${record.phase})`;
    case "resumed":
      return `resume   at step ${record.step}, round ${record.round}; ${awaitedText(record)}`;
    case "stagesUnserved":
      return unservedSentence(record);
    case "taskReleased":
      return releaseSentence(record, view);
    case "stepClosed":
      return stepSentence(record, view);
    case "sliceDisputed":
      return disputeSentence(record);
    case "roundMerged":
      return mergeSentence(record);
    case "checkpointWritten":
      return `saved    checkpoint of step ${record.step} in ${record.folder}`;
    case "evaluated":
      return `eval     round ${record.round}  validation loss ${record.loss.toFixed(4)} over ${
        decimal(record.tokens)
      } tokens`;
    case "verdict":
      return verdictSentence(record);
    case "faultSeen":
      return faultLine(record);
    case "ownerActed":
      return `owner    ${ownerText(record)}`;
    case "trainingHalted":
      return `halted   ${record.text}`;
    case "trainingRetried":
      return `retry    the lost round is repeated after ${duration(record.haltedMs)}`;
    case "runPaused":
      return `paused   ${record.text}`;
    case "runContinued":
      return `continue after ${duration(record.pausedMs)}: the disk has room again`;
    case "blamed":
      return `blame    ${shortAddress(record.node)}: ${record.detail} (${record.code})`;
    case "warning":
      return `warning  ${record.text}`;
    case "textSampled":
      return `text     step ${record.step}: ${record.prompt}${record.text}`;
    case "noted":
      return `${record.label.padEnd(8)} ${record.text}`;
    case "runFinished":
      return `${record.finished ? "end     " : "stop    "} step ${record.step}: ${record.reason}`;
    default:
      return unreachable(record);
  }
}

function unservedSentence({ stages }: Of<"stagesUnserved">): string {
  if (stages.length === 0) return `continue ${servedText}`;
  return `waiting  ${unservedText(stages)}; the run goes on as soon as every stage has one`;
}

function disputeSentence({ slice, stage, round, liar }: Of<"sliceDisputed">): string {
  const blame = liar === null ? "the liar is unknown" : `${shortAddress(liar)} is excluded`;
  return `dispute  slice ${slice} of stage ${stage} was reduced to different results in round ${round}: ${blame}`;
}

function stepSentence(record: Of<"stepClosed">, view: RunView): string {
  const step = `step     ${String(record.step).padStart(String(record.steps).length)}/${record.steps}`;
  const speed = tokensPerSecond(view);
  return `${step}  loss ${record.loss.toFixed(4)}  lr ${record.learningRate.toExponential(2)}  ` +
    `${speed === null ? "" : `${decimal(speed)} tokens/s  `}${duration(record.stepMs)}`;
}

function mergeSentence(record: Of<"roundMerged">): string {
  const split = record.stages.filter((stage) => !stage.agree).map((stage) => stage.stage);
  const compared = record.stages.filter((stage) => stage.replicas > 1).length; // a single replica cannot differ
  const equal = compared === 0 ? "" : `hashes equal on ${plural(compared, "stage")}, `;
  const hashes = split.length === 0 ? equal : `hashes UNEQUAL on stage ${split.join(", ")}, `;
  const { tasksLost = 0 } = record;
  const lost = tasksLost === 0 ? "" : `, without the gradients of ${plural(tasksLost, "accepted task")}`;
  const bytes = `${byteSize(record.bytesPerMiner)} sent by a miner${lost}`;
  const next = record.nextSteps === undefined ? "" : `; the next after ${plural(record.nextSteps, "step")}`;
  const wait = record.waitedMs === undefined ? "" : `, ${duration(record.waitedMs)} of it for audits`;
  return `merge    round ${record.round - 1} merged, ${hashes}${bytes}, ${duration(record.mergeMs)}${wait}${next}`;
}

function verdictSentence(record: Of<"verdict">): string {
  const { gradient } = record;
  if (gradient !== undefined) {
    return `verdict  FAILED  ${shortAddress(record.miner)} stage ${record.stage} ` +
      `gradient committed with norm ${decimal(Math.sqrt(gradient.claimed))}, found ${
        decimal(Math.sqrt(gradient.found))
      }`;
  }
  const loss = record.lossError === null ? "" : `, loss differs by ${decimal(record.lossError)}`;
  const equal = `${(100 * record.equalShare).toFixed(record.equalShare === 1 ? 0 : 1)} % of values identical`;
  return `verdict  FAILED  ${shortAddress(record.miner)} stage ${record.stage} ` +
    `task ${record.task}: innovation error ${decimal(record.innovationError)} of ${
      decimal(record.tolerance)
    } allowed, ${equal}${loss}`;
}

function faultLine({ node, detail, code }: Of<"faultSeen">): string {
  return `fault    ${node === null ? "a stranger" : shortAddress(node)}: ${detail} (${code})`;
}
