/** The live screen's details: validators, slow miners, members with something against them. Pure. */

import type { NodeView, RunView } from "../../../core/view/view.ts";
import { cut, decimal, duration, plural, shortAddress } from "../../terminal/text/format.ts";
import type { FrameRoom } from "../../terminal/screen/live_screen.ts";

const mostRows = 6; // of each part

export function detailPanel(view: RunView, options: Pick<FrameRoom, "width" | "paint">): string[] {
  const nodes = Object.values(view.nodes);
  return [
    ...part("validators", validatorRows(nodes), options),
    ...part(
      "slowest miners: a task, of that on its device by its word, at least on its link",
      paceRows(nodes),
      options,
    ),
    ...part("taken back, late in merges, faults", conductRows(nodes), options),
    ...part("replicas after a merge", agreementRows(view), options),
  ];
}

function part(title: string, rows: readonly string[], { width, paint }: Pick<FrameRoom, "width" | "paint">): string[] {
  if (rows.length === 0) return [];
  return ["", paint.dim(cut(title, width)), ...rows.slice(0, mostRows).map((row) => cut(row, width))];
}

function validatorRows(nodes: readonly NodeView[]): string[] {
  return nodes.flatMap(({ node, checks }) => {
    if (checks === null) return [];
    const { passed, failed, evaluated, lastLoss } = checks;
    const loss = lastLoss === null || lastLoss.loss === null ? "" : `, held-out loss ${lastLoss.loss.toFixed(4)}`;
    const counts = `${decimal(passed)} passed, ${decimal(failed)} failed`;
    return [`${shortAddress(node)}  ${counts}, ${plural(evaluated, "round")} evaluated${loss}`];
  });
}

function paceRows(nodes: readonly NodeView[]): string[] {
  return nodes.flatMap(({ node, stage, state, pace }) =>
    pace === null || state === "lost" ? [] : [{ node, stage, pace }]
  )
    .sort((a, b) => b.pace.tookMs - a.pace.tookMs)
    .map(({ node, stage, pace: { tookMs, computeMs, leastAwayMs } }) => {
      const times = [tookMs, computeMs, leastAwayMs].map(duration).join(", ");
      return `${shortAddress(node)}  stage ${stage ?? "–"}  ${times}`;
    });
}

function conductRows(nodes: readonly NodeView[]): string[] {
  return nodes.map(({ node, conduct }) => ({ node, conduct, sum: conduct.released + conduct.late + conduct.faults }))
    .filter(({ sum }) => sum > 0)
    .sort((a, b) => b.conduct.blamed - a.conduct.blamed || b.sum - a.sum)
    .map(({ node, conduct: { released, late, faults, blamed } }) => {
      const proven = blamed === 0 ? "" : `, ${decimal(blamed)} proven`;
      return `${shortAddress(node)}  ${decimal(released)}, ${decimal(late)}, ${decimal(faults)}${proven}`;
    });
}

function agreementRows({ agreement }: RunView): string[] {
  return agreement.slice(-3).reverse().map(({ round, stages }) => {
    const words = stages.map((agree) => agree === null ? "one" : agree ? "equal" : "UNEQUAL");
    const text = new Set(words).size === 1
      ? `all ${words[0] ?? ""}`
      : words.map((word, i) => `${i} ${word}`).join(", ");
    return `round ${round}: ${text === "all one" ? "one replica a stage, nothing to compare" : text}`;
  });
}
