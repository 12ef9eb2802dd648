/// <reference lib="dom" />
/** The miners' credited units, as of now. */

import { decimal, plural, shortAddress } from "../../../terminal/text/format.ts";
import type { PublicEarnings, RunSnapshot } from "../../public/public_shape.ts";
import { fragmentWith } from "./parts/address.ts";
import { byId, childAt, keepChildren, setClass, setText } from "./parts/elements.ts";

type AskEarnings = () => Promise<PublicEarnings | null>;

const everyMs = 10_000; // rounds may take less than a second, and each answer reads the log

export class EarningsPanel {
  readonly #ask: AskEarnings;
  readonly #drawSoon: () => void;
  #asked = "";
  #askedAtMs = -Infinity;
  #earnings: PublicEarnings | null = null;

  constructor({ ask, drawSoon }: { ask: AskEarnings; drawSoon: () => void }) {
    this.#ask = ask;
    this.#drawSoon = drawSoon;
  }

  show({ run }: RunSnapshot): void {
    const wanted = `${run.round} ${run.phase === "finished" || run.phase === "stopped"}`;
    const isDue = wanted.endsWith("true") || performance.now() - this.#askedAtMs >= everyMs;
    if (this.#asked !== wanted && isDue) this.#refresh(wanted);
    const earnings = this.#earnings;
    byId("earned").hidden = earnings === null;
    if (earnings !== null) showEarnings(earnings);
  }

  #refresh(wanted: string): void {
    this.#asked = wanted;
    this.#askedAtMs = performance.now();
    this.#ask().then((answer) => {
      if (answer === null) return;
      this.#earnings = answer;
      this.#drawSoon();
    });
  }
}

function showEarnings({ miners, sinceRound, round }: PublicEarnings): void {
  const all = miners.reduce((sum, { earned, inEscrow }) => sum + earned + inEscrow, 0);
  const most = Math.max(...miners.map(({ earned, inEscrow }) => earned + inEscrow), 1);
  const escrow = miners.reduce((sum, { inEscrow }) => sum + inEscrow, 0);
  const rounds = sinceRound === 0 ? plural(round + 1, "round") : `rounds ${decimal(sinceRound)} to ${decimal(round)}`;
  const held = escrow === 0 ? "" : `; ${decimal(escrow)} of them in escrow until they vest`;
  setText(byId("earned-about"), `Units of work credited in ${rounds}, by the signed log${held}`);
  const list = byId("earnings");
  miners.forEach(({ node, earned, inEscrow }, i) => {
    const item = childAt(list, i, "li");
    const link = childAt(item, 0, "a");
    const target = fragmentWith("node", node);
    if (link.getAttribute("href") !== target) link.setAttribute("href", target);
    if (link.title !== node) link.title = node;
    setText(link, shortAddress(node));
    const meter = childAt(item, 1, "meter") as HTMLMeterElement;
    meter.max = most;
    meter.value = earned + inEscrow;
    meter.setAttribute("aria-label", `Share of ${shortAddress(node)}`);
    number(item, { column: 2, text: decimal(Math.round(earned + inEscrow)) });
    number(item, { column: 3, text: all === 0 ? "–" : `${(100 * (earned + inEscrow) / all).toFixed(1)} %` });
  });
  keepChildren(list, miners.length);
}

function number(item: Element, { column, text }: { column: number; text: string }): void {
  const cell = childAt(item, column, "span");
  setClass(cell, "number");
  setText(cell, text);
}

export async function servedEarnings(): Promise<PublicEarnings | null> {
  const response = await fetch("/api/v1/earnings").catch(() => null);
  return response?.ok === true ? await response.json().catch(() => null) : null;
}
