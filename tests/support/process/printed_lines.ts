/** What a process prints for people, so that a test awaits the line it means and never sleeps. */

export class PrintedLines {
  readonly all: string[] = [];
  #rest = "";
  #isOver = false;
  #taken = 0;
  #waiting: { pattern: RegExp; resolve: (match: RegExpExecArray) => void; reject: (error: Error) => void } | null =
    null;

  feed(text: string): void {
    const lines = (this.#rest + text).split("\n");
    this.#rest = lines.pop() ?? "";
    this.all.push(...lines);
    this.#settle();
  }

  /** There will be no more. */
  end(): void {
    this.#isOver = true;
    this.#settle();
  }

  /** The first line that matches, after those that earlier calls took or passed over. */
  next(pattern: RegExp): Promise<RegExpExecArray> {
    return new Promise((resolve, reject) => {
      this.#waiting = { pattern, resolve, reject };
      this.#settle();
    });
  }

  #settle(): void {
    while (this.#waiting !== null && this.#taken < this.all.length) {
      const match = this.#waiting.pattern.exec(this.all[this.#taken++]!);
      if (match === null) continue;
      const { resolve } = this.#waiting;
      this.#waiting = null;
      resolve(match);
    }
    if (!this.#isOver || this.#waiting === null) return;
    this.#waiting.reject(new Error(`no line like ${this.#waiting.pattern} came:\n${this.all.join("\n")}`));
    this.#waiting = null;
  }
}
