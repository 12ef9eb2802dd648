/** Refuses words and options that the chosen benchmark does not take, and says which benchmarks do. */

import type { CommandContext, OptionSpec } from "../command.ts";
import { UsageError } from "../output/errors.ts";
import { printable } from "../screen/format.ts";

/** By what is written after `iota bench`; of hub's parts, those that measure for some seconds. */
const takers: Readonly<Record<string, readonly string[]>> = {
  "": ["device", "threads", "memory", "orchestrator", "tls-ca"],
  "--tune": ["device", "size", "tune"],
  step: ["device", "threads", "size", "peers", "seconds"],
  gemm: ["device", "threads", "peers", "seconds"],
  attention: ["device", "threads", "peers", "seconds"],
  adapter: ["device", "seconds"],
  wire: ["d", "seconds"],
  hub: ["seconds"],
  "hub relay": ["seconds"],
  "hub hello": ["seconds"],
  "hub messages": ["seconds"],
  "hub restart": [],
  "hub machine": [],
};

const commandOf = (taker: string): string => taker === "" ? "bench alone" : `bench ${taker}`;

export function refuseIgnored(
  { positionals: [name, part], options }: CommandContext,
  declared: readonly OptionSpec[],
): void {
  const words = name === undefined
    ? options.flag("tune") ? "--tune" : ""
    : part === undefined
    ? name
    : `${name} ${part}`;
  if (part !== undefined && name !== "hub") {
    throw new UsageError(
      `Cannot use '${printable(part)}' with bench ${name} as only bench hub has parts`,
      { next: `Leave it out: iota bench ${name}` },
    );
  }
  const taken = takers[words] ?? takers[name ?? ""] ?? []; // hub refuses a part that there is not
  const ignored = declared.find((option) => options.given(option.name) && !taken.includes(option.name));
  if (ignored === undefined) return;
  const others = Object.keys(takers).filter((taker) => takers[taker]?.includes(ignored.name)).map(commandOf);
  throw new UsageError(
    `Cannot use --${ignored.name} with ${commandOf(words)} as only these take it: ${others.join(", ")}`,
    { next: `Leave it out: iota bench${words === "" ? "" : ` ${words}`}` },
  );
}
