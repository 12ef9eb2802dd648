/**
 * A program that tells its progress in numbers, one a line, until SIGKILL ends it.
 */

/** Runs it with one argument, and kills it after so many lines. Returns the last number that it surely told. */
export async function killAfterLines(
  program: string,
  { argument, lines }: { argument: string; lines: number },
): Promise<number> {
  const config = new URL("../../../deno.json", import.meta.url).pathname;
  const args = ["run", "--quiet", "--no-check", "--allow-all", "--config", config, program, argument];
  const child = new Deno.Command(Deno.execPath(), { args, stdout: "piped" }).spawn();
  let told = 0;
  let seen = 0;
  for await (const chunk of child.stdout.pipeThrough(new TextDecoderStream())) {
    const whole = chunk.split("\n").filter((line) => line !== "");
    seen += whole.length;
    told = Math.max(told, Number(whole.at(-2) ?? 0)); // the last one may be torn
    if (seen >= lines) break;
  }
  child.kill("SIGKILL");
  await child.status;
  return told;
}
