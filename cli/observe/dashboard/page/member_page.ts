/// <reference lib="dom" />
/** One member: its work beside that of its stage, audits, conduct. Chosen by `node=ADDRESS` in the fragment. */

import { decimal, duration, plural } from "../../../terminal/text/format.ts";
import type { PublicConduct, PublicMember, PublicPace, RunSnapshot } from "../../public/public_shape.ts";
import { addressPart, fragmentWith } from "./parts/address.ts";
import { byId, type Fact, setText, showFacts, showLines } from "./parts/elements.ts";
import { stateSigns, stateText } from "./pipeline/pipeline.ts";

export function showMember(state: RunSnapshot): void {
  const node = addressPart("node");
  const section = byId("member");
  const wasHidden = section.hidden;
  section.hidden = node === null;
  if (node === null) return;
  const close = byId("close");
  close.setAttribute("href", fragmentWith("node", null));
  setText(byId("member-title"), node);
  const member = state.members[node];
  const conduct = state.conduct[node] ?? null;
  showFacts(
    byId("member-facts"),
    member === undefined ? [] : [...memberFacts(state, member, conduct), ...paceFacts(state.paces[node])],
  );
  showLines(byId("reasons"), member === undefined ? [absence] : reasonsOf(member, conduct));
  if (wasHidden) section.focus();
}

const absence = "No member of this address takes part at this moment.";

export function memberFacts(state: RunSnapshot, member: PublicMember, conduct: PublicConduct | null): Fact[] {
  const { passed, failed, last } = conduct?.audits ?? { passed: 0, failed: 0, last: null };
  return [
    { label: "Role", value: member.role },
    { label: "State", value: `${stateSigns[member.state]} ${stateText(member)}` },
    { label: "Stage", value: member.stage === null ? "–" : decimal(member.stage) },
    { label: "Tasks finished", value: decimal(member.tasks) },
    { label: "Share of its stage", value: shareText(state, member) },
    { label: "Audits", value: `${decimal(passed)} passed, ${decimal(failed)} failed` },
    {
      label: "Last audit's error",
      value: last === null ? "–" : `${numberText(last.error)}, limit ${numberText(last.tolerance)}`,
    },
    { label: "Tasks taken back", value: decimal(conduct?.released ?? 0) },
    { label: "Late in merges", value: decimal(conduct?.late ?? 0) },
    { label: "Answers that came late", value: lateText(conduct?.outrun ?? 0) },
    { label: "Faults", value: faultText(conduct) },
  ];
}

function paceFacts(pace: PublicPace | undefined): Fact[] {
  if (pace === undefined) return [];
  const { tookMs, computeMs, leastAwayMs } = pace;
  return [
    { label: "A task takes", value: duration(tookMs) },
    { label: "On its device, it says", value: duration(computeMs) },
    { label: "On its link and in its queue", value: duration(tookMs - computeMs) },
    { label: "Of that, at the least", value: duration(leastAwayMs) },
  ];
}

const numberText = (value: number | null): string => value === null ? "none" : decimal(value);

function shareText({ members }: RunSnapshot, { role, stage, tasks }: PublicMember): string {
  const ofStage = Object.values(members).filter((other) => other.role === role && other.stage === stage);
  const all = ofStage.reduce((sum, other) => sum + other.tasks, 0);
  return stage === null || all === 0
    ? "–"
    : `${Math.round((100 * tasks) / all)} % of ${plural(ofStage.length, "replica")}`;
}

const lateText = (outrun: number): string => outrun === 0 ? "none" : `${decimal(outrun)}, which costs nothing`;

function faultText(conduct: PublicConduct | null): string {
  if (conduct === null || conduct.faults + conduct.blamed === 0) return "none";
  return `${decimal(conduct.faults)}, ${decimal(conduct.blamed)} proven; last '${conduct.lastFault}'`;
}

/** The worst first. */
export function reasonsOf({ role, state, tasks }: PublicMember, conduct: PublicConduct | null): string[] {
  if (role === "validator") {
    return ["A validator repeats the tasks of others; it is paid by the chain, not by this run."];
  }
  const { released = 0, late = 0, blamed = 0, audits = { passed: 0, failed: 0 } } = conduct ?? {};
  const reasons: string[] = [];
  if (blamed > 0) reasons.push(`⚠ ${plural(blamed, "proven fault")}; three ban it.`);
  if (audits.failed > 0) reasons.push(`⚠ ${plural(audits.failed, "audit")} failed: pay for that work can be withheld.`);
  if (late > 0) {
    reasons.push(`⚠ Its stage went on without it ${plural(late, "time")}, which can cost half of a round's pay.`);
  }
  if (released > 0) reasons.push(`${plural(released, "task")} taken back: unfinished work earns nothing.`);
  if (state === "loading") reasons.push("It is still loading its stage and gets no task.");
  if (state === "lost") reasons.push("Its link is lost; its tasks went to others.");
  if (state === "ready" && tasks === 0) reasons.push("It is ready and has not finished a task yet.");
  if (audits.passed > 0) reasons.push(`${plural(audits.passed, "audit")} passed.`);
  if (tasks > 0) reasons.push(`${plural(tasks, "finished task")}, which its pay is counted from.`);
  return reasons;
}
