/**
 * A systemd of the user's own, for one test: it knows only the units in the given home.
 *
 * Needs a machine that was booted with systemd, or whose root says it was. Where it does not come up, `start` says why.
 */

export interface UserServices {
  /** What a program must see to reach it. */
  readonly env: { readonly XDG_RUNTIME_DIR: string };
  stop(): Promise<void>;
}

/** A text: why there is none here. */
export async function startUserServices({ home, folder }: { home: string; folder: string }): Promise<
  UserServices | string
> {
  const program = ["/lib/systemd/systemd", "/usr/lib/systemd/systemd"].find(isThere);
  if (program === undefined) return "there is no systemd on this machine";
  const sockets = `${folder}/systemd`; // there before it starts, or the first thing in it might not be seen
  await Deno.mkdir(sockets, { mode: 0o700, recursive: true });
  const own = { HOME: home, XDG_RUNTIME_DIR: folder, PATH: Deno.env.get("PATH") ?? "" };
  const watcher = Deno.watchFs(sockets);
  const command: Deno.CommandOptions = { args: ["--user"], env: own, clearEnv: true, stdout: "null", stderr: "piped" };
  const process = new Deno.Command(program, command).spawn();
  const ended = process.output();
  void ended.then(() => watcher.close());
  for await (const _ of watcher) if (isThere(`${sockets}/private`)) break; // what it listens on
  const { code } = await new Deno.Command("systemctl", { args: ["--user", "--wait", "is-system-running"], env: own })
    .output();
  const stop = async () => {
    if (code === 0) process.kill("SIGTERM");
    return new TextDecoder().decode((await ended).stderr).trim();
  };
  if (code === 0) return { env: { XDG_RUNTIME_DIR: folder }, stop: async () => void await stop() };
  return `systemd --user does not start here (${await stop() || "was this machine booted with it?"})`;
}

function isThere(path: string): boolean {
  try {
    Deno.statSync(path);
    return true;
  } catch (error) {
    if (error instanceof Deno.errors.NotFound) return false;
    throw error;
  }
}
