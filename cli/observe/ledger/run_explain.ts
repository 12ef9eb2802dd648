/** `iota explain`: one node's part in a run, from its signed log. */

import { type NodeId, nodeId } from "../../../core/ids.ts";
import { effectsOfMiner, type MinerHistory, openHistory, takeIntoHistory } from "../../../core/ledger/miner_history.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { answerText, earnedBy } from "./explain_answer.ts";
import { adviceFor, historyText } from "./explain_text.ts";
import { namesOf } from "./node_names.ts";
import { isEmpty, logPathOf, missingLog } from "./run_verify.ts";
import { hubSigns, type VerifiedLedger, verifyLedger } from "./verify_ledger.ts";
import { caveatsOf } from "./verify_text.ts";

export async function runExplain({ options, output, positionals: [asked] }: CommandContext): Promise<number> {
  const run = options.text("run");
  if (asked === undefined || run === undefined) {
    const what = asked === undefined ? "Name a node to explain" : "Name a run: there is none on this machine";
    throw new UsageError(what, {
      next: "For example: iota explain 5Grwva… --run runs/demo",
    });
  }
  const path = await logPathOf(run);
  const nodes = openHistory(nodeId(""));
  const first = await read(path, nodes);
  const names = await namesOf(run);
  const node = nodeNamed(asked, { seen: [...nodes.seen.keys()], names, run });
  const history = openHistory(node);
  const { signedLine, wrong } = first;
  await read(path, history, signedLine);
  if (wrong !== null) {
    output.log.warn(`Line ${wrong.line} of the log does not follow: ${wrong.why}. Only the lines before it are used`);
  }
  for (const text of caveatsOf(first)) output.log.warn(text);
  if (!hubSigns(first)) output.log.warn("Only lines that the orchestrator has signed are used");
  const name = names.get(node);
  const hasRounds = options.flag("by-round");
  const isMiner = history.seen.get(node) !== "validator";
  for (const line of isMiner ? [...answerText(history), ""] : []) output.line(line);
  for (const line of historyText(history, { hasRounds })) output.line(line);
  output.answer({
    ...{
      hotkey: node,
      name: name ?? null,
      role: history.seen.get(node) ?? null,
      stage: history.stages.get(node) ?? null,
    },
    ...(isMiner ? earnedBy(history) : {}),
    ...{ expelled: history.isExpelled, rounds: history.rounds, events: history.events },
    ...{
      end: history.end,
      effects: effectsOfMiner(history),
      advice: adviceFor(history),
      firstWrongLine: first.wrong?.line ?? null,
    },
  }, "");
  return 0;
}

/** `until`: the last line that is used. */
async function read(path: string, history: MinerHistory, until = Infinity): Promise<VerifiedLedger> {
  const onEntry = (entry: Parameters<typeof takeIntoHistory>[1], line: number) => {
    if (line <= until) takeIntoHistory(history, entry);
  };
  const found = await verifyLedger(path, { verify: verifySignature, onEntry });
  if (found === null || isEmpty(found)) throw missingLog(path);
  return found;
}

const mostShown = 8;

/** A whole address, the beginning of one that no other node shares, or a name. */
function nodeNamed(
  asked: string,
  { seen, names, run }: { seen: readonly NodeId[]; names: ReadonlyMap<NodeId, string>; run: string },
): NodeId {
  const isNamed = (node: NodeId) => names.get(node) === asked;
  const matches = seen.filter((node) => node === asked || isNamed(node));
  const found = matches.length > 0 ? matches : seen.filter((node) => node.startsWith(asked));
  if (found.length === 1) return found[0]!;
  const all = found.length > 1 ? found : seen;
  const shown = all.slice(0, mostShown).map((node) => names.has(node) ? `${node} (${names.get(node)})` : node);
  if (all.length > mostShown) shown.push(`${all.length - mostShown} more`);
  throw new UserError(
    `Cannot explain '${asked}': ${found.length > 1 ? "it matches several nodes" : "it is not a node"} ` +
      `of the run in '${run}'; ${found.length > 1 ? "they are" : "its nodes are"} ${shown.join(", ")}`,
    { next: "Give one of these addresses or names" },
  );
}
