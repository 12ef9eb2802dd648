/// <reference lib="dom" />
/**
 * One microbatch's way through the pipeline: each task's miner and times. Chosen by `microbatch=NUMBER` in the
 * fragment, by default the slowest of the moment.
 */

import { decimal, duration, plural, shortAddress } from "../../../../terminal/text/format.ts";
import type { PublicPathway, RunSnapshot } from "../../../public/public_shape.ts";
import { addressPart, fragmentWith, setAddressPart } from "../parts/address.ts";
import { byId, childAt, keepChildren, setClass, setText } from "../parts/elements.ts";
import { drawPathway } from "./pathway_chart.ts";
import { endMs, slowestOf, type WayHop, wayOf } from "./way.ts";

type AskPathway = (microbatch: number) => Promise<PublicPathway | string>;

export class PathwayPanel {
  readonly #ask: AskPathway | null; // null: only the moments' own
  readonly #drawSoon: () => void;
  #asked: { readonly microbatch: number; readonly step: number } | null = null;
  #answer: PublicPathway | string | null = null;
  #drawn: { readonly shown: PublicPathway | string | null; readonly width: number } | null = null;

  constructor({ ask, drawSoon }: { ask: AskPathway | null; drawSoon: () => void }) {
    this.#ask = ask;
    this.#drawSoon = drawSoon;
    const input = byId("microbatch") as HTMLInputElement;
    byId("other").hidden = ask === null;
    input.addEventListener("change", () => {
      if (input.checkValidity()) setAddressPart("microbatch", input.value === "" ? null : input.value);
      drawSoon();
    });
  }

  show({ run }: RunSnapshot): void {
    const chosen = chosenMicrobatch();
    const input = byId("microbatch") as HTMLInputElement;
    const sampled = run.pathways.find(({ microbatch }) => microbatch === chosen);
    const slowest = slowestOf(run.pathways);
    const shown = chosen === null ? slowest : sampled ?? this.#other(chosen, run.step);
    if (document.activeElement !== input) input.value = chosen === null || sampled !== undefined ? "" : String(chosen);
    showChoices(byId("sampled"), { pathways: run.pathways, slowest, chosen });
    const pathway = typeof shown === "string" ? null : shown;
    const isDrawn = this.#drawn?.shown === shown && this.#drawn?.width === innerWidth; // a chart's costs a layout
    if (isDrawn) return;
    this.#drawn = { shown, width: innerWidth };
    const chart = byId("way");
    const way = pathway === null ? [] : wayOf(pathway);
    setText(byId("way-text"), pathway === null ? shown as string | null ?? nothingYet : wayText(pathway, way));
    byId("way-parts").hidden = pathway === null;
    drawPathway(chart, way);
    showTasks(byId("tasks"), way);
  }

  /** A microbatch under way is asked for again when a step closes. */
  #other(microbatch: number, step: number): PublicPathway | string | null {
    if (this.#ask === null) return `Microbatch ${decimal(microbatch)} is not among those of this moment.`;
    const answer = this.#answer;
    const isOver = typeof answer === "object" && answer?.step !== null;
    const isSame = this.#asked?.microbatch === microbatch && (isOver || this.#asked.step === step);
    if (isSame) return answer;
    const isOther = this.#asked?.microbatch !== microbatch;
    if (isOther) this.#answer = "Looking for it in the log …";
    this.#asked = { microbatch, step };
    this.#ask(microbatch).then((found) => {
      if (this.#asked?.microbatch !== microbatch) return;
      this.#answer = found;
      this.#drawSoon();
    });
    return this.#answer;
  }
}

const nothingYet = "Times appear when the first step closes.";

function chosenMicrobatch(): number | null {
  const text = addressPart("microbatch");
  const value = text === null || !/^\d+$/.test(text) ? NaN : Number(text);
  return Number.isSafeInteger(value) ? value : null;
}

function wayText({ microbatch, step, hops }: PublicPathway, way: readonly WayHop[]): string {
  const sum = (of: (hop: WayHop) => number) => way.reduce((total, hop) => total + of(hop), 0);
  const where = step === null ? "in the open step" : `in step ${decimal(step)}`;
  const computed = sum(({ computeMs }) => computeMs);
  const parts = [
    `${duration(sum(({ waitedMs }) => waitedMs))} waiting for a miner`,
    `${duration(sum(({ tookMs }) => tookMs) - computed)} on links and in miners' queues`,
    `${duration(computed)} on devices`,
  ];
  return `Microbatch ${decimal(microbatch)} ${where}, ${plural(hops.length, "task")} done ` +
    `${duration(endMs(way))} after the step was opened: ${parts.join(", ")}.`;
}

interface Choices {
  readonly pathways: readonly PublicPathway[];
  readonly slowest: PublicPathway | null;
  readonly chosen: number | null;
}

function showChoices(list: Element, { pathways, slowest, chosen }: Choices): void {
  const ordered = [...pathways].sort((a, b) => a.microbatch - b.microbatch);
  const shown = chosen ?? slowest?.microbatch;
  ordered.forEach(({ microbatch }, i) => {
    const link = childAt(childAt(list, i, "li"), 0, "a");
    const target = fragmentWith("microbatch", String(microbatch));
    if (link.getAttribute("href") !== target) link.setAttribute("href", target);
    if (microbatch === shown) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
    setText(link, `${decimal(microbatch)}${microbatch === slowest?.microbatch ? " (slowest)" : ""}`);
  });
  keepChildren(list, ordered.length);
}

function showTasks(body: Element, way: readonly WayHop[]): void {
  way.forEach((hop, i) => {
    const row = childAt(body, i, "tr");
    const name = childAt(row, 0, "th");
    name.setAttribute("scope", "row");
    setText(name, `${hop.stage} ${hop.direction}${hop.attempt === 0 ? "" : `, try ${hop.attempt + 1}`}`);
    const link = childAt(childAt(row, 1, "td"), 0, "a");
    link.title = hop.node;
    link.setAttribute("href", fragmentWith("node", hop.node));
    setText(link, shortAddress(hop.node));
    [hop.waitedMs, hop.tookMs, hop.computeMs].forEach((ms, column) => {
      const cell = childAt(row, column + 2, "td");
      setClass(cell, "number");
      setText(cell, duration(ms));
    });
  });
  keepChildren(body, way.length);
}

export async function servedPathway(microbatch: number): Promise<PublicPathway | string> {
  const response = await fetch(`/api/v1/pathway?microbatch=${microbatch}`).catch(() => null);
  if (response === null) return "The orchestrator does not answer.";
  const body = await response.json().catch(() => null) as PublicPathway | { readonly detail: string } | null;
  if (response.ok && body !== null) return body as PublicPathway;
  return body !== null && "detail" in body ? body.detail : "This port keeps no log to look in.";
}
