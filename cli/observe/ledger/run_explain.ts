/** `iota explain`: one node's part in a run, from its signed log. */

import { type NodeId, nodeId } from "../../../core/ids.ts";
import {
  effectsOfMiner,
  type MinerHistory,
  openHistory,
  type RoundEarnings,
  takeIntoHistory,
} from "../../../core/ledger/miner_history.ts";
import { verifySignature } from "../../../chain/wallet/hotkey.ts";
import type { CommandContext } from "../../terminal/command.ts";
import { UsageError, UserError } from "../../program/errors.ts";
import { adviceFor, dueOf, historyText, reasonsOfRound } from "./explain_text.ts";
import { isEmpty, logPathOf, missingLog } from "./run_verify.ts";
import { hubSigns, type VerifiedLedger, verifyLedger } from "./verify_ledger.ts";
import { caveatsOf } from "./verify_text.ts";
import { roundsUntilDue } from "../../../core/score/work_score.ts";
import { decimal, plural } from "../../terminal/text/format.ts";

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

async function read(path: string, history: MinerHistory, until = Infinity): Promise<VerifiedLedger> {
  const onEntry = (entry: Parameters<typeof takeIntoHistory>[1], line: number) => {
    if (line <= until) takeIntoHistory(history, entry);
  };
  const found = await verifyLedger(path, { verify: verifySignature, onEntry });
  if (found === null || isEmpty(found)) throw missingLog(path);
  return found;
}

const mostShown = 8;

/** An address, a unique beginning of one, or a name. */
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

async function namesOf(folder: string): Promise<Map<NodeId, string>> {
  const names = new Map<NodeId, string>();
  for (const name of await foldersIn(`${folder}/wallets`)) {
    const address = await addressIn(`${folder}/wallets/${name}/hotkeys/defaultpub.txt`);
    if (address !== null) names.set(address, name);
  }
  return names;
}

async function foldersIn(folder: string): Promise<string[]> {
  try {
    const names: string[] = [];
    for await (const entry of Deno.readDir(folder)) if (entry.isDirectory) names.push(entry.name);
    return names;
  } catch (error) {
    if (isUnreadable(error)) return [];
    throw error;
  }
}

async function addressIn(path: string): Promise<NodeId | null> {
  try {
    const { ss58Address } = JSON.parse(await Deno.readTextFile(path)) as { ss58Address?: unknown };
    return typeof ss58Address === "string" ? nodeId(ss58Address) : null;
  } catch (error) {
    if (isUnreadable(error) || error instanceof SyntaxError) return null;
    throw error;
  }
}

const isUnreadable = (error: unknown): boolean =>
  error instanceof Deno.errors.NotFound || error instanceof Deno.errors.PermissionDenied ||
  error instanceof Deno.errors.NotADirectory;

/** Units of a mean stage's forward. */
interface Earned {
  readonly earned: number; // counted in scores, or paid when they were
  readonly inEscrow: number;
  readonly lost: number; // forfeited before it vested, or by a ban
}

export function earnedBy({ rounds }: MinerHistory): Earned {
  const sum = (those: (round: RoundEarnings) => boolean) =>
    rounds.filter(those).reduce((total, { credited }) => total + credited, 0);
  const isLost = ({ isForfeited, isExpelled }: RoundEarnings) => isForfeited || isExpelled;
  return {
    earned: sum((round) => round.isDue && !isLost(round)),
    inEscrow: sum((round) => !round.isDue && !isLost(round)),
    lost: sum(isLost),
  };
}

export function answerText(history: MinerHistory): string[] {
  const { earned, inEscrow, lost } = earnedBy(history);
  return [
    `Earned     ${units(earned)}${shareText(history)}`,
    `In escrow  ${units(inEscrow)}${escrowText(history)}${lost > 0 ? `; ${units(lost)} lost` : ""}`,
    `Why        ${whyText(history)}`,
  ];
}

const units = (count: number): string => `${decimal(count)} ${count === 1 ? "unit" : "units"}`;

function shareText({ rounds, end }: MinerHistory): string {
  const share = end?.shareOfScores ?? rounds.findLast(({ shareOfScores }) => shareOfScores !== null)?.shareOfScores;
  if (share === undefined || share === null) return "";
  return `, ${(100 * share).toFixed(1)} % of all scores ${end === null ? "now" : "at the run's end"}`;
}

function escrowText({ rounds, isExpelled }: MinerHistory): string {
  const waiting = rounds.filter(({ isDue, isForfeited }) => !isDue && !isForfeited);
  const last = waiting.at(-1);
  if (last === undefined || isExpelled) return "";
  return `; the last of it counts once round ${last.round + roundsUntilDue} is reported, or when the run ends`;
}

function whyText({ events, node, rounds, isExpelled }: MinerHistory): string {
  if (isExpelled) return "it was proven to lie and was banned: its unpaid work and all later work count for nothing";
  if (rounds.length === 0) return "no round that it worked in has ended";
  const verdicts = events.flatMap((event) => event.type === "verdict" && event.miner === node ? [event] : []);
  const wrong = verdicts.filter(({ passed }) => !passed).length;
  const work = `${plural(rounds.reduce((total, { tasks }) => total + tasks, 0), "task")} in ${
    plural(rounds.length, "round")
  }`;
  const checked = verdicts.length === 0
    ? "none was repeated by a validator"
    : `${decimal(verdicts.length)} repeated by validators, ${wrong === 0 ? "none" : decimal(wrong)} wrong`;
  const reduced = rounds.filter((round) =>
    round.isForfeited || round.credited < round.earned || dueOf(round) < round.earned
  );
  const latest = reduced.at(-1);
  if (latest === undefined) return `${work}, all credited in full; ${checked}`;
  const [reason = "no payload of the merge contains part of its gradients"] = reasonsOfRound({
    ...latest,
    isDue: true,
  });
  return `${work}, ${decimal(rounds.length - reduced.length)} of them credited in full; ${checked}; ` +
    `round ${latest.round}: ${reason}`;
}
