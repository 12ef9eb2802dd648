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
    pattern: /(?:^\W*|[.;:]\s|\n\s*(?:\*|[-|#]+)?\s*)Who(?:ever)?\s(?![^.]*\?)[^.]*/,
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
  [
    // except the benchmark of that name and its parts
    /(?<![-.[/('"\w|]|bench |only |part of |mean |node to |tickets of a )\bhubs?\b(?!\.[\w…]|[\]/"]|-|'(?!s\b)| (?:to node|relay|hello|messages|restart|machine)\b)/i,
    "orchestrator",
  ],
  [
    /\bshown\s(?:states?|ends?|parameters|payloads?|cop(?:y|ies))\b|\bshow(?:s|n|ing)?\s(?:(?:its|their|no|false|the)\s)(?:own\s)?parameters\b/i,
    "opened parameters, payload consistency check",
  ],
  [
    /\b(?:has|have|had)\s(?:not\s)?shown\s(?:its|their|the|what\s(?:it|they)\sdid)\b|\bshow(?:s|ing)?\s(?:its|their)\sstates?\b|\bshow(?:s|ing)?\swhat\s(?:it|they)\sdid\b/i,
    "open its parameters",
  ],
  [/\blaid ends?\b/i, "candidate parameters"],
  [/(?<!\/)\breferees?\b/i, "arbiter"],
  [/\blaps(?:e|es|ed)\b/i, "missed deadline"],
  [
    /\bwithh[eo]ld(?:s|ing)?\s(?:(?:an?|the)\s)?(?:\w+\s)?dut(?:y|ies)\b|\blet(?:s|ting)?\s(?:an?|its|one|the)\s(?:\w+\s)?dut(?:y|ies)\b|\bdut(?:y|ies)\s(?:of\s(?:the|a)\s(?:merge|round|step)|came|passed)\b/i,
    "missed deadline, deadline of the merge",
  ],
  [
    /\b(?:pay|work|credits?|units?|earnings|rounds?|what|that|they)\s(?:that\s)?(?:is|are|was|were)\snot\s(?:yet\s)?due\b|\b(?:pay|work|credits?|units?)\s(?:is|are|was|were)\sdue\b|\brounds?\s(?:that\s)?(?:are|were)\sdue\b|\ball\srounds\sdue\b|\bcredited,?\s(?:and\s)?not\s(?:yet\s)?due\b|\bescrow\suntil\s\w+\s(?:is|are)\sdue\b|\bdue\sonce\sround\b/i,
    "vested",
  ],
  [
    /\btrials?\sof\s(?:an?|the|its|their|each|this|that|one)\s(?:\w+\s)?(?:payload|update|miner|replica|merge)s?\b|\bpayload\strials?\b|\b(?:last|latest|next)\strials?\b/i,
    "leave-one-in evaluation",
  ],
  [
    /\b(?:miners?|nodes?|members?|who|that|it|which)\srests?\b(?!\son\b)|\brest(?:s|ed)?\suntil\b|\b(?:sen[dt]s?|sending|puts?|goes|went)\sto\srest\b|\bresting\b/i,
    "suspended by the orchestrator, paused by its owner",
  ],
  [/\b(?:nobody's|every|each|long|(?:during|after)\san?)\sabsences?\b/i, "disconnect, time without a link"],
  [
    /\bseal(?:s|ed|ing)?\s(?:an?|the|its|each|every)\s(?:\w+\s)?(?:steps?|gradients?)\b|\bsealed\s(?:steps?|gradients?|tasks?)\b|\b(?:steps?|gradients?|tasks?)\s(?:(?:is|are|was|were|being)\s)?sealed\b/i,
    "commit to a gradient, committed step",
  ],
  [
    /\bconfirm(?:s|ed|ing)?\s(?:an?|the|its|their|each|every)\s(?:\w+\s)?(?:gradients?|steps?|norms?)\b|\bconfirmed\s(?:tasks?|gradients?|norms?)\b|\b(?:gradients?|norms?|tasks?)\s(?:(?:is|are|was|were)\s)?(?:never\s)?confirmed\b|\b(?:ow(?:e|es|ed|ing)|in\splace\sof|after)\s(?:an?|its|their|each|every)\s(?:last\s)?confirmations?\b/i,
    "commit to a gradient, commitment",
  ],
  [/\btoken\ssides\b|\bside\srows?\b/i, "token side embedding"],
  [/\b(?:payload|miner's|node's|replica's|stage's)\strails?\b/i, "accumulated sketch"],
  [
    /\bodd\s(?:ones?|miners?|payloads?|nodes?|members?|replicas?|validators?|norms?|gradients?|results?)\b/i,
    "outlier",
  ],
  [/\btalk(?:ing)?\s(?:budget|limit|allowance)s?\b|\bbudget\s(?:of|for)\stalk\b/i, "message budget"],
  [/\bplaces\sin\sflight\b|\bin-flight\splaces?\b/i, "in-flight window"],
  [
    /\b(?:an?|the|its|this|each|every|such|second|first|last)\snotices?\b(?!\sboard)|\bnotices\s(?:to|about|for)\b/i,
    "notification",
  ],
  [/\blongest\sways?\b|\bof\sthe\sreach\b|\bthe\sreach\sof\sthe\s(?:steps?|optimizer|update)\b/i, "update-norm bound"],
  [/\bow(?:e|es|ed|ing)\b(?!\sto\b)/i, "pending, must still do"],
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

/** The rules' own words and cases; all else is held to the rules. */
export const EXAMPLES = ["tests/tidy/prose.ts", "tests/tidy/prose_test.ts"];

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
