/**
 * What a knob is: the description of one number, switch, text or choice of `RunConfig`, and the check of a value
 * against it.
 *
 * Owns: the paths (derived from the type, so a misspelt or forgotten one does not compile), the kinds and their limits,
 * and how a value is shown. The table of all knobs is knobs.ts. Checks never throw: a wrong value yields the text of
 * the broken rule.
 */

import type { RunConfig } from "./config.ts";

export type KnobValue = number | boolean | string;

type Leaves<T, Prefix extends string> = {
  [Key in keyof T & string]-?: Required<T>[Key] extends KnobValue ? `${Prefix}${Key}`
    : Leaves<Required<T>[Key], `${Prefix}${Key}.`>;
}[keyof T & string];

/** "train.learningRate", and so on for every leaf of `RunConfig`. */
export type KnobPath = Leaves<RunConfig, "">;

/** The type of the leaf at a path. */
export type KnobValueAt<Path extends string, T = RunConfig> = Path extends keyof T ? Required<T>[Path]
  : Path extends `${infer Head}.${infer Rest}` ? Head extends keyof T ? KnobValueAt<Rest, Required<T>[Head]> : never
  : never;

/** Instead of a default: size.ts or derive.ts gives the value. */
export const derived = "derived from size";
export type Derived = typeof derived;

interface KnobBase {
  readonly doc: string; // one sentence
  readonly unit: string; // "" where there is none
  readonly mayChange?: true; // during a run: nothing computed or stored depends on the old value
  /**
   * For a knob that older versions do not know. A configuration omits it at its default, so that all versions hash,
   * save and send such a configuration alike.
   */
  readonly omitsDefault?: true;
}

export interface NumberKnob extends KnobBase {
  readonly kind: "int" | "float";
  readonly min: number;
  readonly max: number;
  readonly multipleOf: number; // 0: anything
  readonly default: number | Derived;
}

export interface BooleanKnob extends KnobBase {
  readonly kind: "boolean";
  readonly default: boolean;
}

export interface StringKnob extends KnobBase {
  readonly kind: "string";
  readonly maxLength: number;
  readonly pattern: RegExp;
  readonly patternText: string; // the pattern in words, after "must be"
  readonly default: string;
}

export interface ChoiceKnob extends KnobBase {
  readonly kind: "choice";
  readonly choices: readonly string[];
  readonly default: string;
}

export type Knob = NumberKnob | BooleanKnob | StringKnob | ChoiceKnob;

/** The knob that fits a leaf's type; string leaves are open texts or closed choices. */
export type KnobFor<Value> = [Value] extends [boolean] ? BooleanKnob
  : [Value] extends [number] ? NumberKnob
  : StringKnob | ChoiceKnob;

/** The rule that a value breaks, phrased to follow "must be"; null if it breaks none. */
export function brokenRule(knob: Knob, value: unknown): string | null {
  switch (knob.kind) {
    case "int":
    case "float":
      return brokenNumberRule(knob, value);
    case "boolean":
      return typeof value === "boolean" ? null : "true or false";
    case "string":
      if (typeof value !== "string") return `a text in quotes: ${knob.patternText}`;
      if (value.length > knob.maxLength) return `at most ${knob.maxLength} characters long`;
      return knob.pattern.test(value) ? null : knob.patternText;
    case "choice":
      return typeof value === "string" && knob.choices.includes(value) ? null : `one of ${knob.choices.join(", ")}`;
  }
}

function brokenNumberRule(knob: NumberKnob, value: unknown): string | null {
  const noun = knob.kind === "int" ? "a whole number" : "a number";
  if (typeof value !== "number") return `${noun} between ${knob.min} and ${knob.max}`;
  if (knob.kind === "int" && Number.isFinite(value) && !Number.isInteger(value)) return noun;
  if (!(value >= knob.min && value <= knob.max)) return `between ${knob.min} and ${knob.max}`; // NaN lands here too
  if (knob.multipleOf > 0 && value % knob.multipleOf !== 0) return `a multiple of ${knob.multipleOf}`;
  return null;
}

const shownLength = 60;

/** An untrusted value for people: short, quoted if it is text, never a dump. */
export function showValue(value: unknown): string {
  if (typeof value === "string") {
    return JSON.stringify(value.length > shownLength ? `${value.slice(0, shownLength)}…` : value);
  }
  if (value === null || value === undefined) return "nothing";
  if (Array.isArray(value)) return `a list of ${value.length}`;
  if (typeof value === "number" || typeof value === "boolean" || typeof value === "bigint") return String(value);
  if (value instanceof Date) return "a date";
  return typeof value === "object" ? "a table" : `a ${typeof value}`;
}

/** A value of a resolved configuration as TOML writes it. */
export function tomlValue(value: KnobValue): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
