/// <reference lib="dom" />
/** Whether replicas agreed after the latest merges: a table of stages by rounds. */

import type { PublicRun } from "../../public/public_shape.ts";
import { byId, childAt, keepChildren, setClass, setText } from "./parts/elements.ts";

const signs = { true: "✓", false: "✕", null: "·" } as const;
const words = { true: "same", false: "different", null: "one replica" } as const;
const classes = { true: "ready", false: "lost", null: "loading" } as const;

export function showAgreement({ agreement, stages }: PublicRun): void {
  byId("agreement-empty").hidden = agreement.length > 0;
  const head = byId("agreement-rounds");
  setText(childAt(head, 0, "th"), "Stage");
  agreement.forEach(({ round }, i) => {
    const cell = childAt(head, i + 1, "th");
    cell.setAttribute("scope", "col");
    setText(cell, `${round}`);
  });
  keepChildren(head, agreement.length === 0 ? 0 : agreement.length + 1);
  const body = byId("agreement");
  const shown = agreement.length === 0 ? [] : stages;
  shown.forEach((_, stage) => {
    const row = childAt(body, stage, "tr");
    const name = childAt(row, 0, "th");
    name.setAttribute("scope", "row");
    setText(name, `${stage}`);
    agreement.forEach(({ stages }, i) => {
      const agrees = `${stages[stage] ?? null}` as keyof typeof signs;
      const cell = childAt(row, i + 1, "td");
      setClass(cell, classes[agrees]);
      const sign = childAt(cell, 0, "span");
      sign.setAttribute("aria-hidden", "true");
      setText(sign, signs[agrees]);
      const spoken = childAt(cell, 1, "span");
      setClass(spoken, "spoken");
      setText(spoken, words[agrees]);
    });
    keepChildren(row, agreement.length + 1);
  });
  keepChildren(body, shown.length);
}
