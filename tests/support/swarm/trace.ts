/**
 * What the orchestrator machine did, as text that a person reads and reviews: each event in, and below it the effects and records
 * out, a line each.
 *
 * Blobs get short names (#1, #2) in the order in which they appear, so a trace is the same in every run. `assertTrace` compares it
 * with a file beside the scenarios; with UPDATE_TRACES=1 it writes that file instead, and the reviewer reads the difference.
 */

import { assertEquals } from "@std/assert";
import type { OrchestratorEffect, OrchestratorEvent } from "../../../core/orchestrator/event.ts";
import type { ScriptedOrchestrator } from "./scripted_orchestrator.ts";

const folder = new URL("../../scenarios/traces/", import.meta.url);
const mostShown = 8; // of a list
const digits = 6;
const untold: Readonly<Record<string, true>> = {
  type: true,
  config: true,
  layersOfStages: true,
  draws: true,
  role: true,
  signature: true,
};

export class Trace {
  readonly #lines: string[] = [];
  readonly #names = new Map<string, string>();
  readonly #startMs: number;
  #isPaused = false;

  /** Traces every event of the orchestrator from here on. */
  constructor(hub: ScriptedOrchestrator) {
    this.#startMs = hub.nowMs;
    hub.watch = (event, effects) => {
      if (this.#isPaused || (event.type === "tick" && effects.length === 0)) return;
      this.#lines.push(`${((hub.nowMs - this.#startMs) / 1000).toFixed(3)} s  ${this.#event(event)}`);
      for (const effect of effects) this.#lines.push(`    ${this.#effect(effect)}`);
    };
  }

  /** Tells the reader what comes next. */
  note(text: string): void {
    if (this.#lines.length > 0) this.#lines.push("");
    this.#lines.push(`# ${text}`);
  }

  /** Leaves out what happens until `resume`; a note should say so. */
  pause(): void {
    this.#isPaused = true;
  }

  resume(): void {
    this.#isPaused = false;
  }

  get text(): string {
    return `${this.#lines.join("\n")}\n`;
  }

  #event(event: OrchestratorEvent): string {
    if (event.type === "messageReceived") {
      const { node, message, segments, scale } = event;
      const wires = segments.length === 0 ? {} : { segments, largest: scale.largest, rms: scale.rms };
      return `${node} says ${message.type}${this.#fields({ ...message, ...wires })}`;
    }
    return `${event.type}${this.#fields(event)}`;
  }

  #effect(effect: OrchestratorEffect): string {
    if (effect.type === "record") return `record ${effect.record.type}${this.#fields(effect.record)}`;
    if (effect.type === "log") return `log ${effect.entry.type}${this.#fields(effect.entry)}`;
    if (effect.type !== "send") return `${effect.type}${this.#fields(effect)}`;
    const { to, message, attachments } = effect;
    const attached = attachments.length === 0 ? {} : { with: attachments.map((each) => this.#attachment(each)) };
    return `to ${to}: ${message.type}${this.#fields({ ...message, ...attached })}`;
  }

  #attachment(attachment: { readonly type: string; readonly ref?: unknown }): string {
    return attachment.type === "blob" ? this.#value(attachment.ref) : attachment.type;
  }

  #fields(value: object): string {
    const told = Object.entries(value).filter(([key]) => untold[key] !== true);
    return told.map(([key, each]) => ` ${key}=${this.#value(each)}`).join("");
  }

  #value(value: unknown): string {
    if (value === null || value === undefined) return "none";
    if (typeof value === "number") return String(Number(value.toPrecision(digits)));
    if (typeof value === "string") {
      if (isHash(value)) return this.#nameOf(value);
      return value.includes(" ") ? JSON.stringify(value) : value;
    }
    if (typeof value !== "object") return String(value);
    if (Array.isArray(value) || value instanceof Set) return this.#list([...value]);
    const { hash, ...rest } = value as { hash?: unknown };
    if (typeof hash === "string" && "bytes" in rest) return this.#nameOf(hash);
    const type = "type" in value && typeof value.type === "string" ? value.type : "";
    const fields = this.#fields({ ...value });
    if (fields === "") return type === "" ? "{}" : type;
    return `{${type === "" ? "" : `${type}:`}${fields}}`.replace("{ ", "{");
  }

  #list(values: readonly unknown[]): string {
    const shown = values.slice(0, mostShown).map((each) => this.#value(each));
    return `[${shown.join(" ")}${values.length > mostShown ? ` ... ${values.length} in all` : ""}]`;
  }

  #nameOf(hash: string): string {
    const name = this.#names.get(hash) ?? `#${this.#names.size + 1}`;
    this.#names.set(hash, name);
    return name;
  }
}

const isHash = (text: string): boolean => /^[0-9a-f]{64}$/.test(text);

/** Compares with `tests/scenarios/traces/NAME.txt`, or writes it. */
export function assertTrace(name: string, { text }: Trace): void {
  const file = new URL(`${name}.txt`, folder);
  if (Deno.env.get("UPDATE_TRACES") === "1") return Deno.writeTextFileSync(file, text);
  const hint =
    `The run differs from tests/scenarios/traces/${name}.txt. If the change is intended, rewrite the file with ` +
    "UPDATE_TRACES=1 and review the difference";
  assertEquals(text, Deno.readTextFileSync(file), hint);
}
