/**
 * What a run's signed log says of one member, for anyone. Published field names stay. Details that may tell about a
 * node's machine are left out. A damaged line, or one of another version, costs only itself.
 */

import { type NodeId, nodeId } from "../../../core/ids.ts";
import type { LogEntry, ScoresEntry } from "../../../core/ledger/entry.ts";
import {
  effectsOfMiner,
  type MinerEffect,
  openHistory,
  type RoundEarnings,
  takeIntoHistory,
} from "../../../core/ledger/miner_history.ts";
import { readLines } from "./log_lines.ts";
import { readLine } from "../../files/chain_line.ts";
import { entryProblem } from "./entry_shape.ts";
import { adviceFor, checkedText, effectText, reasonsOfRound } from "./explain_text.ts";
import { ledgerPath } from "../../files/ledger_files.ts";
import type { PublicAccount } from "../public/public_shape.ts";

type MemberAccount = Omit<PublicAccount, "weights">;

const mostFiles = 2; // 32 MiB
const mostRounds = 12;
const mostScores = 32;
const mostSentences = 16;

export async function memberAccount(folder: string, member: string): Promise<MemberAccount | null> {
  const node = nodeId(member);
  const history = openHistory(node);
  let scores: ScoresEntry | null = null;
  let sinceRound: number | null = null;
  await eachEntry(folder, (entry) => {
    takeIntoHistory(history, entry);
    if (entry.type === "round") sinceRound ??= entry.round;
    if (entry.type === "scores") scores = entry;
  });
  const role = history.seen.get(node);
  if (role === undefined && history.rounds.length === 0 && history.events.length === 0) return null;
  const isValidator = role === "validator";
  return {
    ...{ node, role: role ?? null, sinceRound, isExpelled: history.isExpelled },
    checked: isValidator ? [] : checkedText(history).slice(-mostSentences),
    rounds: history.rounds.slice(-mostRounds).reverse().map(accountRound),
    effects: isValidator ? [] : effectsOfMiner(history).slice(-mostSentences).map(effectText),
    clasp: isValidator ? [] : effectsOfMiner(history).slice(-mostSentences).map(numbersOf),
    advice: isValidator ? [] : adviceFor(history),
    scores: isValidator ? scoresFor(node, scores) : null,
  };
}

const numbersOf = ({ stage, samples, effect, standardError }: MinerEffect): MemberAccount["clasp"][number] => (
  { stage, samples, effect, standardError }
);

export async function eachEntry(folder: string, onEntry: (entry: LogEntry) => void): Promise<void> {
  const newest = ledgerPath(folder);
  for (let i = mostFiles - 1; i >= 0; i--) {
    const file = await openIfThere(i === 0 ? newest : `${newest}.${i}`);
    if (file === null) continue;
    try {
      await readLines(file, 0, (text) => {
        const content = text === null ? undefined : readLine(text)?.content;
        if (content !== undefined && "entry" in content && entryProblem(content.entry) === null) onEntry(content.entry);
      });
    } finally {
      file.close();
    }
  }
}

async function openIfThere(path: string): Promise<Deno.FsFile | null> {
  try {
    return await Deno.open(path);
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return null;
    throw error;
  }
}

function accountRound(earnings: RoundEarnings): MemberAccount["rounds"][number] {
  const { round, stage, tasks, earned, credited, score, shareOfScores, withheldBy } = earnings;
  return { round, stage, tasks, earned, credited, reasons: reasonsOfRound(earnings), score, shareOfScores, withheldBy };
}

function scoresFor(validator: NodeId, entry: ScoresEntry | null): MemberAccount["scores"] {
  if (entry === null) return null;
  const own = entry.differing.find((each) => each.validator === validator);
  const ownScore = new Map(own?.miners.map((miner, i) => [miner, own.scores[i] ?? 0]));
  const all = entry.miners.map((node, i) => ({ node, score: ownScore.get(node) ?? entry.scores[i] ?? 0 }));
  const sum = all.reduce((total, { score }) => total + score, 0);
  const highest = all.sort((a, b) => b.score - a.score || (a.node < b.node ? -1 : 1)).slice(0, mostScores);
  return {
    round: entry.round,
    own: ownScore.size,
    shares: highest.map(({ node, score }) => ({ node, share: sum === 0 ? 0 : score / sum })),
  };
}
