/**
 * `iota validate`, from the command line to the summary: what all nodes do (run_node.ts), counting verdicts and
 * evaluations, and setting weights on the chain.
 */

import { byteOption } from "../options/byte_text.ts";
import type { CommandContext } from "../command.ts";
import { givenChain } from "../duty/chain_options.ts";
import { ValidatorChain } from "../duty/validator_chain.ts";
import { newVersion, openLogFile, openUpgradeWatch } from "../service/long_run.ts";
import type { RunningRole } from "./miner_role.ts";
import { validatorLine } from "./node_lines.ts";
import { openNode, openSigner, runRole } from "./run_node.ts";
import { startValidator } from "./validator_role.ts";

export async function runValidator(context: CommandContext): Promise<number> {
  await openLogFile(context);
  const tally = { evaluations: 0, verdictsPassed: 0, verdictsFailed: 0 };
  givenChain(context); // a wrong value fails before anything is opened
  const node = await openNode(context, { signer: await openSigner(context), role: "validator" });
  const { chain: given } = node;
  const { output } = context;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const versionKey = BigInt(context.options.number("version-key") ?? 0);
  const chain = new ValidatorChain({ context, signer: node.signer, versionKey, onFailure: reject });
  if (given !== null) chain.begin(given);
  let role: RunningRole | null = null;
  const leave = () => role?.stop(newVersion);
  const upgrade = await openUpgradeWatch(context, { leave, isIdle: () => false });
  const start = () => {
    role = startValidator({
      ...node,
      memoryBytes: byteOption("memory", context.options.text("memory")) ?? undefined,
      onScores: (round, scores) => chain.scored(round, scores),
      onRecord: (record) => {
        if (record.type === "welcomed" && given === null) chain.begin(record.chain);
        if (record.type === "evaluated") tally.evaluations += 1;
        if (record.type === "verdict") tally[record.passed ? "verdictsPassed" : "verdictsFailed"] += 1;
        output.event(record);
        const line = validatorLine(record);
        if (line !== null) output.line(line);
        if (record.type === "scored") upgrade?.roundEnded();
      },
    });
    return Promise.resolve(role);
  };
  return await runRole(context, {
    node,
    start,
    failed,
    end: async (options) => {
      upgrade?.stop();
      await chain.end(options);
    },
    summary: () => ({ ...tally, ...chain.summary() }),
  });
}
