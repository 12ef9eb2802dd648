/**
 * What to check: what the command line names, and below it the --config file, which is a run's or a node's.
 *
 * Owns: reading that file for its addresses and names. Out of scope: checking it in full, which `iota config check`
 * does. An unusable file is a finding, and the other checks still run.
 */

import { parseOptions } from "../../terminal/options/args.ts";
import type { CommandContext, OptionSpec, OptionValues } from "../../terminal/command.ts";
import { readConfigFile } from "../../terminal/options/config_file.ts";
import { isRunFile } from "../../terminal/options/file_kind.ts";
import { givenChain, type NamedChain } from "../../terminal/options/named_chain.ts";
import { UserError } from "../../program/errors.ts";
import { wordsOfEntry } from "../../terminal/options/option_file.ts";
import { resolveRunFile } from "../../terminal/options/run_file.ts";
import { shellWord } from "../../program/shell_words.ts";
import { good, type Verdict, wrong } from "./verdict.ts";

export interface Subjects {
  readonly context: CommandContext; // typed options, then those of the file
  readonly chain: NamedChain | null;
  readonly file: Verdict | null; // null: none was named
}

export async function subjectsOf(context: CommandContext, options: readonly OptionSpec[]): Promise<Subjects> {
  const path = context.options.text("config");
  if (path === undefined) return { context, chain: givenChain(context), file: null };
  const fix = `See every problem with its line: iota config check ${shellWord(path)}`;
  try {
    const { table } = await readConfigFile(path);
    if (isRunFile(table)) {
      const resolved = resolveRunFile({ table });
      if (!resolved.ok) return subjectsWith(context, wrong(resolved.problems[0]!.text, fix));
      const { network, netuid } = resolved.config.chain;
      const file = good(`${path}, run ${resolved.config.name} of size ${resolved.config.size}`, { path });
      return { context, chain: givenChain(context) ?? { network, netuid }, file };
    }
    const known = options.filter(({ name }) => Object.hasOwn(table, name));
    const words = known.flatMap((spec) => wordsOfEntry(spec, table[spec.name]) ?? []);
    const below = parseOptions({ words, options, maxPositionals: 0, helpCommand: "iota help doctor" }).options;
    const both = { ...context, options: overlaid(context.options, below) };
    return subjectsWith(both, good(`${path}, options of a node`, { path }));
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    return subjectsWith(context, wrong(error.message, error.next ?? fix));
  }
}

const subjectsWith = (context: CommandContext, file: Verdict): Subjects => (
  { context, chain: givenChain(context), file }
);

function overlaid(top: OptionValues, below: OptionValues): OptionValues {
  const of = (name: string) => !top.given(name) && below.given(name) ? below : top;
  return {
    text: (name) => of(name).text(name),
    number: (name) => of(name).number(name),
    flag: (name) => of(name).flag(name),
    given: (name) => of(name).given(name),
  };
}
