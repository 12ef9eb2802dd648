/// <reference lib="dom" />
/** Numbers and sentences about the whole run. */

import {
  byteSize,
  clock,
  decimal,
  duration,
  plural,
  roughly,
  short,
  shortAddress,
} from "../../../terminal/text/format.ts";
import type { PublicRun, RunSnapshot } from "../../public/public_shape.ts";
import { byId, childAt, type Fact, keepChildren, setClass, setText, showFacts } from "./parts/elements.ts";

const unknown = "–";

const isOver = ({ phase }: Pick<PublicRun, "phase">): boolean => phase === "finished" || phase === "stopped";

export function showSummary({ run, atMs }: Pick<RunSnapshot, "run" | "atMs">): void {
  document.title = `${run.name} · step ${run.step} of ${run.steps} · iota`;
  setText(byId("name"), run.name === "iota" ? "" : run.name); // the default name is already in the heading
  setText(byId("about"), `${run.size} · ${short(run.parameters)} parameters`);
  const bar = byId("bar") as HTMLProgressElement;
  bar.max = Math.max(1, run.steps);
  bar.value = run.step;
  document.body.classList.toggle("over", isOver(run));
  const waiting = byId("waiting");
  const text = waitingText(run);
  waiting.hidden = text === "";
  setText(waiting, text);
  const took: Fact = { label: "Took", value: clock(atMs - run.startedAtMs) };
  const facts = progressFacts(run);
  showFacts(byId("facts"), isOver(run) ? [...facts.filter(({ isLive }) => isLive !== true), took] : facts);
  showFacts(byId("quality"), qualityFacts(run));
  showNews(byId("news"), run);
}

function waitingText({ isPaused, isPausedByOwner, phase, isHalted, lostStages, unserved }: PublicRun): string {
  if (isPausedByOwner) return "The run's owner has paused it; nothing is lost meanwhile.";
  if (isPaused) return "The run is paused until the orchestrator's disk has room.";
  if (phase === "gathering") return "The run waits for its miners.";
  if (isHalted) {
    const lost = lostStages.map(({ stage, reason }) => `those of stage ${stage} were lost: ${reason}`).join("; ");
    return `The run is halted. Its last rounds do not count because ${lost}.`;
  }
  if (unserved.length === 0 || phase === "finished" || phase === "stopped") return "";
  return `The run waits for a miner on ${unserved.length === 1 ? "stage" : "stages"} ${unserved.join(", ")}.`;
}

interface RunFact extends Fact {
  readonly isLive?: boolean;
}

export function progressFacts(run: PublicRun): RunFact[] {
  const { losses, heldOut } = run;
  const held = heldOut.at(-1);
  return [
    { label: "Step", value: `${decimal(run.step)} of ${decimal(run.steps)}` },
    { label: "Training loss", value: losses.last === null ? unknown : losses.last.toFixed(4) },
    { label: "Held-out loss", value: held === undefined ? unknown : held.loss.toFixed(4) },
    isOver(run)
      ? { label: "Rounds", value: decimal(run.round) }
      : { label: "Round", value: `${decimal(run.round + 1)}, ${run.phase}` },
    { label: "Audits", value: auditsText(run) },
    {
      label: "Time left",
      value: run.remainingMs === null ? unknown : `about ${roughly(run.remainingMs)}`,
      isLive: true,
    },
    {
      label: "Throughput",
      value: run.tokensPerSecond === null ? unknown : `${decimal(run.tokensPerSecond)} tokens/s`,
      isLive: true,
    },
    { label: "Members", value: decimal(run.memberCount), isLive: true },
  ];
}

const auditsText = ({ verdicts: { passed, failed } }: PublicRun): string =>
  failed === 0 ? `${decimal(passed)} passed` : `${decimal(passed)} passed, ${decimal(failed)} failed`;

export function qualityFacts({ lastMerge, verdicts: { last }, wire, reLeases, learningRate }: PublicRun): Fact[] {
  return [
    { label: "Last merge", value: lastMerge === null ? "none yet" : `round ${decimal(lastMerge.round)}` },
    { label: "It took", value: lastMerge === null ? unknown : duration(lastMerge.mergeMs) },
    { label: "Uploaded by each miner", value: lastMerge === null ? unknown : byteSize(lastMerge.bytesPerMiner) },
    { label: "Replicas agree", value: agreeText(lastMerge) },
    {
      label: "Last audit",
      value: last === null ? "none yet" : `${shortAddress(last.miner)} ${last.passed ? "passed" : "failed"}`,
    },
    {
      label: "Wire, forward and back",
      value: wire === null ? unknown : `${decimal(wire.forwardBytes)} and ${decimal(wire.backwardBytes)} B/token`,
    },
    { label: "Handed out again", value: plural(reLeases, "task") },
    { label: "Learning rate", value: learningRate === null ? unknown : learningRate.toExponential(2) },
  ];
}

function agreeText(lastMerge: PublicRun["lastMerge"]): string {
  if (lastMerge === null) return unknown;
  return lastMerge.agree === null ? "nothing to compare" : lastMerge.agree ? "yes" : "no";
}

function showNews(list: Element, { news, startedAtMs }: PublicRun): void {
  [...news].reverse().forEach(({ atMs, level, text }, i) => {
    const item = childAt(list, i, "li");
    const at = childAt(item, 0, "span");
    setClass(at, "at");
    setText(at, clock(atMs - startedAtMs));
    const words = childAt(item, 1, "span");
    setClass(words, level);
    setText(words, level === "warn" ? `⚠ ${text}` : text);
  });
  keepChildren(list, news.length);
}
