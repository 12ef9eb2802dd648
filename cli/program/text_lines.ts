/**
 * Cuts a stream of text into its lines, without empty ones. With `wholeOnly` an unterminated last line is dropped,
 * because its writer was killed while writing it.
 */
export class TextLineStream extends TransformStream<string, string> {
  constructor({ wholeOnly = false }: { wholeOnly?: boolean } = {}) {
    let rest = "";
    super({
      transform(chunk, controller) {
        const lines = (rest + chunk).split("\n");
        rest = lines.pop() ?? "";
        for (const line of lines) if (line !== "") controller.enqueue(line);
      },
      flush(controller) {
        if (rest !== "" && !wholeOnly) controller.enqueue(rest);
      },
    });
  }
}
