/** The option `--links` of commands that shape lines: what it says, and how it is read. */

import type { CommandContext } from "../../terminal/command.ts";
import { UsageError } from "../../program/errors.ts";
import { brokenLinksRule, type LinkShape, parseLinks } from "./link_shape.ts";

/** Undefined: not given. */
export function givenLinks({ options }: Pick<CommandContext, "options">): LinkShape | undefined {
  const text = options.text("links");
  if (text === undefined) return undefined;
  const shape = parseLinks(text);
  if (shape !== null) return shape;
  throw new UsageError(`Cannot use --links '${text}': ${brokenLinksRule(text)}`, {
    next: 'For example: --links "40ms 20mbit"',
  });
}
