/**
 * The roles that can be services, and where the options of `service install` end and those of the role begin.
 *
 * Owns: the table of roles, and rejecting a role's options before `--`: there `--data own` would be read as an option
 * of `service install`, and the service would start without it.
 */

import { present } from "../../../core/assert.ts";
import { type Command, type CommandTable, commonOptions, type OptionSpec } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";
import { shellWords } from "../../program/shell_words.ts";

export const roleNames: readonly string[] = ["miner", "validate", "orchestrate"];

const example = "For example: iota service install -- miner --orchestrator wss://run.example --wallet hot";

export async function serviceRole(role: string | undefined, commands: CommandTable): Promise<Command> {
  if (isRole(role)) return await present(commands[role], "every role is a command")();
  const value = role === undefined ? "it is missing" : `current value is '${role}'`;
  const known = roleNames.join(", ");
  throw new UsageError(`Cannot install a service as its command must be one of ${known}: ${value}`, { next: example });
}

/** Options of `install` itself; the paths of data and settings are options of the role. */
const ownCommon = commonOptions.filter(({ name }) => name !== "config" && name !== "data");

/** `words`: all of `service install`; `options`: its own. */
export async function mustSeparate(
  words: readonly string[],
  { options, commands }: { options: readonly OptionSpec[]; commands: CommandTable },
): Promise<void> {
  const end = words.indexOf("--");
  const [before, behind] = end < 0 ? [words, []] : [words.slice(0, end), words.slice(end + 1)];
  const roleAt = before.findIndex((word, i) => isRole(word) && !takesNext(before[i - 1], options));
  const role = before[roleAt] ?? behind[0];
  if (!isRole(role)) return; // rejected by name later
  const roleOptions = [...(await serviceRole(role, commands)).options, ...commonOptions];
  const installWords: string[] = [];
  const roleWords: string[] = [];
  let misplaced: string | null = null;
  for (let i = 0; i < before.length; i++) {
    if (i === roleAt) continue;
    const word = before[i]!;
    const isBehindRole = roleAt >= 0 && i > roleAt;
    const own = specOf(word, isBehindRole ? options : [...options, ...ownCommon]);
    const spec = own ?? specOf(word, roleOptions);
    if (spec !== undefined && own === undefined) misplaced ??= `--${spec.name}`;
    const value = spec !== undefined && takesNext(word, [spec]) ? before.slice(i + 1, i + 2) : [];
    (own === undefined ? roleWords : installWords).push(word, ...value);
    i += value.length;
  }
  if (misplaced === null) return;
  const rest = roleAt < 0 ? behind.slice(1) : behind;
  const right = ["iota", "service", "install", ...installWords, "--", role, ...roleWords, ...rest];
  throw new UsageError(
    `Cannot use ${misplaced} here as a role's options must come after -- and the role: put -- before ${role}`,
    { next: `Type it like this: ${shellWords(right)}` },
  );
}

const isRole = (word: string | undefined): word is string => word !== undefined && roleNames.includes(word);

function takesNext(word: string | undefined, options: readonly OptionSpec[]): boolean {
  const spec = specOf(word, options);
  return spec !== undefined && spec.kind !== "boolean" && !word!.includes("=");
}

/** The option that a word names, alone or with its value. */
function specOf(word: string | undefined, options: readonly OptionSpec[]): OptionSpec | undefined {
  const name = /^--([a-z][a-z-]*)/.exec(word ?? "")?.[1];
  return options.find((spec) => spec.name === name);
}
