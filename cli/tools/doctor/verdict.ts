/**
 * The result of one `iota doctor` check, in words, with the next step.
 *
 * Checks run in parallel, each within its deadline. One that hangs or throws is a finding like any other; findings keep
 * the checks' order.
 */

import { withDeadline } from "../../../chain/subtensor/connection/timers.ts";
import { systemTimers } from "../../../net/timers.ts";
import { UserError } from "../../program/errors.ts";

/** `warning`: it works, with a caveat. `wrong`: someone must act. */
export type Level = "good" | "warning" | "wrong" | "skipped";

export interface Verdict {
  readonly level: Level;
  readonly text: string;
  readonly fix?: string; // one sentence, with a command if there is one
  readonly facts?: Readonly<Record<string, unknown>>;
}

export interface Check {
  readonly name: string;
  readonly deadlineMs: number;
  readonly lateFix: string;
  run(): Promise<Verdict>;
}

export interface Finding extends Verdict {
  readonly name: string;
}

export const good = (text: string, facts?: Verdict["facts"]): Verdict => ({ level: "good", text, ...given(facts) });

export const skipped = (text: string): Verdict => ({ level: "skipped", text });

export const warning = (text: string, fix: string, facts?: Verdict["facts"]): Verdict => (
  { level: "warning", text, fix, ...given(facts) }
);

export const wrong = (text: string, fix: string, facts?: Verdict["facts"]): Verdict => (
  { level: "wrong", text, fix, ...given(facts) }
);

const given = (facts: Verdict["facts"]) => facts === undefined ? {} : { facts };

export function runChecks(checks: readonly Check[]): Promise<Finding>[] {
  return checks.map(async (check) => ({ name: check.name, ...await verdictOf(check) }));
}

class LateError extends Error {}

async function verdictOf({ run, deadlineMs, lateFix }: Check): Promise<Verdict> {
  try {
    return await withDeadline(run(), { timers: systemTimers, deadlineMs, late: () => new LateError() });
  } catch (error) {
    if (error instanceof LateError) return wrong(`no answer within ${deadlineMs / 1000} s`, lateFix);
    if (error instanceof UserError) {
      return wrong(error.message, error.next ?? "Correct it, then check again: iota doctor");
    }
    const text = error instanceof Error ? `${error.name}: ${error.message}` : String(error);
    return wrong(`the check itself failed, ${text}`, "Report it, with what iota doctor --json prints");
  }
}

const ranks: Readonly<Record<Level, number>> = { skipped: 0, good: 0, warning: 1, wrong: 2 };

/** Skipped counts as good. */
export function worstOf(findings: readonly Finding[]): "good" | "warning" | "wrong" {
  const rank = Math.max(0, ...findings.map(({ level }) => ranks[level]));
  return rank === 2 ? "wrong" : rank === 1 ? "warning" : "good";
}
