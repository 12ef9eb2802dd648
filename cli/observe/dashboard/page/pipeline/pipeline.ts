/// <reference lib="dom" />
/** A card per stage: layers, microbatches whose next task is there, merge, replicas. */

import { decimal, plural, shortAddress } from "../../../../terminal/text/format.ts";
import type { PublicMember, RunSnapshot } from "../../../public/public_shape.ts";
import { childAt, keepChildren, setClass, setText } from "../parts/elements.ts";

const mostReplicas = 6; // by name

/** For those who do not see the colour. */
export const stateSigns: Readonly<Record<PublicMember["state"], string>> = { ready: "●", loading: "◌", lost: "✕" };

export function showPipeline(list: Element, { run, members }: RunSnapshot): void {
  const byStage = replicasByStage(members);
  run.stages.forEach((stage, i) => {
    const card = childAt(list, i, "li");
    setClass(card, run.unserved.includes(i) ? "unserved" : "");
    const last = stage.firstLayer + stage.layers - 1;
    const layers = stage.layers === 1 ? `layer ${last}` : `layers ${stage.firstLayer} to ${last}`;
    setText(childAt(card, 0, "h3"), `Stage ${i}`);
    setText(childAt(card, 1, "p"), layers);
    const isOver = run.phase === "finished" || run.phase === "stopped";
    const flight = `${decimal(stage.forward)} forward, ${decimal(stage.backward)} backward in flight`;
    setText(childAt(card, 2, "p"), isOver ? "" : flight);
    setText(childAt(card, 3, "p"), isOver ? "" : stage.merge === null ? run.phase : `merge: ${stage.merge}`);
    const replicas = byStage.get(i) ?? [];
    showReplicas(childAt(card, 4, "ul"), replicas);
    setText(childAt(card, 5, "p"), countsText(replicas));
  });
  keepChildren(list, run.stages.length);
}

type Replica = readonly [node: string, member: PublicMember];

function replicasByStage(members: RunSnapshot["members"]): Map<number, Replica[]> {
  const byStage = new Map<number, Replica[]>();
  for (const [node, member] of Object.entries(members)) {
    if (member.role !== "miner" || member.stage === null) continue;
    const replicas = byStage.get(member.stage);
    if (replicas === undefined) byStage.set(member.stage, [[node, member]]);
    else replicas.push([node, member]);
  }
  return byStage;
}

/** `100 miners: 97 ready, 3 lost`; empty if every replica is named. */
function countsText(replicas: readonly Replica[]): string {
  if (replicas.length === 0) return "no miner";
  if (replicas.length <= mostReplicas) return "";
  const counts = (["ready", "loading", "lost"] as const).map((state) => {
    return { state, count: replicas.filter(([, member]) => member.state === state).length };
  });
  const shown = counts.filter(({ count }) => count > 0).map(({ state, count }) => `${decimal(count)} ${state}`);
  return `${plural(replicas.length, "miner")}: ${shown.join(", ")}`;
}

function showReplicas(list: Element, replicas: readonly Replica[]): void {
  setClass(list, "replicas");
  const shown = replicas.slice(0, mostReplicas);
  shown.forEach(([node, member], i) => {
    const item = childAt(list, i, "li");
    const sign = childAt(item, 0, "span");
    sign.setAttribute("aria-hidden", "true");
    setClass(sign, member.state);
    setText(sign, stateSigns[member.state]);
    setText(childAt(item, 1, "span"), ` ${shortAddress(node)} `);
    const spoken = childAt(item, 2, "span");
    setClass(spoken, "spoken");
    setText(spoken, stateText(member));
  });
  keepChildren(list, shown.length);
}

export function stateText({ state, loading }: PublicMember): string {
  return state === "loading" && loading !== null ? `loading, ${loading} %` : state;
}
