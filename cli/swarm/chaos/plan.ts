/**
 * The language of `iota swarm --chaos`: what to break in a swarm, and when.
 *
 *   plan       statement ; statement ; …
 *   statement  action time
 *   action     kill-miner [INDEX] | stop-miner [INDEX] | pause-miner [INDEX] for S seconds | add-miner
 *              kill-validator [INDEX] | kill-orchestrator
 *   time       at step N | every N steps | at round N | after merge N | in merge N | every N rounds
 *
 * A missing miner is reported when its moment comes (schedule.ts). Pure; never throws.
 */

import { didYouMean } from "../../../core/settings/suggest.ts";
import { meantText } from "../../terminal/options/args.ts";

/** Without an index the target is drawn. */
export type ChaosAction =
  | { readonly type: "kill-miner" | "stop-miner" | "kill-validator"; readonly index: number | null }
  | { readonly type: "pause-miner"; readonly index: number | null; readonly seconds: number }
  | { readonly type: "kill-orchestrator" | "add-miner" };

export type ChaosTime =
  | { readonly type: "atStep"; readonly step: number } // when that many steps are closed
  | { readonly type: "everySteps"; readonly steps: number }
  | { readonly type: "atRound"; readonly round: number } // when it begins, after the merge of that number
  | { readonly type: "everyRounds"; readonly rounds: number }
  | { readonly type: "inMerge"; readonly merge: number }; // when the merge that makes this round has begun

export interface ChaosStatement {
  readonly action: ChaosAction;
  readonly time: ChaosTime;
}

export type ChaosPlan = readonly ChaosStatement[];

type ParsedPlan =
  | { readonly ok: true; readonly plan: ChaosPlan }
  | { readonly ok: false; readonly problem: string; readonly next: string };

export const chaosActions = [
  "kill-miner",
  "stop-miner",
  "pause-miner",
  "add-miner",
  "kill-validator",
  "kill-orchestrator",
] as const;

const maxStatements = 64;
const maxNumber = 1_000_000_000;
const maxSeconds = 3600;
const shownCharacters = 60; // of what was typed

export function parsePlan(text: string): ParsedPlan {
  const statements = text.split(";").map(wordsOf).filter((words) => words.length > 0);
  if (statements.length === 0) return refused("it must have a statement", text);
  if (statements.length > maxStatements) {
    return refused(`it must have at most ${maxStatements} statements`, `${statements.length}`);
  }
  const plan: ChaosStatement[] = [];
  for (const [index, words] of statements.entries()) {
    const read = readStatement(words);
    if (!read.ok) {
      return refused(`statement ${index + 1} ('${shown(words.join(" "))}') ${read.rule}`, read.word, read.meant);
    }
    plan.push(read.value);
  }
  return { ok: true, plan };
}

function wordsOf(statement: string): string[] {
  return statement.toLowerCase().split(/\s+/).filter((word) => word !== "");
}

function refused(rule: string, value: string, meant: string | null = null): ParsedPlan {
  return {
    ok: false,
    problem: `Cannot use --chaos: ${rule}, but got '${shown(value)}'${meantText(meant)}`,
    next: "For example: --chaos 'kill-miner every 20 steps; kill-orchestrator at step 30'",
  };
}

function shown(text: string): string {
  return text.length <= shownCharacters ? text : `${text.slice(0, shownCharacters)}…`;
}

/** The parsed front and the remaining words, or the rule that `word` breaks. */
type Read<T> =
  | { readonly ok: true; readonly value: T; readonly rest: readonly string[] }
  | { readonly ok: false; readonly rule: string; readonly word: string; readonly meant: string | null };

function wrong(rule: string, word: string | undefined, known: readonly string[] = []): Read<never> {
  return { ok: false, rule, word: word ?? "", meant: word === undefined ? null : didYouMean(word, known) };
}

function readStatement(words: readonly string[]): Read<ChaosStatement> {
  const action = readAction(words);
  if (!action.ok) return action;
  const time = readTime(action.rest);
  if (!time.ok) return time;
  const extra = time.rest[0];
  if (extra !== undefined) return wrong("must end after its time or continue with ';'", extra);
  return { ok: true, value: { action: action.value, time: time.value }, rest: [] };
}

function readAction(words: readonly string[]): Read<ChaosAction> {
  const [word, ...rest] = words;
  const type = chaosActions.find((name) => name === word);
  switch (type) {
    case undefined:
      return wrong(`must begin with one of ${chaosActions.join(", ")}`, word, chaosActions);
    case "add-miner":
    case "kill-orchestrator":
      return { ok: true, value: { type }, rest };
    case "kill-miner":
    case "stop-miner":
    case "kill-validator": {
      const target = readIndex(rest);
      return target.ok ? { ok: true, value: { type, index: target.value }, rest: target.rest } : target;
    }
    case "pause-miner": {
      const target = readIndex(rest);
      if (!target.ok) return target;
      const pause = readPause(target.rest);
      if (!pause.ok) return pause;
      return { ok: true, value: { type, index: target.value, seconds: pause.value }, rest: pause.rest };
    }
  }
}

function readIndex(words: readonly string[]): Read<number | null> {
  const [word, ...rest] = words;
  if (word === undefined || !/^[-+.\d]/.test(word)) return { ok: true, value: null, rest: words };
  return readNumber({ word, rest, least: 0, noun: "an index that is" });
}

function readPause(words: readonly string[]): Read<number> {
  const [keyword, amount, unit, ...rest] = words;
  if (keyword !== "for") return wrong("must say how long after pause-miner: for S seconds", keyword, ["for"]);
  const seconds = /^(\d+\.?\d*|\.\d+)$/.test(amount ?? "") ? Number(amount) : NaN;
  if (!(seconds > 0 && seconds <= maxSeconds)) {
    return wrong(`must pause for more than 0 and at most ${maxSeconds} seconds`, amount);
  }
  if (!isUnit(unit, "second")) return wrong("must give the pause in seconds", unit, ["seconds"]);
  return { ok: true, value: seconds, rest };
}

function isUnit(word: string | undefined, unit: string): boolean {
  return word === unit || word === `${unit}s`;
}

const timeRule = "must say when: at step N, every N steps, at round N, after merge N, in merge N or every N rounds";

function readTime(words: readonly string[]): Read<ChaosTime> {
  const [keyword, ...rest] = words;
  switch (keyword) {
    case "at":
      return readMoment(rest, { keyword, nouns: ["step", "round"] });
    case "after":
    case "in":
      return readMoment(rest, { keyword, nouns: ["merge"] });
    case "every":
      return readPeriod(rest);
    default:
      return wrong(timeRule, keyword, ["at", "every", "after"]);
  }
}

function readMoment(
  words: readonly string[],
  { keyword, nouns }: { keyword: "at" | "after" | "in"; nouns: readonly string[] },
): Read<ChaosTime> {
  const [noun, word, ...rest] = words;
  if (noun === undefined || !nouns.includes(noun)) {
    return wrong(`must have ${nouns.join(" or ")} after ${keyword}`, noun, nouns);
  }
  const number = readNumber({ word, rest, least: 1, noun: `a ${noun} that is` });
  if (!number.ok) return number;
  const { value } = number;
  if (noun === "step") return { ok: true, value: { type: "atStep", step: value }, rest };
  if (keyword === "in") return { ok: true, value: { type: "inMerge", merge: value }, rest };
  return { ok: true, value: { type: "atRound", round: value }, rest };
}

function readPeriod(words: readonly string[]): Read<ChaosTime> {
  const [word, unit, ...rest] = words;
  const number = readNumber({ word, rest, least: 1, noun: "a period that is" });
  if (!number.ok) return number;
  if (isUnit(unit, "step")) return { ok: true, value: { type: "everySteps", steps: number.value }, rest };
  if (isUnit(unit, "round")) return { ok: true, value: { type: "everyRounds", rounds: number.value }, rest };
  return wrong("must have steps or rounds after the period", unit, ["steps", "rounds"]);
}

function readNumber(
  { word, rest, least, noun }: { word: string | undefined; rest: readonly string[]; least: number; noun: string },
): Read<number> {
  const value = word !== undefined && /^\d{1,10}$/.test(word) ? Number(word) : NaN;
  if (value >= least && value <= maxNumber) return { ok: true, value, rest };
  return wrong(`must have ${noun} a whole number from ${least} to ${maxNumber}`, word);
}
