/**
 * A systemd of the user's own, for one test: it knows only the units in the given home.
 *
 * Needs a machine that was booted with systemd, or whose root says it was. Where it does not come up, `start` says why. That it
 * is up, a unit of its own tells through a pipe with a name.
 */

export interface UserServices {
  /** What a program must see to reach it. */
  readonly env: { readonly XDG_RUNTIME_DIR: string };
  stop(): Promise<void>;
}

/** A text: why it is unavailable here. */
export async function startUserServices({ home, folder }: { home: string; folder: string }): Promise<
  UserServices | string
> {
  const program = ["/lib/systemd/systemd", "/usr/lib/systemd/systemd"].find(isThere);
  if (program === undefined) return "there is no systemd on this machine";
  await Deno.mkdir(folder, { mode: 0o700 });
  const pipe = `${folder}/up`;
  await new Deno.Command("mkfifo", { args: [pipe] }).output();
  await writeUnit(`${home}/.config/systemd/user`, pipe);
  const end = new AbortController();
  const ended = new Deno.Command(program, {
    args: ["--user"],
    env: { HOME: home, XDG_RUNTIME_DIR: folder, PATH: Deno.env.get("PATH") ?? "" },
    clearEnv: true,
    ...{ stdin: "null", stdout: "null", stderr: "null" }, // what it starts may outlive it, and would keep them open
    signal: end.signal,
  }).spawn().status;
  const told = Deno.readTextFile(pipe);
  const isUp = await Promise.race([told.then(() => true), ended.then(() => false)]);
  const stop = async () => {
    end.abort();
    await ended;
  };
  if (isUp) return { env: { XDG_RUNTIME_DIR: folder }, stop };
  await Promise.all([told, Deno.writeTextFile(pipe, "")]); // no other process will
  return "systemd --user does not start here: was this machine booted with systemd?";
}

async function writeUnit(folder: string, pipe: string): Promise<void> {
  const name = "up.service";
  await Deno.mkdir(`${folder}/default.target.wants`, { recursive: true });
  await Deno.writeTextFile(`${folder}/${name}`, `[Service]\nType=oneshot\nExecStart=/bin/sh -c 'echo up >"${pipe}"'\n`);
  await Deno.symlink(`../${name}`, `${folder}/default.target.wants/${name}`);
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
