/** Reads the machine's state every few seconds and says when a miner must pause and may resume. */

import type { Cancel, Timers } from "../../../net/timers.ts";
import { otherLoad, type ProcessorTimes } from "./machine_load.ts";
import { decide, type PauseRules, type Readings, running, unknowable, type Verdict } from "./rules.ts";
import { localMinute } from "./schedule.ts";

export interface PauseWatchOptions {
  readonly rules: PauseRules;
  readonly timers: Timers;
  readonly now: () => Date;
  readonly readTimes: () => ProcessorTimes;
  /** Null: sensors cannot be read here. */
  readonly readSensors: (() => Promise<string | null>) | null;
}

const lookMs = 10_000;
const firstLookMs = 1_000; // for a first processor load

export class PauseWatch {
  readonly #options: PauseWatchOptions;
  #verdict: Verdict = running;
  #isHeld = false;
  #times: ProcessorTimes | null = null;
  #load: number | null = null;
  #cancel: Cancel = () => {};
  #isStopped = false;
  #listeners: ((verdict: Verdict) => void)[] = [];

  constructor(options: PauseWatchOptions) {
    this.#options = options;
  }

  get verdict(): Verdict {
    return this.#verdict;
  }

  onChange(listener: (verdict: Verdict) => void): void {
    this.#listeners.push(listener);
  }

  /** Resolves to the rules that this machine cannot check. */
  async start(): Promise<string[]> {
    const { rules, timers } = this.#options;
    if (rules.idleOnly) {
      await this.#read();
      await new Promise<void>((resolve) => this.#cancel = timers.after(firstLookMs, resolve));
    }
    const readings = await this.#read();
    this.#judge(readings);
    this.#lookLater();
    return unknowable(rules, readings);
  }

  /** By hand, whatever the rules say. */
  async toggle(): Promise<void> {
    this.#isHeld = !this.#isHeld;
    this.#judge(await this.#read());
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancel();
  }

  #lookLater(): void {
    if (this.#isStopped) return;
    this.#cancel = this.#options.timers.after(lookMs, () => {
      this.#read().then((readings) => this.#judge(readings)).finally(() => this.#lookLater());
    });
  }

  async #read(): Promise<Readings> {
    const { now, readTimes, readSensors, rules } = this.#options;
    if (rules.idleOnly) this.#measureLoad(readTimes());
    const text = await readSensors?.() ?? null;
    const sensors = text === null ? { userIdleMs: null, onMains: null, celsius: null } : readSensorText(text);
    return { at: localMinute(now()), isHeld: this.#isHeld, otherLoad: this.#load, ...sensors };
  }

  #measureLoad(times: ProcessorTimes): void {
    if (this.#times !== null) this.#load = otherLoad(this.#times, times) ?? this.#load;
    this.#times = times;
  }

  #judge(readings: Readings): void {
    const before = this.#verdict;
    this.#verdict = decide(this.#options.rules, readings, before);
    const isNews = before.runs !== this.#verdict.runs ||
      (!before.runs && !this.#verdict.runs && before.cause !== this.#verdict.cause);
    if (isNews && !this.#isStopped) { for (const listener of this.#listeners) listener(this.#verdict); }
  }
}

/** From the output of cli/rights/sensor_process.ts; unknown lines are ignored. */
interface SensorReadings {
  readonly userIdleMs: number | null;
  readonly onMains: boolean;
  readonly celsius: number | null;
}

const plausibleCelsius = { least: -40, most: 150 }; // broken sensors read far outside this

export function readSensorText(text: string): SensorReadings {
  let userIdleMs: number | null = null;
  let isFed = false; // by a supply other than the battery
  let hasBattery = false;
  let isDraining = false;
  let celsius: number | null = null;
  for (const line of text.split("\n")) {
    const [name, ...values] = line.trim().split(/\s+/);
    const value = values.at(-1) ?? "";
    if (name === "online" && value === "1") isFed = true;
    if (name === "battery") {
      hasBattery = true;
      if (value === "Discharging") isDraining = true;
    }
    if (name === "source") {
      hasBattery = true;
      isDraining = value !== "Power" || values[0] !== "AC"; // "AC Power" or "Battery Power"
    }
    if (name === "idleNanoseconds" && /^\d+$/.test(value)) userIdleMs = Number(value) / 1e6;
    if (name === "millidegrees" && /^-?\d+$/.test(value)) celsius = hotter(celsius, Number(value) / 1000);
  }
  return { userIdleMs, onMains: isFed || !hasBattery || !isDraining, celsius };
}

function hotter(so: number | null, celsius: number): number | null {
  if (celsius < plausibleCelsius.least || celsius > plausibleCelsius.most) return so;
  return so === null ? celsius : Math.max(so, celsius);
}
