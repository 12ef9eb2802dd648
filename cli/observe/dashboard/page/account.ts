/// <reference lib="dom" />
/**
 * What the signed log says of the shown member: earnings and why, advice, scores, weights. Always as of now, even
 * beside a past moment.
 */

import type { PublicAccount, RunSnapshot } from "../../public/public_shape.ts";
import { decimal, shortAddress } from "../../../terminal/text/format.ts";
import { addressPart, fragmentWith } from "./parts/address.ts";
import { drawEffects } from "./curves/effect_chart.ts";
import { byId, childAt, keepChildren, setClass, setText, showLines } from "./parts/elements.ts";

type AskAccount = (node: string) => Promise<PublicAccount | string>;

export class AccountPanel {
  readonly #ask: AskAccount | null; // null: a recording
  readonly #drawSoon: () => void;
  #asked: { readonly node: string; readonly round: number } | null = null;
  #answer: PublicAccount | string = "";

  constructor({ ask, drawSoon }: { ask: AskAccount | null; drawSoon: () => void }) {
    this.#ask = ask;
    this.#drawSoon = drawSoon;
  }

  show({ run }: RunSnapshot): void {
    const node = addressPart("node");
    const section = byId("account");
    section.hidden = node === null || this.#ask === null;
    if (node === null || this.#ask === null) return;
    if (this.#asked?.node !== node || this.#asked.round !== run.round) this.#askFor({ node, round: run.round });
    const answer = this.#answer;
    const account = typeof answer === "string" ? null : answer;
    setText(byId("since"), typeof answer === "string" ? answer : sinceText(answer));
    showPart("checked", account?.checked ?? []);
    showPart("effects", account?.effects ?? []);
    showPart("advice", account?.advice ?? []);
    showRounds(account);
    showShares(account);
    drawEffects(byId("effect-bars"), account?.clasp ?? []); // last, because the parts beside it set its width
  }

  #askFor(asked: { node: string; round: number }): void {
    if (this.#asked?.node !== asked.node) this.#answer = "Reading the signed log …";
    this.#asked = asked;
    this.#ask?.(asked.node).then((answer) => {
      if (this.#asked?.node !== asked.node) return;
      this.#answer = answer;
      this.#drawSoon();
    });
  }
}

function sinceText({ sinceRound, weights }: PublicAccount): string {
  const from = sinceRound === null
    ? "No round has ended yet"
    : `From the signed log, round ${sinceRound} and later (rounds count from 0)`;
  return `${from}, as of now${weights === null ? "" : `; weights as of block ${decimal(weights.block)} of the chain`}.`;
}

function showPart(id: string, lines: readonly string[]): void {
  byId(id).parentElement!.hidden = lines.length === 0;
  showLines(byId(id), lines);
}

function showRounds(account: PublicAccount | null): void {
  const rounds = account?.rounds ?? [];
  byId("rounds").closest("div")!.hidden = rounds.length === 0;
  const body = byId("rounds");
  rounds.forEach(({ round, tasks, earned, credited, reasons, shareOfScores, withheldBy }, i) => {
    const row = childAt(body, i, "tr");
    const name = childAt(row, 0, "th");
    name.setAttribute("scope", "row");
    setText(name, decimal(round));
    const number = (column: number, text: string) => {
      const cell = childAt(row, column, "td");
      setClass(cell, "number");
      setText(cell, text);
    };
    number(1, decimal(tasks));
    number(2, `${decimal(credited)} of ${decimal(earned)}`);
    number(3, shareOfScores === null ? "–" : percent(shareOfScores));
    const why = childAt(row, 4, "td");
    setClass(why, "words");
    setText(why, [...reasons, ...withheldBy.map((by) => `⚠ withheld by ${shortAddress(by)}`)].join("; ") || "in full");
  });
  keepChildren(body, rounds.length);
}

const percent = (share: number): string => `${(100 * share).toFixed(1)} %`;

interface Share {
  readonly node: string;
  readonly text: string;
}

function showShares(account: PublicAccount | null): void {
  const { scores = null, weights = null } = account ?? {};
  const own = scores === null || scores.own === 0 ? "none differs from the common ones" : `${scores.own} of its own`;
  const setAt = weights === null || weights.setAtBlock === null ? "" : `, set at block ${decimal(weights.setAtBlock)}`;
  showList("scores", {
    title: `Its scores after round ${scores?.round ?? 0}: ${own}`,
    shares: (scores?.shares ?? []).map(({ node, share }) => ({ node, text: percent(share) })),
  });
  showList("given", {
    title: `Its weights on the chain${setAt}`,
    shares: (weights?.given ?? []).map(({ node, share }) => ({ node, text: percent(share) })),
  });
  showList("received", {
    title: "Weights on the chain, by validator",
    shares: (weights?.received ?? []).map(({ validator, share }) => ({ node: validator, text: percent(share) })),
  });
}

function showList(id: string, { title, shares }: { title: string; shares: readonly Share[] }): void {
  const list = byId(id);
  const part = list.parentElement!;
  part.hidden = shares.length === 0;
  setText(part.firstElementChild!, title);
  shares.forEach(({ node, text }, i) => {
    const item = childAt(list, i, "li");
    const link = childAt(item, 0, "a");
    const target = fragmentWith("node", node);
    if (link.getAttribute("href") !== target) link.setAttribute("href", target);
    if (link.title !== node) link.title = node;
    setText(link, shortAddress(node));
    setText(childAt(item, 1, "span"), text);
  });
  keepChildren(list, shares.length);
}

const againMs = 1_500;
const mostTries = 5; // while others ask

export async function servedAccount(node: string): Promise<PublicAccount | string> {
  for (let tries = 1;; tries++) {
    const response = await fetch(`/api/v1/member?node=${encodeURIComponent(node)}`).catch(() => null);
    if (response === null) return "The orchestrator does not answer.";
    if (response.status === 503 && tries < mostTries) {
      await new Promise((resolve) => setTimeout(resolve, againMs));
      continue;
    }
    const body = await response.json().catch(() => null) as PublicAccount | { readonly detail: string } | null;
    if (response.ok) return body as PublicAccount | null ?? "The signed log does not name it yet.";
    return body !== null && "detail" in body ? body.detail : "This port keeps no log to look in.";
  }
}
