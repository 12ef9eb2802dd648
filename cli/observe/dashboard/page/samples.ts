/// <reference lib="dom" />
/** The model's continuations of its prompt, newest first. */

import { decimal, plural } from "../../../terminal/text/format.ts";
import type { PublicRun } from "../../public/public_shape.ts";
import { byId, childAt, keepChildren, setClass, setText } from "./parts/elements.ts";

export function showSamples({ samples, heldOut, phase }: Pick<PublicRun, "samples" | "heldOut" | "phase">): void {
  const list = byId("samples");
  byId("sampling").hidden = samples.length === 0;
  [...samples].reverse().forEach(({ step, round, loss, prompt, text }, i) => {
    const item = childAt(list, i, "li");
    const about = childAt(item, 0, "p");
    setClass(about, "at");
    const isAwaited = phase !== "finished" && phase !== "stopped" && !heldOut.some((point) => point.step >= step);
    const measured = loss === null
      ? isAwaited ? ["held-out loss not measured yet"] : []
      : [`held-out loss ${loss.toFixed(4)}`];
    setText(about, [`step ${decimal(step)}`, `after ${plural(round, "round")}`, ...measured].join(" · "));
    const quote = childAt(item, 1, "blockquote");
    if (quote.dir !== "auto") quote.dir = "auto";
    setText(childAt(quote, 0, "b"), prompt);
    setText(childAt(quote, 1, "span"), text);
  });
  keepChildren(list, samples.length);
}
