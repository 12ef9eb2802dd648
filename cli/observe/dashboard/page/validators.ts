/// <reference lib="dom" />
/** The table of validators. */

import { decimal, shortAddress } from "../../../terminal/text/format.ts";
import type { PublicChecks, PublicMember, RunSnapshot } from "../../public/public_shape.ts";
import { fragmentWith } from "./parts/address.ts";
import { byId, childAt, keepChildren, setClass, setText } from "./parts/elements.ts";
import { stateSigns, stateText } from "./pipeline/pipeline.ts";

const mostRows = 32; // the member table finds the others

type Row = readonly [node: string, member: PublicMember, checks: PublicChecks | undefined];

export function showValidators({ members, validators }: RunSnapshot): void {
  const all = Object.entries(members).filter(([, { role }]) => role === "validator");
  const rows = all.map(([node, member]): Row => [node, member, validators[node]]).sort(inOrder).slice(0, mostRows);
  byId("no-validators").hidden = rows.length > 0;
  const body = byId("validators");
  rows.forEach((row, i) => showRow(childAt(body, i, "tr"), row));
  keepChildren(body, rows.length);
}

function inOrder([nodeA, , a]: Row, [nodeB, , b]: Row): number {
  const work = (checks: PublicChecks | undefined) => (checks?.passed ?? 0) + (checks?.failed ?? 0);
  return (b?.failed ?? 0) - (a?.failed ?? 0) || work(b) - work(a) || (nodeA < nodeB ? -1 : 1);
}

function showRow(row: Element, [node, member, checks]: Row): void {
  const name = childAt(row, 0, "th");
  name.setAttribute("scope", "row");
  const link = childAt(name, 0, "a");
  if (link.title !== node) link.title = node;
  const target = fragmentWith("node", node);
  if (link.getAttribute("href") !== target) link.setAttribute("href", target);
  setText(link, shortAddress(node));
  const state = childAt(row, 1, "td");
  setClass(state, member.state);
  setText(state, `${stateSigns[member.state]} ${stateText(member)}`);
  const { passed = 0, failed = 0, evaluated = 0, lastLoss = null, lastFailed = null } = checks ?? {};
  const loss = lastLoss === null ? "–" : lastLoss.loss === null ? "not finite" : lastLoss.loss.toFixed(4);
  [decimal(passed), decimal(failed), decimal(evaluated), loss].forEach((text, i) => {
    const cell = childAt(row, i + 2, "td");
    setClass(cell, "number");
    setText(cell, text);
  });
  const found = childAt(row, 6, "td");
  setClass(found, "words");
  const text = lastFailed === null ? "nothing wrong" : `${shortAddress(lastFailed.miner)} in round ${lastFailed.round}`;
  setText(found, text);
}
