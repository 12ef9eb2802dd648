/** `normalizer` of a `tokenizer.json`. */

import * as v from "valibot";
import { type FilePart, partsOf, quoted, type Refuse, shaped } from "./refusal.ts";

const replaceShape = v.looseObject({ pattern: v.object({ String: v.string() }), content: v.string() });
const prependShape = v.looseObject({ prepend: v.string() });
const longestPrepended = 16; // characters

export function readNormalizer(value: unknown, refuse: Refuse): (text: string) => string {
  const steps = partsOf(value, { member: "normalizers", where: "normalizer", refuse })
    .map((part) => stepOf(part, refuse));
  return (text) => steps.reduce((normal, step) => step(normal), text);
}

function stepOf(part: FilePart, refuse: Refuse): (text: string) => string {
  const options = { where: `normalizer ${part.type}`, refuse };
  switch (part.type) {
    case "NFC":
    case "NFD":
    case "NFKC":
    case "NFKD": {
      const { type } = part;
      return (text) => text.normalize(type);
    }
    case "Prepend": {
      const { prepend } = shaped(part, { shape: prependShape, ...options });
      if (prepend.length > longestPrepended) return refuse(`normalizer Prepend adds ${quoted(prepend)}`);
      return (text) => text === "" ? "" : prepend + text;
    }
    case "Replace": {
      const { pattern: { String: from }, content } = shaped(part, { shape: replaceShape, ...options });
      if (from === "" || content.length > from.length) { // several could multiply a text
        return refuse(`normalizer Replace puts ${quoted(content)} in place of ${quoted(from)}, which is shorter`);
      }
      return (text) => text.replaceAll(from, () => content);
    }
    default:
      return refuse(`normalizer is of the type ${quoted(part.type)}, which iota does not compute`);
  }
}
