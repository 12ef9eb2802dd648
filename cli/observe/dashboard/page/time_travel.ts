/// <reference lib="dom" />
/**
 * The slider over the run: the newest state or a past one (`at=SEQUENCE` in the fragment). One past moment is asked for
 * at a time; of those chosen meanwhile, the last counts.
 */

import { clock, decimal, plural } from "../../../terminal/text/format.ts";
import type { RunSnapshot } from "../../public/public_shape.ts";
import { addressPart, setAddressPart } from "./parts/address.ts";
import { byId, setText } from "./parts/elements.ts";
import type { Past } from "./past.ts";

interface TimeTravelOptions {
  readonly openPast: (newest: number) => Promise<Past | null>;
  readonly show: (state: RunSnapshot) => void;
}

const playMs = 100;
const playedPositions = 200; // a whole run takes twenty seconds

export class TimeTravel {
  readonly #options: TimeTravelOptions;
  readonly #slider = byId("moment") as HTMLInputElement;
  readonly #button = byId("newest") as HTMLButtonElement;
  #past: Past | null = null;
  #newest: RunSnapshot | null = null;
  #shown: RunSnapshot | null = null;
  #chosen: number | null = addressedMoment(); // null: the newest
  #isAsking = false;
  #slides = 0;
  #playing: ReturnType<typeof setInterval> | undefined;

  constructor(options: TimeTravelOptions) {
    this.#options = options;
    this.#slider.addEventListener("input", () => this.#slide(Number(this.#slider.value)));
    byId("earlier").addEventListener("click", () => this.#step(-1));
    byId("later").addEventListener("click", () => this.#step(1));
    byId("play").addEventListener("click", () => this.#playing === undefined ? this.#play() : this.#pause());
    this.#button.addEventListener("click", () => this.#choose(null));
    this.#allowNewest();
    addEventListener("hashchange", () => {
      const moment = addressedMoment();
      if (moment !== this.#chosen) this.#choose(moment);
    });
  }

  async take(newest: RunSnapshot): Promise<void> {
    const isFirst = this.#newest === null;
    this.#newest = newest;
    if (this.#chosen === null) this.#options.show(newest);
    if (!isFirst) return this.#draw(this.#shown ?? newest);
    await this.#openPast();
    if (this.#chosen !== null) await this.#ask();
  }

  async #openPast(): Promise<void> {
    this.#past = await this.#options.openPast(this.#newest?.sequence ?? 0);
    byId("time").hidden = this.#past === null;
    if (this.#past === null) return;
    this.#slider.max = String(this.#past.positions);
    const gaps = byId("gaps");
    setText(gaps, gapText(this.#past));
    gaps.hidden = gaps.textContent === "";
    if (this.#newest !== null) this.#draw(this.#newest);
  }

  async #slide(position: number): Promise<void> {
    if (this.#chosen === null && this.#past !== null) {
      const share = position / this.#past.positions;
      const slide = ++this.#slides;
      await this.#openPast();
      if (slide !== this.#slides) return; // the slider moved on
      position = Math.round(share * (this.#past?.positions ?? 0));
      this.#slider.value = String(position); // drawn at its end meanwhile
    }
    const past = this.#past;
    if (past !== null) this.#choose(position >= past.positions ? null : past.sequenceAt(position));
  }

  async #step(by: number): Promise<void> {
    if (this.#chosen === null) await this.#openPast();
    const past = this.#past;
    if (past === null) return;
    const { first, last } = past.span;
    const from = this.#chosen ?? last;
    const isCoarse = past.sequenceAt(past.positions) - past.sequenceAt(0) !== last - first;
    const to = isCoarse ? past.sequenceAt(past.positionOf(from) + by) : from + by;
    this.#choose(to >= last ? null : Math.max(first, to));
  }

  #play(): void {
    if (this.#past === null) return;
    if (this.#chosen === null) this.#choose(this.#past.span.first);
    setText(byId("play"), "Pause");
    this.#playing = setInterval(() => {
      const past = this.#past;
      if (past === null || this.#chosen === null) return this.#pause();
      if (this.#isAsking) return;
      const position = past.positionOf(this.#chosen) + Math.max(1, Math.round(past.positions / playedPositions));
      this.#choose(position >= past.positions ? null : past.sequenceAt(position));
    }, playMs);
  }

  #pause(): void {
    clearInterval(this.#playing);
    this.#playing = undefined;
    setText(byId("play"), "Play");
  }

  #choose(sequence: number | null): void {
    this.#chosen = sequence;
    setAddressPart("at", sequence === null ? null : String(sequence));
    this.#allowNewest(); // people may go back before it arrives
    if (sequence !== null) return void this.#ask();
    this.#shown = null;
    this.#pause();
    if (this.#newest === null) return;
    this.#options.show(this.#newest);
    this.#draw(this.#newest);
  }

  #allowNewest(): void {
    const isNewest = this.#chosen === null;
    if (isNewest && document.activeElement === this.#button) this.#slider.focus(); // a disabled button takes no keys
    this.#button.disabled = isNewest;
  }

  async #ask(): Promise<void> {
    if (this.#isAsking) return;
    this.#isAsking = true;
    let asked: number | null = null;
    while (this.#chosen !== null && this.#chosen !== asked && this.#past !== null) {
      asked = this.#chosen;
      const state = await this.#past.at(asked);
      if (state === null) asked = null;
      else if (this.#chosen !== null) {
        this.#shown = state;
        this.#options.show(state);
        this.#draw(state);
      }
    }
    this.#isAsking = false;
  }

  #draw(state: RunSnapshot): void {
    const past = this.#past;
    if (past === null) return;
    const isPast = this.#chosen !== null;
    document.body.classList.toggle("past", isPast);
    const text = momentText(state);
    const isMoving = document.activeElement === this.#slider && this.#isAsking; // ahead of what is shown
    if (!isMoving) this.#slider.value = String(isPast ? past.positionOf(state.sequence) : past.positions);
    this.#slider.setAttribute("aria-valuetext", text);
    setText(byId("moment-text"), isPast ? text : `${text} · newest`);
  }
}

function momentText({ run, atMs }: RunSnapshot): string {
  const at = new Date(atMs).toLocaleString(undefined, { dateStyle: "medium", timeStyle: "medium" });
  return `step ${decimal(run.step)} of ${decimal(run.steps)} · ${
    clock(atMs - run.startedAtMs)
  } after the start · ${at}`;
}

function gapText({ span: { first, gaps, missing, damaged } }: Past): string {
  const parts: string[] = [];
  if (first > 1) parts.push(`The first ${plural(first - 1, "record")} are no longer kept.`);
  if (missing > 0) {
    const where = gaps.slice(0, 3).map(({ from, to }) =>
      from === to ? decimal(from) : `${decimal(from)}–${decimal(to)}`
    );
    const more = gaps.length > where.length ? " and others" : "";
    parts.push(`${plural(missing, "record")} missing: ${where.join(", ")}${more}.`);
  }
  if (damaged > 0) parts.push(`${plural(damaged, "line")} of the log cannot be read.`);
  if (missing + damaged > 0) parts.push("Moments after a gap may lack what was in it.");
  return parts.join(" ");
}

function addressedMoment(): number | null {
  const sequence = Number(addressPart("at") ?? NaN);
  return Number.isSafeInteger(sequence) && sequence >= 0 ? sequence : null;
}
