/** Refuses benchmarks that do not exist, and words and options that the chosen one does not take, with those that do. */

import { closest } from "../../terminal/options/args.ts";
import type { CommandContext, OptionSpec } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";
import { printable } from "../../terminal/text/format.ts";

export function unknownName(kind: string, given: { name: string; known: readonly string[] }): UsageError {
  const { name, known } = given;
  const guess = closest(name, known);
  const meant = guess === undefined ? "" : `. Did you mean ${guess}?`;
  return new UsageError(
    `Cannot run bench as its ${kind} must be one of ${known.join(", ")}: current value is '${printable(name)}'${meant}`,
    { next: "See the list with --help" },
  );
}

const commandOf = (taker: string): string => taker === "" ? "bench alone" : `bench ${taker}`;

/** `takers`: the options that each benchmark takes, by the words after `bench`. */
export function refuseIgnored(
  { positionals: [name, part], options }: CommandContext,
  { program, takers, declared }: {
    program: string;
    takers: Readonly<Record<string, readonly string[]>>;
    declared: readonly OptionSpec[];
  },
): void {
  const words = name === undefined
    ? options.flag("tune") ? "--tune" : ""
    : part === undefined
    ? name
    : `${name} ${part}`;
  const hasParts = Object.keys(takers).some((taker) => taker.startsWith(`${name} `));
  if (part !== undefined && !hasParts) {
    throw new UsageError(`Cannot use '${printable(part)}' with bench ${name}: it has no parts`, {
      next: `Leave it out: ${program} bench ${name}`,
    });
  }
  const taken = takers[words] ?? takers[name ?? ""] ?? []; // the benchmark refuses a part that does not exist
  const ignored = declared.find((option) => options.given(option.name) && !taken.includes(option.name));
  if (ignored === undefined) return;
  const others = Object.keys(takers).filter((taker) => takers[taker]?.includes(ignored.name)).map(commandOf);
  throw new UsageError(
    `Cannot use --${ignored.name} with ${commandOf(words)} as only these take it: ${others.join(", ")}`,
    { next: `Leave it out: ${program} bench${words === "" ? "" : ` ${words}`}` },
  );
}
