/**
 * Two machines with a cable between them: network namespaces of Linux joined by a pair of virtual interfaces, each with loopback of
 * its own. What is started `through` one of them sees no other network.
 */

export interface Machine {
  readonly ipv4: string;
  readonly ipv6: string;
  readonly through: readonly string[];
}

/** Why it is unavailable here, or null. */
export function noSecondMachine(): string | null {
  if (Deno.build.os !== "linux") return "network namespaces are Linux's";
  if (Deno.uid() !== 0) return "network namespaces need root";
  const name = newName();
  try {
    ip(`netns add ${name}`);
  } catch (error) {
    return error instanceof Deno.errors.NotFound ? "there is no program ip" : "network namespaces are not allowed here";
  }
  ip(`netns del ${name}`);
  return null;
}

export async function withTwoMachines(body: (machines: readonly [Machine, Machine]) => Promise<void>): Promise<void> {
  const names = [newName(), newName()] as const;
  const cable = names.map((name) => name.replace("iota-", "v"));
  try {
    for (const name of names) ip(`netns add ${name}`);
    ip(`link add ${cable[0]} type veth peer name ${cable[1]}`);
    const machines = names.map((name, index) => {
      const machine = { ipv4: `10.87.65.${index + 1}`, ipv6: `fd87:65::${index + 1}` };
      const device = cable[index]!;
      ip(`link set ${device} netns ${name}`);
      ip(`-n ${name} addr add ${machine.ipv4}/24 dev ${device}`);
      ip(`-n ${name} addr add ${machine.ipv6}/64 dev ${device} nodad`);
      for (const each of ["lo", device]) ip(`-n ${name} link set ${each} up`);
      return { ...machine, through: ["ip", "netns", "exec", name] };
    });
    await body([machines[0]!, machines[1]!]);
  } finally {
    for (const name of names) attempt(() => ip(`netns del ${name}`)); // the cable goes with them
  }
}

const newName = () => `iota-${crypto.randomUUID().slice(0, 8)}`;

function ip(words: string): void {
  const { success, stderr } = new Deno.Command("ip", { args: words.split(" "), stdout: "null" }).outputSync();
  if (!success) throw new Error(`ip ${words}: ${new TextDecoder().decode(stderr)}`);
}

function attempt(body: () => void): void {
  try {
    body();
  } catch {
    // it was never made
  }
}
