/** Collects what a callback reports, so that a test awaits the event it means and never sleeps. */

export class EventLog<E extends { type: string }> {
  readonly all: E[] = [];
  #taken = 0;
  #waiting: { matches: (event: E) => boolean; resolve: (event: E) => void } | null = null;

  readonly push = (event: E): void => {
    this.all.push(event);
    this.#settle();
  };

  /** The first event of this type after those that earlier calls took or passed over. */
  next<T extends E["type"]>(type: T): Promise<Extract<E, { type: T }>> {
    return new Promise((resolve) => {
      const matches = (event: E) => event.type === type;
      this.#waiting = { matches, resolve: (event) => resolve(event as Extract<E, { type: T }>) };
      this.#settle();
    });
  }

  async take<T extends E["type"]>(type: T, count: number): Promise<Extract<E, { type: T }>[]> {
    const events: Extract<E, { type: T }>[] = [];
    while (events.length < count) events.push(await this.next(type));
    return events;
  }

  count(type: E["type"]): number {
    return this.all.filter((event) => event.type === type).length;
  }

  #settle(): void {
    while (this.#waiting !== null && this.#taken < this.all.length) {
      const event = this.all[this.#taken++]!;
      if (!this.#waiting.matches(event)) continue;
      const { resolve } = this.#waiting;
      this.#waiting = null;
      resolve(event);
    }
  }
}
