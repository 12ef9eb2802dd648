/** `iota validate`: run_node.ts, verdicts, evaluations and weights. */

import type { ValidatorRecord } from "../../core/validator/event.ts";
import { byteOption } from "../terminal/text/byte_text.ts";
import type { CommandContext } from "../terminal/command.ts";
import { givenChain } from "../terminal/options/named_chain.ts";
import { ValidatorChain } from "../chain/duty/validator_chain.ts";
import { newVersion, openLogFile, openUpgradeWatch } from "../files/long_run.ts";
import { AuditTally } from "../observe/screen/record_words.ts";
import { systemTimers } from "../../net/timers.ts";
import { LinkMeter } from "./screen/link_meter.ts";
import { openNodeScreen } from "./screen/node_screen.ts";
import { validatorLine } from "./node_lines.ts";
import { alwaysOpen, PausingRole } from "./pausing_role.ts";
import { openNode, openSigner } from "./run_node.ts";
import { runRole } from "./run_role.ts";
import { validator } from "../../core/validator/machine.ts";
import { startValidator, type ValidatorRoleOptions } from "./validator_role.ts";

export async function runValidator(context: CommandContext): Promise<number> {
  await openLogFile(context);
  const tally = { evaluations: 0, verdictsPassed: 0, verdictsFailed: 0 };
  givenChain(context); // fails on a wrong value before anything is opened
  const signer = await openSigner(context);
  const meter = new LinkMeter(() => systemTimers.steadyMs());
  const shown = { address: signer.address, meter, nowMs: () => systemTimers.nowMs() };
  const closeScreen = openNodeScreen({ output: context.output, role: "validator", ...shown });
  const node = await openNode(context, { signer, role: "validator", meter });
  const { chain: given } = node;
  const { output } = context;
  const { promise: failed, reject } = Promise.withResolvers<never>();
  const versionKey = BigInt(context.options.number("version-key") ?? 0);
  const chain = new ValidatorChain({ context, signer: node.signer, versionKey, onFailure: reject });
  if (given !== null) chain.begin(given);
  const passedAudits = new AuditTally();
  let role: PausingRole | null = null;
  const leave = () => role?.stop(newVersion);
  const upgrade = await openUpgradeWatch(context, { leave, isIdle: () => false });
  const onRecord = (record: ValidatorRecord) => {
    if (record.type === "welcomed" && given === null) chain.begin(record.chain);
    if (record.type === "evaluated") tally.evaluations += 1;
    if (record.type === "verdict") tally[record.passed ? "verdictsPassed" : "verdictsFailed"] += 1;
    output.event(record);
    const line = validatorLine(record, passedAudits);
    if (line !== null) output.line(line);
    if (record.type === "scored") upgrade?.roundEnded();
  };
  const memoryBytes = byteOption("memory", context.options.text("memory")) ?? undefined;
  const onScores: ValidatorRoleOptions["onScores"] = (...scored) => chain.scored(...scored);
  const start = () => {
    role = new PausingRole({ // never pauses, but joins its orchestrator's next run
      gate: alwaysOpen,
      start: () => Promise.resolve(startValidator({ ...node, memoryBytes, onScores, onRecord, machine: validator })),
      onPaused: () => {},
      onResumed: () => {},
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
  }).finally(closeScreen);
}
