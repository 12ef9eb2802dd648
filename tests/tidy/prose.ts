/**
 * Words and turns of phrase that a reader from outside has to guess, each with what to write instead.
 *
 * A rule is here only if it does not hit honest English: what needs judgement is left to whoever reads the change.
 * Names keep their spelling (fields, record types, settings, identifiers), as do words in backquotes.
 */

import type { ProseText } from "./prose_texts.ts";

export interface ProseRule {
  readonly name: string;
  readonly pattern: RegExp;
  readonly instead: string;
  /** In these texts alone; without it, in all. */
  readonly kinds?: readonly ProseText["kind"][];
}

const turns: readonly ProseRule[] = [
  {
    name: "a clause as the subject",
    pattern: /(?:^|[.;:]\s)Who(?:ever)?\s(?![^.]*\?)[^.]*/,
    instead: "name the actor: 'a miner that …'",
  },
  {
    name: "'is to' for a duty",
    pattern:
      /(?<!\b(?:aim|goal|idea|job|point|purpose|rule|step|task|way|work) )\b(?:is|are|was|were)\sto\s(?!the\b|an?\b|its?\b|blame\b|come\b|\d)[a-z]+/,
    instead: "'must', 'should', 'will', or the plain verb",
  },
  {
    name: "'else … would'",
    pattern: /\belse\s(?:[\w'-]+\s){1,5}would\b/,
    instead: "'so that … cannot', or 'otherwise'",
  },
  {
    name: "'is no …'",
    pattern:
      /(?<!\b(?:there|There|it|It)\s)\b(?:is|are|was|were)\sno\s(?!longer\b|more\b|less\b|\w+er\b|such\b|different\b|worse\b|one\b|secret\b)[a-z]+/,
    instead: "'is not a …'",
  },
  {
    name: "a comment that leans on an unseen word",
    pattern: /^\s*(?:And not|Also of|Not of|Of (?!the (?:two|three|four)\b|these\b|those\b)[^,.]*[.]?$)/,
    instead: "a sentence with its subject",
    kinds: ["comment"],
  },
  {
    name: "'Cannot … as … must'",
    pattern: /Cannot\s[^:]*\sas\s[^:]*\bmust\b(?![\s\S]*current value)/,
    instead: "what happened, with the value: 'Cannot resume: \\'runs/a\\' holds no run'",
    kinds: ["string"],
  },
  {
    name: "'must …: it is not'",
    pattern: /\bmust\b[^:]*:\s(?:it|they|one|this|there)\s(?:is|are|has|have|does|do)\s(?:not|none|no|missing)\b/,
    instead: "what is the case, not what should be",
    kinds: ["string"],
  },
];

/** The field's word for a private one. */
const words: readonly (readonly [RegExp, string])[] = [
  [/(?<![-.[/('"\w]|bench |node to |tickets of a )\bhubs?\b(?![.\]/"]|-|'(?!s\b)| to node)/i, "orchestrator"],
  [/\bshown (?:states?|ends?)\b/, "opened parameters, payload consistency check"],
  [/\blaid ends?\b/, "candidate parameters"],
  [/(?<!\/)\breferees?\b/i, "arbiter"],
  [/\blaps(?:e|es|ed)\b/i, "missed deadline"],
  [/\b(?:expel(?:s|led|ling)?|expulsions?|convict(?:s|ed|ing)?|convictions?)\b/i, "ban"],
  [/\b(?:retak(?:e|es|ing|en)|retook|rewind(?:s|ing)?|rewound)\b/i, "rollback"],
  [/\bmend(?:s|ed|ing)?\b/i, "repair"],
  [/\bremak(?:e|es|ing)\b|\bremade\b/i, "attempt, recompute"],
  [/\bgiv(?:e|es|ing) on\b/i, "reassign"],
  [/\bdice\b/i, "randomness, random sampling"],
];

export const rules: readonly ProseRule[] = [
  ...turns,
  ...words.map(([pattern, instead]) => ({ name: "a private word", pattern, instead })),
];

/** Rooms that are clean, and stay so. A path ends in a slash unless it is one file. */
export const CLEAN = ["cli/", "chain/", "gpu/", "net/", "core/", "README.md", "ARCHITECTURE.md"];

/** What has not been read yet. */
export const NOT_YET: readonly string[] = ["tests/"];

/** What one text does wrong, as `line: rule: "words"; write …`. */
export function proseProblems({ kind, line, text }: ProseText): string[] {
  return rules.filter(({ kinds }) => kinds === undefined || kinds.includes(kind)).flatMap((
    { name, pattern, instead },
  ) =>
    [...text.matchAll(new RegExp(pattern, `g${pattern.flags}`))].map(({ 0: found, index }) => {
      const at = line + text.slice(0, index).trimEnd().split("\n").length - 1;
      return `${at}: ${name}: "${found.trim().replace(/\s+/g, " ").slice(0, 60)}"; write ${instead}`;
    })
  );
}
