/// <reference lib="dom" />
/** The page's numbers and sentences about the whole run: header, progress, merges and audits, news. */

import { byteSize, clock, decimal, duration, plural, roughly, short, shortAddress } from "../../screen/format.ts";
import type { PublicRun } from "../public_run.ts";
import { byId, childAt, type Fact, keepChildren, setClass, setText, showFacts } from "./elements.ts";

const unknown = "–";

export function showSummary(run: PublicRun): void {
  document.title = `${run.name} · step ${run.step} of ${run.steps} · iota`;
  setText(byId("name"), run.name === "iota" ? "" : run.name); // the default name is already in the heading
  setText(byId("about"), `${run.size} · ${short(run.parameters)} parameters`);
  const bar = byId("bar") as HTMLProgressElement;
  bar.max = Math.max(1, run.steps);
  bar.value = run.step;
  const waiting = byId("waiting");
  const text = waitingText(run);
  waiting.hidden = text === "";
  setText(waiting, text);
  showFacts(byId("facts"), progressFacts(run));
  showFacts(byId("quality"), qualityFacts(run));
  showNews(byId("news"), run);
}

function waitingText({ isPaused, isPausedByOwner, phase, haltedBy, unserved }: PublicRun): string {
  if (isPausedByOwner) return "The run's owner has paused it; nothing is lost meanwhile.";
  if (isPaused) return "The run is paused until the orchestrator's disk has room.";
  if (phase === "gathering") return "The run waits for its miners.";
  if (haltedBy !== null) {
    const stages = `${haltedBy.length === 1 ? "stage" : "stages"} ${haltedBy.join(", ")}`;
    return `The run is halted: its last rounds do not count because no payload of ${stages} arrived.`;
  }
  if (unserved.length === 0 || phase === "finished" || phase === "stopped") return "";
  return `The run waits for a miner on ${unserved.length === 1 ? "stage" : "stages"} ${unserved.join(", ")}.`;
}

export function progressFacts(run: PublicRun): Fact[] {
  const { losses, heldOut } = run;
  const held = heldOut.at(-1);
  return [
    { label: "Phase", value: run.phase },
    { label: "Step", value: `${decimal(run.step)} of ${decimal(run.steps)}` },
    { label: "Round", value: decimal(run.round + 1) },
    { label: "Time left", value: run.remainingMs === null ? unknown : `about ${roughly(run.remainingMs)}` },
    { label: "Training loss", value: losses.last === null ? unknown : `${losses.last.toFixed(4)} nats` },
    {
      label: "Held-out loss",
      value: held === undefined ? unknown : `${held.loss.toFixed(4)} nats, step ${decimal(held.step)}`,
    },
    { label: "Throughput", value: run.tokensPerSecond === null ? unknown : `${decimal(run.tokensPerSecond)} tokens/s` },
    { label: "Members", value: decimal(run.memberCount) },
    { label: "Learning rate", value: run.learningRate === null ? unknown : run.learningRate.toExponential(2) },
  ];
}

export function qualityFacts({ lastMerge, verdicts, wire, reLeases }: PublicRun): Fact[] {
  const { passed, failed, last } = verdicts;
  return [
    { label: "Last merge", value: lastMerge === null ? "none yet" : `round ${decimal(lastMerge.round)}` },
    { label: "It took", value: lastMerge === null ? unknown : duration(lastMerge.mergeMs) },
    { label: "Uploaded by each miner", value: lastMerge === null ? unknown : byteSize(lastMerge.bytesPerMiner) },
    { label: "Replicas agree", value: agreeText(lastMerge) },
    { label: "Audits", value: `${decimal(passed)} passed, ${decimal(failed)} failed` },
    {
      label: "Last audit",
      value: last === null ? "none yet" : `${shortAddress(last.miner)} ${last.passed ? "passed" : "failed"}`,
    },
    {
      label: "Wire, forward and back",
      value: wire === null ? unknown : `${decimal(wire.forwardBytes)} and ${decimal(wire.backwardBytes)} B/token`,
    },
    { label: "Handed out again", value: plural(reLeases, "task") },
  ];
}

function agreeText(lastMerge: PublicRun["lastMerge"]): string {
  if (lastMerge === null) return unknown;
  return lastMerge.agree === null ? "nothing to compare" : lastMerge.agree ? "yes" : "no";
}

/** The newest first. */
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
