/** The names of the catalogue of attackers, in the order in which they run; what each does is in attacks.ts. */

export const attackNames = [
  ...[
    "nan",
    "zero",
    "constant",
    "random",
    "flip",
    "scaled",
    "biased",
    "selective",
    "hidden",
    "leaver",
    "skipper",
    "unmerged",
    "sparing",
    "unseen",
    "absent",
  ] as const,
  ...[
    "delayed",
    "replayed",
    "lazy",
    "half",
    "wrong-page",
    "label-flip",
    "forged-loss",
    "forged-norm",
    "uncomputed",
  ] as const,
  ...["flip-payload", "scaled-payload", "zero-payload", "copied", "withheld", "reducers", "poisoned-join"] as const,
  ...["accuser", "churner", "sybils", "rubber-stamp", "false-verdicts"] as const,
] as const;

/** Those that need nothing but the attacker's own device, words and uploads, so that a process can be told to attack. */
export const processAttackNames = [
  ...["nan", "zero", "constant", "random", "flip", "scaled", "biased", "delayed", "replayed", "lazy", "half"] as const,
  ...["wrong-page", "label-flip", "forged-loss", "forged-norm", "uncomputed"] as const,
  ...["flip-payload", "withheld", "accuser"] as const,
] as const satisfies readonly AttackName[];

export type AttackName = typeof attackNames[number];
