/**
 * What a knob is: one leaf of `RunConfig`, its limits, short forms for the table in knobs.ts, and the check of a value.
 * Paths come from the type, so a misspelt one does not compile. Checks never throw.
 */

import type { RunConfig } from "./config.ts";

export type KnobValue = number | boolean | string;

type Leaves<T, Prefix extends string> = {
  [Key in keyof T & string]-?: Required<T>[Key] extends KnobValue ? `${Prefix}${Key}`
    : Leaves<Required<T>[Key], `${Prefix}${Key}.`>;
}[keyof T & string];

/** "train.learningRate", … */
export type KnobPath = Leaves<RunConfig, "">;

export type KnobValueAt<Path extends string, T = RunConfig> = Path extends keyof T ? Required<T>[Path]
  : Path extends `${infer Head}.${infer Rest}` ? Head extends keyof T ? KnobValueAt<Rest, Required<T>[Head]> : never
  : never;

/** size.ts or derive.ts gives the value. */
export const derived = "derived from size";
export type Derived = typeof derived;

interface KnobBase {
  readonly doc: string;
  readonly unit: string;
  readonly mayChange?: true; // during a run, because nothing computed or stored depends on it
  /**
   * For a knob unknown to older versions: left out at its default, so that all versions hash and send the same
   * configuration.
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

interface StringKnob extends KnobBase {
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

export type KnobFor<Value> = [Value] extends [boolean] ? BooleanKnob
  : [Value] extends [number] ? NumberKnob
  : StringKnob | ChoiceKnob;

interface NumberLimits {
  readonly min: number;
  readonly max: number;
  readonly unit?: string;
  readonly multipleOf?: number;
  readonly default?: number; // absent: derived
  readonly mayChange?: true;
  readonly omitsDefault?: true;
}

function number(kind: "int" | "float", limits: NumberLimits, doc: string): NumberKnob {
  const value: number | Derived = limits.default ?? derived;
  return { kind, unit: "", multipleOf: 0, ...limits, default: value, doc };
}

export const int = (limits: NumberLimits, doc: string): NumberKnob => number("int", limits, doc);
export const float = (limits: NumberLimits, doc: string): NumberKnob => number("float", limits, doc);
export const choice = (choices: readonly string[], initial: string, doc: string): ChoiceKnob => ({
  kind: "choice",
  unit: "",
  choices,
  default: initial,
  doc,
});
export const flag = (initial: boolean, doc: string): BooleanKnob => ({
  kind: "boolean",
  unit: "",
  default: initial,
  doc,
});

/** Phrased to follow "must be"; null if the value is valid. */
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
  if (!(value >= knob.min && value <= knob.max)) return `between ${knob.min} and ${knob.max}`; // also NaN
  if (knob.multipleOf > 0 && value % knob.multipleOf !== 0) return `a multiple of ${knob.multipleOf}`;
  return null;
}

const shownLength = 60;

/** Short, quoted if it is text, never a dump. */
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

export function tomlValue(value: KnobValue): string {
  return typeof value === "string" ? JSON.stringify(value) : String(value);
}
