/** Turns the options on when a miner may work into a watch. */

import { systemTimers } from "../../../net/timers.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { readProcessorTimes } from "./machine_load.ts";
import { PauseWatch } from "./pause_watch.ts";
import type { PauseRules } from "./rules.ts";
import { parseSchedule, type Schedule } from "./schedule.ts";

export function pauseRules({ options }: CommandContext): PauseRules {
  return {
    schedule: scheduleOf(options.text("schedule")),
    idleOnly: options.flag("idle-only"),
    mainsOnly: options.flag("mains-only"),
    maxCelsius: options.number("max-temp") ?? null,
  };
}

function scheduleOf(text: string | undefined): Schedule | null {
  if (text === undefined) return null;
  const parsed = parseSchedule(text);
  if (parsed.ok) return parsed.schedule;
  throw new UsageError(`Cannot use --schedule: its ${parsed.problem}`, {
    next: 'For example: --schedule "mon-fri 22:00-07:00; sat,sun 0:00-24:00"',
  });
}

export async function openPauseWatch(context: CommandContext): Promise<PauseWatch> {
  const watch = new PauseWatch({
    rules: pauseRules(context),
    timers: systemTimers,
    now: () => new Date(systemTimers.nowMs()),
    readTimes: readProcessorTimes,
    readSensors: context.readSensors,
  });
  const missing = await watch.start();
  if (missing.length > 0) {
    watch.stop();
    throw new UserError(
      `Cannot apply ${missing.join(" and ")}: this machine does not report the readings for it`,
      {
        next: `Leave ${missing.length === 1 ? "it" : "them"} out; --schedule works everywhere`,
      },
    );
  }
  return watch;
}
