/** A stage that this adapter cannot hold: which tensor, its size, the limit. For the user; not our bug. */

export interface TooLarge {
  readonly label: string; // of the buffer
  readonly action: string; // "allocate 'logits' as a buffer"
  readonly bytes: number;
  readonly limitBytes: number;
}

export class TooLargeError extends RangeError {
  override name = "TooLargeError";
  readonly label: string;
  readonly bytes: number;
  readonly limitBytes: number;

  constructor({ label, action, bytes, limitBytes }: TooLarge) {
    super(
      `Cannot ${action} must be at most ${limitBytes} bytes on this adapter: current value is ${bytes}. ` +
        "Use more stages or fewer sequences per microbatch",
    );
    this.label = label;
    this.bytes = bytes;
    this.limitBytes = limitBytes;
  }
}
