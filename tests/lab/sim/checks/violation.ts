/** A rule that a simulated run broke: our bug, in the program or in the simulator. Carries the rule's name for `--shrink`. */

export class Violation extends Error {
  override name = "Violation";
  readonly rule: string;

  constructor(rule: string, detail: string) {
    super(`${rule}: ${detail}`);
    this.rule = rule;
  }
}

export function must(condition: boolean, rule: string, detail: () => string): void {
  if (!condition) throw new Violation(rule, detail());
}
