/** The nodes of a view. A record about an unknown node adds it, up to `maxNodes`, until a merge removes lost ones. */

import type { NodeId } from "../ids.ts";
import type { Role } from "../protocol/message.ts";
import { newConduct } from "./fold_conduct.ts";
import type { NodeView, RunView } from "./view.ts";
import type { RecordOf, TakenUpNode, ViewRecord } from "./view_record.ts";

const maxNodes = 2 ** 16;

/** Null if there are too many. */
export function nodeOf(view: RunView, node: NodeId): NodeView | null {
  return view.nodes[node] ?? addNode(view, newNode(node));
}

const nodeTypes = [
  ...["nodeJoined", "nodeAssigned", "nodeLoading", "nodeReady", "nodeResumed", "nodeMoved", "nodeLost"] as const,
];
export type NodeRecord = RecordOf<typeof nodeTypes[number]>;

const types: ReadonlySet<string> = new Set(nodeTypes);
export const isOfNode = (record: ViewRecord): record is NodeRecord => types.has(record.type);

export function changeNode(view: RunView, record: NodeRecord): void {
  if (record.type === "nodeJoined") {
    const { conduct, checks, pace } = view.nodes[record.node] ?? newNode(record.node); // it may have been away
    const state = stateOfNew(record.role, false);
    addNode(view, { ...newNode(record.node), role: record.role, state, conduct, checks, pace });
    return;
  }
  const node = nodeOf(view, record.node);
  if (node === null) return;
  switch (record.type) {
    case "nodeAssigned":
      return void Object.assign(node, { stage: record.stage, state: "loading", loading: null });
    case "nodeLoading":
      return void Object.assign(node, { stage: record.stage, state: "loading", loading: record.percent });
    case "nodeReady":
    case "nodeResumed":
      return void Object.assign(node, { stage: record.stage, state: "ready", loading: null });
    case "nodeMoved":
      return void Object.assign(node, { stage: record.to, state: "loading" });
    case "nodeLost":
      node.state = "lost";
      return;
  }
}

/** Keeps the conduct of those already known. */
export function takeUpNodes(view: RunView, nodes: readonly TakenUpNode[]): void {
  const before = view.nodes;
  view.nodes = {};
  view.nodeCount = 0;
  for (const { node, role, stage, isReady } of nodes) {
    const kept = before[node] ?? newNode(node);
    addNode(view, { ...kept, role, state: stateOfNew(role, isReady), stage, loading: null });
  }
}

export function forgetLost(view: RunView): void {
  for (const { node, state } of Object.values(view.nodes)) {
    if (state !== "lost") continue;
    delete view.nodes[node];
    view.nodeCount -= 1;
  }
}

const newNode = (node: NodeId): NodeView => ({
  ...{ node, role: "miner", state: "loading", stage: null, loading: null, tasks: 0 },
  ...{ conduct: newConduct(), checks: null, pace: null, openPace: null },
});

/** A validator loads no stage before its first request. */
const stateOfNew = (role: Role, isReady: boolean): NodeView["state"] =>
  isReady || role === "validator" ? "ready" : "loading";

function addNode(view: RunView, node: NodeView): NodeView | null {
  const isKnown = view.nodes[node.node] !== undefined;
  if (!isKnown && view.nodeCount >= maxNodes) return null;
  view.nodes[node.node] = node;
  if (!isKnown) view.nodeCount += 1;
  return node;
}
