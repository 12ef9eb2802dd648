/// <reference lib="dom" />
/**
 * The owner's controls, where `iota admin page` serves this page and signs. The page's key, `owner=KEY`, leaves the
 * address at once. Irreversible actions ask first. Invariant: nothing is shown without the key.
 */

import type { PublicRun } from "../../public/public_shape.ts";
import { addressPart, setAddressPart } from "./parts/address.ts";
import { byId, setText } from "./parts/elements.ts";

interface Asked {
  readonly action: string;
  readonly node?: string;
  readonly learningRate?: number;
}

export class OwnerPanel {
  readonly #key: string | null = addressPart("owner");
  #isPaused = false;
  #shown: string | null = null;
  #waiting: Asked | null = null;

  constructor() {
    setAddressPart("owner", null);
    if (this.#key === null) return;
    const text = (id: string) => (byId(id) as HTMLInputElement).value.trim();
    const node = () => text("owner-address");
    const on = (id: string, event: "click" | "submit", act: () => void) =>
      byId(id).addEventListener(event, (happened) => {
        happened.preventDefault();
        act();
      });
    on("owner-pause", "click", () => this.#send({ action: this.#isPaused ? "resume" : "pause" }));
    on(
      "owner-round",
      "click",
      () => this.#confirm({ action: "stopAfterRound" }, "Stop the run when the open round is merged?"),
    );
    on("owner-stop", "click", () => this.#confirm({ action: "stop" }, "Stop the run now? It can be resumed later."));
    on("owner-rate", "submit", () => {
      const learningRate = Number(text("owner-value"));
      if (Number.isFinite(learningRate)) return void this.#send({ action: "rate", learningRate });
      setText(byId("owner-answer"), "A learning rate is a number such as 0.0005");
    });
    on(
      "owner-node",
      "submit",
      () =>
        this.#confirm({ action: "kick", node: node() }, `Remove ${node()}? What it has not merged yet is lost to it.`),
    );
    on("owner-admit", "click", () => this.#send({ action: "admit", node: node() }));
    on("owner-yes", "click", () => this.#answer(true));
    on("owner-no", "click", () => this.#answer(false));
  }

  show({ isPausedByOwner, phase }: PublicRun): void {
    byId("owner").hidden = this.#key === null;
    this.#isPaused = isPausedByOwner;
    setText(byId("owner-pause"), isPausedByOwner ? "Resume" : "Pause");
    this.#fillIn(addressPart("node"));
    const isOver = phase === "finished" || phase === "stopped";
    for (const each of byId("owner").querySelectorAll<HTMLButtonElement | HTMLInputElement>("button, input")) {
      if (each.disabled !== isOver) each.disabled = isOver;
    }
  }

  #fillIn(node: string | null): void {
    if (node === this.#shown) return;
    this.#shown = node;
    if (node !== null) (byId("owner-address") as HTMLInputElement).value = node;
  }

  #confirm(asked: Asked, question: string): void {
    this.#waiting = asked;
    setText(byId("owner-question"), question);
    byId("owner-sure").hidden = false;
    byId("owner-no").focus();
  }

  #answer(isYes: boolean): void {
    const asked = this.#waiting;
    this.#waiting = null;
    byId("owner-sure").hidden = true;
    byId("owner-pause").focus();
    if (isYes && asked !== null) this.#send(asked);
  }

  async #send(asked: Asked): Promise<void> {
    setText(byId("owner-answer"), "Asking …");
    setText(byId("owner-answer"), await answerTo(asked, this.#key ?? ""));
  }
}

async function answerTo(asked: Asked, key: string): Promise<string> {
  try {
    const headers = { "content-type": "application/json", "x-iota-owner": key };
    const response = await fetch("/owner", { method: "POST", headers, body: JSON.stringify(asked) });
    const { text, detail } = await response.json() as { text?: string; detail?: string };
    return text ?? detail ?? `The answer was ${response.status}`;
  } catch {
    return "iota admin page does not answer; start it again";
  }
}
