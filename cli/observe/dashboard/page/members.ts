/// <reference lib="dom" />
/** The table of members: miners by stage, then validators, with a search field. */

import { decimal, plural, shortAddress } from "../../../terminal/text/format.ts";
import type { PublicMember, RunSnapshot } from "../../public/public_shape.ts";
import { fragmentWith } from "./parts/address.ts";
import { byId, childAt, keepChildren, setClass, setText } from "./parts/elements.ts";
import { stateSigns, stateText } from "./pipeline/pipeline.ts";

const mostRows = 100; // more take longer than a frame to lay out

export function showMembers(body: Element, more: HTMLElement, { members }: RunSnapshot): void {
  const wanted = (byId("find") as HTMLInputElement).value.trim().toLowerCase();
  const found = Object.entries(members).filter((entry) => isFound(entry, wanted)).sort(inOrder);
  const shown = found.slice(0, mostRows);
  shown.forEach(([node, member], i) => showRow(childAt(body, i, "tr"), node, member));
  keepChildren(body, shown.length);
  more.hidden = found.length === shown.length && wanted === "";
  const which = found.length === shown.length ? "" : `; the first ${decimal(shown.length)} are shown`;
  setText(more, `${decimal(found.length)} of ${plural(Object.keys(members).length, "member")}${which}.`);
}

const isFound = ([node, { role, state, stage }]: Entry, wanted: string): boolean =>
  wanted === "" || `${node} ${role} ${state}`.toLowerCase().includes(wanted) || `stage ${stage}` === wanted;

type Entry = readonly [node: string, member: PublicMember];

function inOrder([nodeA, a]: Entry, [nodeB, b]: Entry): number {
  if (a.role !== b.role) return a.role === "miner" ? -1 : 1;
  return (a.stage ?? Infinity) - (b.stage ?? Infinity) || (nodeA < nodeB ? -1 : 1);
}

function showRow(row: Element, node: string, member: PublicMember): void {
  const name = childAt(row, 0, "th");
  name.setAttribute("scope", "row");
  const link = childAt(name, 0, "a");
  if (link.title !== node) link.title = node;
  const target = fragmentWith("node", node);
  if (link.getAttribute("href") !== target) link.setAttribute("href", target);
  setText(link, shortAddress(node));
  setText(childAt(row, 1, "td"), member.role);
  const state = childAt(row, 2, "td");
  setClass(state, member.state);
  setText(state, `${stateSigns[member.state]} ${stateText(member)}`);
  showNumber(childAt(row, 3, "td"), member.stage);
  showNumber(childAt(row, 4, "td"), member.role === "miner" ? member.tasks : null);
}

function showNumber(cell: Element, value: number | null): void {
  setClass(cell, "number");
  setText(cell, value === null ? "–" : decimal(value));
}
