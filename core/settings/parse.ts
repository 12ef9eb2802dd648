/**
 * Parses untrusted objects into a configuration: a TOML file with flags on top, or the one in `welcome`. A flag
 * precedes file, dataset, size and default. What a model that the run starts from fixes, neither flag nor file may
 * contradict. Nothing throws. Unknown keys are refused, because a typo must not train a model with
 * a default.
 */

import { type Parsed, parsed, refused } from "../fault.ts";
import type { RunConfig } from "../config/config.ts";
import { assembleConfig, deriveConfig, omittedValue } from "./derive.ts";
import { brokenRule, derived, type KnobPath, type KnobValue, showValue } from "../config/knob.ts";
import { isKnobPath, knobAt, knobGroups, knobPaths } from "../config/knobs.ts";
import { type BrokenRule, brokenRules } from "./rules.ts";
import { defaultSize, isSizedPath, isSizeName, type SizeName } from "../config/size.ts";
import { didYouMean } from "./suggest.ts";

export type Origin = "default" | "size" | "dataset" | "from" | "file" | "flag";
export type Origins = Readonly<Record<KnobPath, Origin>>;

export interface Problem {
  readonly path: string;
  readonly text: string;
  readonly origin: Origin;
}

export interface ResolveInput {
  readonly size?: string;
  readonly dataset?: Readonly<Record<string, unknown>>; // what follows from a prepared one, by path
  readonly file?: unknown; // parsed TOML
  readonly overrides?: Readonly<Record<string, unknown>>; // flags, by path
  readonly from?: ModelSettings;
}

/** By path, of the model that the run starts from. */
export interface ModelSettings {
  readonly fixed: Readonly<Record<string, KnobValue>>; // its parameters depend on them
  readonly usual: Readonly<Record<string, KnobValue>>; // flags and file may set others
}

export type ResolvedConfig =
  | { readonly ok: true; readonly config: RunConfig; readonly origins: Origins }
  | { readonly ok: false; readonly problems: readonly Problem[] };

/** Each setting is valid by itself. */
export interface GivenSettings {
  readonly values: ReadonlyMap<KnobPath, KnobValue>;
  readonly origins: Origins;
  readonly problems: readonly Problem[];
}

export function readGiven({ size, dataset = {}, from, file = {}, overrides = {} }: ResolveInput): GivenSettings {
  const flags = Object.entries(size === undefined ? overrides : { size, ...overrides });
  const sources = [
    ["dataset", readSettings(Object.entries(dataset))],
    ["from", readSettings(Object.entries({ ...from?.usual, ...from?.fixed }))],
    ["file", readTable(file)],
    ["flag", readSettings(flags)],
  ] as const;
  const problems: Problem[] = [];
  const values = new Map<KnobPath, KnobValue>();
  const origins = Object.fromEntries(knobPaths.map((path) => [path, originOf(path)])) as Record<KnobPath, Origin>;
  for (const [origin, { settings, complaints }] of sources) {
    problems.push(...complaints.map((complaint) => ({ ...complaint, origin })));
    for (const [path, value] of settings) {
      const fixed = from?.fixed[path];
      if (fixed !== undefined && value !== fixed) {
        problems.push({ path, text: contradiction(path, { value, fixed }), origin });
      }
      values.set(path, value);
      origins[path] = origin;
    }
  }
  return { values, origins, problems };
}

const contradiction = (path: KnobPath, { value, fixed }: { value: KnobValue; fixed: KnobValue }): string =>
  `${path} is ${showValue(value)}, and the model that the run starts from has ${showValue(fixed)}: leave ${path} out`;

export function resolveConfig(input: ResolveInput): ResolvedConfig {
  const { values: given, origins, problems } = readGiven(input);
  const config = deriveConfig({ size: sizeOf(given.get("size")), given });
  return problems.length === 0 ? checkRules({ config, origins }) : { ok: false, problems };
}

/** Only for valid knobs, since these rules would repeat their problems. */
export function checkRules({ config, origins }: { config: RunConfig; origins: Origins }): ResolvedConfig {
  const problems = brokenRules(config).map((broken) => blame(broken, origins));
  return problems.length === 0 ? { ok: true, config, origins } : { ok: false, problems };
}

function sizeOf(value: KnobValue | undefined): SizeName {
  return isSizeName(value) ? value : defaultSize;
}

function originOf(path: KnobPath): Origin {
  return isSizedPath(path) || knobAt(path).default === derived ? "size" : "default";
}

/** Names a field that a person set, if there is one. */
function blame({ fields, text }: BrokenRule, origins: Origins): Problem {
  const path = fields.find((field) => origins[field] === "flag" || origins[field] === "file") ?? fields[0];
  return { path, text, origin: origins[path] };
}

/** From another node: every field must be valid, known, and present unless it may be omitted. */
export function parseRunConfig(foreign: unknown): Parsed<RunConfig> {
  const { settings, complaints } = readTable(foreign);
  const missing = knobPaths.filter((path) => !settings.has(path) && omittedValue(path) === null)
    .map((path) => checkSetting(path, undefined));
  const wrong = complaints[0] ?? missing[0];
  if (wrong !== undefined && wrong !== null) return refused("malformedMessage", wrong.text);
  const config = assembleConfig(settings);
  const broken = brokenRules(config)[0];
  return broken === undefined ? parsed(config) : refused("malformedMessage", broken.text);
}

interface Complaint {
  readonly path: string;
  readonly text: string;
}

interface Reading {
  readonly settings: Map<KnobPath, KnobValue>;
  readonly complaints: readonly Complaint[];
}

const maxComplaints = 20; // per object

function readTable(foreign: unknown): Reading {
  if (!isTable(foreign)) {
    const text = `The configuration must be a table, and is ${showValue(foreign)}`;
    return { settings: new Map(), complaints: [{ path: "", text }] };
  }
  const entries: [string, unknown][] = [];
  for (const [key, value] of Object.entries(foreign)) {
    if (knobGroups.includes(key) && isTable(value)) {
      for (const [inner, leaf] of Object.entries(value)) entries.push([`${key}.${inner}`, leaf]);
    } else {
      entries.push([key.includes(".") ? JSON.stringify(key) : key, value]); // quoted "train.steps" is not a table
    }
  }
  return readSettings(entries);
}

function readSettings(entries: readonly (readonly [path: string, value: unknown])[]): Reading {
  const settings = new Map<KnobPath, KnobValue>();
  const complaints: Complaint[] = [];
  for (const [path, value] of entries) {
    const complaint = isKnobPath(path) ? checkSetting(path, value) : unknownSetting(path, value);
    if (complaint !== null) complaints.push(complaint);
    else settings.set(path as KnobPath, value as KnobValue);
    if (complaints.length === maxComplaints) break;
  }
  return { settings, complaints };
}

function checkSetting(path: KnobPath, value: unknown): Complaint | null {
  const rule = brokenRule(knobAt(path), value);
  if (rule === null) return null;
  return { path, text: `${path} must be ${rule}, and is ${showValue(value)}` };
}

function unknownSetting(path: string, value: unknown): Complaint {
  if (knobGroups.includes(path)) {
    return { path, text: `${path} must be a table, [${path}], and is ${showValue(value)}` };
  }
  const shown = path.length > 60 ? `${path.slice(0, 60)}…` : path;
  return { path: shown, text: `There is no setting ${shown}: ${hintFor(path)}` };
}

function hintFor(path: string): string {
  const near = didYouMean(path, knobPaths);
  if (near !== null) return `did you mean ${near}?`;
  const group = knobGroups.find((known) => path.startsWith(`${known}.`));
  if (group === undefined) return hintForTable(path);
  const prefix = `${group}.`;
  const siblings = knobPaths.filter((known) => known.startsWith(prefix)).map((known) => known.slice(prefix.length));
  return `[${group}] has ${siblings.join(", ")}`;
}

const fileTables = [...knobGroups, "hub"]; // read by the command line

function hintForTable(name: string): string {
  const near = name.includes(".") ? null : didYouMean(name, fileTables);
  return near === null ? `the tables are ${fileTables.join(", ")}` : `did you mean the table [${near}]?`;
}

function isTable(value: unknown): value is Record<string, unknown> {
  if (typeof value !== "object" || value === null) return false;
  const prototype = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

/** Text that cannot be converted stays text, for `resolveConfig` to refuse. */
export function valueFromText({ path, text }: { path: string; text: string }): KnobValue {
  if (!isKnobPath(path)) return text;
  const { kind } = knobAt(path);
  if (kind === "boolean") return text === "true" ? true : text === "false" ? false : text;
  if (kind === "string" || kind === "choice") return text;
  const value = Number(text);
  return text.trim() === "" || Number.isNaN(value) ? text : value;
}
