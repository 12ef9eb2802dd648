/** Refuses unknown benchmarks, and words and options that the chosen one does not take. */

import { closest, meantText } from "../../terminal/options/args.ts";
import type { CommandContext, OptionSpec } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";
import { printable } from "../../terminal/text/format.ts";

export function unknownName(kind: string, given: { name: string; known: readonly string[] }): UsageError {
  const { name, known } = given;
  return new UsageError(
    `There is no ${kind} '${printable(name)}', only ${known.join(", ")}${meantText(closest(name, known))}`,
    { next: "See the list with --help" },
  );
}

const commandOf = (taker: string): string => taker === "" ? "bench alone" : `bench ${taker}`;

/** `takers`: each benchmark's options, by the words after `bench`. */
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
    throw new UsageError(`Bench ${name} has no part '${printable(part)}'`, {
      next: `Leave it out: ${program} bench ${name}`,
    });
  }
  const taken = takers[words] ?? takers[name ?? ""] ?? []; // the benchmark refuses unknown parts
  const ignored = declared.find((option) => options.given(option.name) && !taken.includes(option.name));
  if (ignored === undefined) return;
  const others = Object.keys(takers).filter((taker) => takers[taker]?.includes(ignored.name)).map(commandOf);
  throw new UsageError(
    `--${ignored.name} does not apply to ${commandOf(words)}, only to ${others.join(", ")}`,
    { next: `Leave it out: ${program} bench${words === "" ? "" : ` ${words}`}` },
  );
}
