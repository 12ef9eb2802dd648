/**
 * The error of a group, such as `wallet`, that was called without an action: it lists the actions and suggests a first
 * one.
 */

import type { CommandTable } from "./command.ts";
import { UsageError } from "../program/errors.ts";

export function missingAction(group: string, { actions, next }: { actions: CommandTable; next: string }): UsageError {
  const known = Object.keys(actions).join(", ");
  return new UsageError(`iota ${group} needs an action: ${known}`, { next });
}
