#!/bin/sh
# Tests of install.sh: small programs replace iota, and a loopback server provides the releases. Needs what make setup
# fetches, but no network.
#
#   tests/e2e/install_test.sh [SHELL...]     the shell that runs install.sh, e.g. dash, or busybox sh; default sh
#
# Prints "ok NAME", "skip NAME: reason" or "not ok NAME: reason" for each case, and fails if any did.
set -u

cd "$(dirname "$0")/../.." || exit
root=$(pwd -P)
PATH="$root/.deno/node_modules/.bin:$PATH"
command -v deno >/dev/null || { echo "install_test: Deno is missing. Type make setup first" >&2; exit 1; }
[ $# -gt 0 ] || set -- sh
shell=$*
scratch=$(mktemp -d)
server=''
trap 'exit 1' HUP INT TERM
trap '[ -z "$server" ] || kill "$server"; chmod -R u+w "$scratch"; rm -rf "$scratch"' EXIT

failures=0
name='' problems=''

begin() {
  name=$1 problems=''
  home="$scratch/home of $(printf %s "$name" | tr -c "A-Za-z0-9\n" _)"
  program=$home/.local/bin/iota
  mkdir "$home"
}
expect() { # what, then a command that must succeed
  what=$1
  shift
  "$@" || problems="$problems; $what"
}
end() {
  if [ -z "$problems" ]; then
    echo "ok $name"
  else
    failures=$((failures + 1))
    echo "not ok $name: ${problems#; }; it said: $(tr '\n' '|' <"$scratch/said")"
  fi
}
skip() { echo "skip $1: $2"; }
# A busybox that was built so runs its own programs whatever PATH says, and can be shown no other.
begin_staged() {
  if [ "$stages" = no ]; then skip "$1" "$shell runs its own programs instead of staged ones" && return 1; fi
  ${2:-begin} "$1"
}

# Programs that install.sh may use and nothing else: sets $tools to a folder of links.
make_tools() {
  tools=$scratch/tools_$1
  shift
  mkdir "$tools"
  for tool in env sh bash dash busybox cat sed grep awk cut head tr cp mv rm rmdir mkdir chmod ps sha256sum shasum openssl perl "$@"; do
    ! found=$(command -v "$tool") || ln -s "$found" "$tools/$tool"
  done
  printf '#!/bin/sh\ncase $1 in -s) echo "${TEST_SYSTEM:-Linux}" ;; *) echo "${TEST_MACHINE:-x86_64}" ;; esac\n' >"$tools/uname"
  chmod 755 "$tools/uname"
}

# A stand-in for iota, some kilobytes long.
write_program() { # path, version
  printf '#!/bin/sh\n# iota %s\necho "iota %s"\nexit 0\n' "$2" "$2" >"$1"
  awk 'BEGIN { for (i = 0; i < 100; i++) print "# what a program weighs, what a program weighs" }' >>"$1"
  chmod 755 "$1"
}
sum_release() {
  (cd "$1" && for file in iota-*; do
    echo "$(deno eval --no-config 'import { createHash } from "node:crypto";
      console.log(createHash("sha256").update(Deno.readFileSync(Deno.args[0])).digest("hex"))' "$file")  $file"
  done >SHA256SUMS)
}
make_release() { # folder, version
  mkdir -p "$1"
  write_program "$1/iota-linux-x64" "$2"
  cp "$1/iota-linux-x64" "$1/iota-macos-arm64"
  sum_release "$1"
}

# Runs install.sh as a person would, with $base, $tools and $home; its output is in $scratch/said.
run_installer() {
  code=0
  (cd "$home" && env -i PATH="${search_path:-$tools}" HOME="$home" SHELL=/bin/sh IOTA_BASE_URL="$base" "$@" >"$scratch/said" 2>&1) ||
    code=$?
}
install() {
  # shellcheck disable=SC2086 # the shell may be two words
  run_installer $shell "$root/install.sh" "$@"
}
exits() { [ "$code" -eq "$1" ]; }
said() { grep -qF -- "$1" "$scratch/said"; }
installed() { [ -x "$program" ] && [ "$("$program" --version)" = "iota $1" ]; }
nothing_left() { [ -z "$(find "$home" -name '.iota.*')" ]; }
nothing_installed() { [ ! -e "$program" ] && nothing_left; }

start_server() {
  mkfifo "$scratch/port"
  cat >"$scratch/server.js" <<'JS'
// Serves a folder, whatever the host's name is, so that it also serves as a proxy. Below /cut/ the connection breaks.
const [folder] = Deno.args;
async function handle(request) {
  const path = decodeURIComponent(new URL(request.url).pathname);
  const isCut = path.startsWith("/cut/");
  const bytes = await Deno.readFile(folder + (isCut ? path.slice(4) : path)).catch(() => null);
  if (bytes === null) return new Response("no such file\n", { status: 404 });
  if (!isCut || path.endsWith("SUMS")) return new Response(bytes);
  let sent = false;
  const body = new ReadableStream({
    pull(controller) {
      if (sent) controller.error(new Error("cut"));
      else controller.enqueue(bytes.subarray(0, bytes.length / 2));
      sent = true;
    },
  });
  return new Response(body, { headers: { "content-length": String(bytes.length) } });
}
Deno.serve({ hostname: "127.0.0.1", port: 0, onListen: ({ port }) => console.log(port), onError: () => new Response(null) }, handle);
JS
  deno run --quiet --no-config --allow-net --allow-read "$scratch/server.js" "$scratch" >"$scratch/port" 2>/dev/null &
  server=$!
  read -r port <"$scratch/port"
}

make_tools curl curl
curl_tools=$tools
make_tools wget wget
wget_tools=$tools
make_tools neither
bare_tools=$tools
make_release "$scratch/first" 1.0.0
make_release "$scratch/second" 1.1.0
make_release "$scratch/first/v0.9.0" 0.9.0
start_server
site=http://127.0.0.1:$port
tools=$curl_tools
# shellcheck disable=SC2086
stages=$(TEST_SYSTEM=yes PATH="$tools" $shell -c 'uname -s')
[ "$stages" = yes ] || stages=no

if [ -e "$curl_tools/curl" ]; then
  begin "a first install from a server"
  base=$site/first
  install
  expect "exit code 0, not $code" exits 0
  expect "the program" installed 1.0.0
  expect "its version" said "Installed iota 1.0.0 at $program"
  expect "the line for PATH" said "export PATH=\"$home/.local/bin:\$PATH\""
  expect "nothing else left" nothing_left
  expect "no file of the shell" [ "$(ls -A "$home")" = .local ]
  end
else
  skip "a first install from a server" "curl is not here"
fi

if [ ! -e "$wget_tools/wget" ]; then
  skip "wget serves where curl is missing" "wget is not here"
elif begin_staged "wget serves where curl is missing"; then
  tools=$wget_tools base=$site/first
  install
  expect "exit code 0, not $code" exits 0
  expect "the program" installed 1.0.0
  end
fi

if begin_staged "neither curl nor wget"; then
  tools=$bare_tools base=$site/first
  install
  expect "exit code 1, not $code" exits 1
  expect "a next step" said "next  Install one of them, or set IOTA_BASE_URL to a folder"
  end
fi

begin "without an address nothing is asked anywhere, with or without a version"
tools=$bare_tools base=
for version in "" 1.0.0; do
  # shellcheck disable=SC2086
  install ${version:+--version $version}
  expect "exit code 2, not $code" exits 2
  expect "what to give" said "next  Give the address or folder that it came from: curl -fsSL URL/install.sh | IOTA_BASE_URL=URL sh"
  expect "nothing installed" nothing_installed
done
end

begin "a folder is a mirror, and so is its file address, with spaces"
tools=$bare_tools
cp -R "$scratch/first" "$scratch/my mirror"
base="$scratch/my mirror"
install
expect "from a folder" installed 1.0.0
rm -f "$program"
base="file://$(printf %s "$scratch/my mirror" | sed 's/ /%20/g')"
install
expect "exit code 0, not $code" exits 0
expect "from a file address" installed 1.0.0
end

begin "a proxy of the environment is used"
tools=$curl_tools base=http://releases.invalid/first
[ -e "$curl_tools/curl" ] || tools=$wget_tools
# shellcheck disable=SC2086
run_installer env http_proxy="$site" $shell "$root/install.sh"
expect "exit code 0, not $code" exits 0
expect "the program" installed 1.0.0
end

tools=$bare_tools
begin "a second install is an upgrade, also while the old program runs"
base=$scratch/first
install
exec 9<"$program" # holds the old file open, as a running program does
base=$scratch/second
install
expect "the running program has its old file" [ "$(sed -n 2p <&9)" = "# iota 1.0.0" ]
exec 9<&-
expect "exit code 0, not $code" exits 0
expect "the new program" installed 1.1.0
expect "both versions" said "Upgraded iota 1.0.0 -> 1.1.0"
install
expect "the same again" said "Installed iota 1.1.0 again"
end

begin "a version of one's choice"
base=$scratch/first
install --version v0.9.0
expect "exit code 0, not $code" exits 0
expect "the program" installed 0.9.0
install --version 0.8.0
expect "exit code 3 for one that is not there, not $code" exits 3
expect "the old one kept" installed 0.9.0
install --version '../..'
expect "exit code 2 for nonsense, not $code" exits 2
end

begin "another folder, with a space, by option and by variable"
install --dir "$home/my programs"
expect "by option" [ -x "$home/my programs/iota" ]
# shellcheck disable=SC2086
run_installer env IOTA_DIR="$home/mine" $shell "$root/install.sh"
expect "by variable" [ -x "$home/mine/iota" ]
search_path="$home/mine:$tools"
install --dir mine
expect "silence about a PATH that has it" [ "$(grep -c PATH "$scratch/said")" -eq 0 ]
install
expect "a note about another iota that comes first" said "Note: iota in your PATH is"
search_path=""
end

if begin_staged "the file for this system and processor"; then
  # shellcheck disable=SC2086
  run_installer env TEST_SYSTEM=Darwin TEST_MACHINE=arm64 $shell "$root/install.sh"
  expect "macOS on arm64" said "Getting iota-macos-arm64"
  # shellcheck disable=SC2086
  run_installer env TEST_MACHINE=riscv64 $shell "$root/install.sh"
  expect "exit code 1, not $code" exits 1
  expect "a sentence" said "the processor must be x64 or arm64: it is riscv64"
  # shellcheck disable=SC2086
  run_installer env TEST_SYSTEM=MINGW64 $shell "$root/install.sh"
  expect "Windows' own file" said "iota-windows-x64.exe"
  end
fi

# What goes wrong, each time with a good old version in place, which must stay.
fails_with() { # exit code, words
  expect "exit code $1, not $code" exits "$1"
  expect "the words '$2'" said "$2"
  expect "a next step" said "next  "
  expect "the old version kept" installed 1.0.0
  expect "nothing left behind" nothing_left
}
begin_broken() {
  begin "$1"
  base=$scratch/first
  install
  base=$scratch/broken
  rm -rf "$base"
  cp -R "$scratch/second" "$base"
}

begin_broken "a file that was tampered with"
echo "echo evil" >>"$base/iota-linux-x64"
install
fails_with 4 "its SHA-256 must be"
end

begin_broken "a file that was cut"
head -c 1000 "$scratch/second/iota-linux-x64" >"$base/iota-linux-x64"
install
fails_with 4 "its SHA-256 must be"
end

if [ -e "$curl_tools/curl" ]; then
  begin_broken "a connection that breaks"
  tools=$curl_tools base=$site/cut/second
  install
  fails_with 3 "Cannot get iota-linux-x64"
  tools=$bare_tools
  end
fi

begin_broken "a sum that is wrong"
sed 's/^[0-9a-f]\{4\}/0000/' "$scratch/second/SHA256SUMS" >"$base/SHA256SUMS"
install
fails_with 4 "its SHA-256 must be 0000"
end

begin_broken "a sum that is missing"
echo "" >"$base/SHA256SUMS"
install
fails_with 4 "does not name iota-linux-x64"
end

begin_broken "a file that is missing"
rm "$base/iota-linux-x64"
install
fails_with 3 "Cannot get iota-linux-x64"
end

begin_broken "a server that is not there"
tools=$curl_tools base=http://127.0.0.1:1/first
[ -e "$curl_tools/curl" ] || tools=$wget_tools
install
fails_with 3 "Cannot get SHA256SUMS"
tools=$bare_tools
end

begin_broken "a program that does not run here"
printf '#!/bin/sh\n# iota\necho "no such library"\nexit 1\n' >"$base/iota-linux-x64"
sum_release "$base"
install
fails_with 1 "does not run here: no such library"
end

if begin_staged "no program that makes sums" begin_broken; then
  make_tools sumless
  rm -f "$tools/sha256sum" "$tools/shasum" "$tools/openssl"
  install
  tools=$bare_tools
  fails_with 1 "Cannot check the download"
  end
fi

begin_broken "a disk that is full"
# shellcheck disable=SC2086
run_installer sh -c 'ulimit -f 2; exec "$@"' sh $shell "$root/install.sh"
fails_with 3 "Cannot get iota-linux-x64"
end

begin "a home that cannot be written"
base=$scratch/first
if [ "$(id -u)" -ne 0 ]; then
  chmod 555 "$home"
else
  echo >"$home/.local" # root writes everywhere, but not into a file as if it were a folder
fi
install
expect "exit code 1, not $code" exits 1
expect "the words" said "Cannot make the folder $home/.local/bin"
expect "a next step" said "next  Choose one that you may write to: --dir DIR"
end

begin "another program of that name is left alone"
mkdir -p "$home/.local/bin"
printf '#!/bin/sh\necho "something else"\n' >"$program"
chmod 755 "$program"
install
expect "exit code 1, not $code" exits 1
expect "the words" said "as it is another program"
install --uninstall
expect "exit code 1 when it is to be removed, not $code" exits 1
expect "it stays" grep -q "something else" "$program"
rm "$program" && ln -s "$scratch/nowhere" "$program"
install
expect "a link to nowhere is replaced" installed 1.0.0
end

for signal in TERM INT KILL; do
  begin_staged "an install that is stopped in the middle by $signal" begin_broken || continue
  make_tools "cut_$signal" # its cp copies half of the program, then stops the installer
  rm "$tools/cp"
  printf '#!/bin/sh\ncase $1 in *SUMS) exec %s "$@" ;; esac\nhead -c 1000 "$1" >"$2"\nkill -%s "$INSTALLER"\n' \
    "$(command -v cp)" "$signal" >"$tools/cp"
  chmod 755 "$tools/cp"
  # shellcheck disable=SC2086
  run_installer sh -c 'export INSTALLER=$$; exec "$@"' sh $shell "$root/install.sh"
  expect "another exit code than 0" [ "$code" -ne 0 ]
  expect "the old version kept" installed 1.0.0
  [ "$signal" = KILL ] || expect "nothing left behind" nothing_left
  tools=$bare_tools base=$scratch/second
  install
  expect "the next one installs" installed 1.1.0
  expect "and cleans up" nothing_left
  end
done

begin "a download of install.sh that was cut does nothing"
total=$(wc -c <"$root/install.sh")
cut=$((total - 2)) # without the last line
while [ "$cut" -gt 0 ]; do
  head -c "$cut" "$root/install.sh" >"$scratch/cut.sh"
  # shellcheck disable=SC2086
  run_installer $shell <"$scratch/cut.sh"
  [ -z "$(ls -A "$home")" ] || expect "nothing at $cut of $total bytes" false
  [ "$cut" -gt $((total - 40)) ] && cut=$((cut - 1)) || cut=$((cut - 397))
done
# shellcheck disable=SC2086
run_installer $shell -s -- --dir "$home/all" <"$root/install.sh"
expect "the whole of it, piped, installs" [ -x "$home/all/iota" ]
end

begin "uninstall keeps runs and wallets"
install
mkdir -p "$home/.local/share/iota/runs" "$home/.bittensor/wallets/miner" "$home/.cache/iota/runtime/0123456789abcdef"
install --uninstall
expect "exit code 0, not $code" exits 0
expect "the program is gone" nothing_installed
expect "the cache is gone" [ ! -e "$home/.cache/iota" ]
expect "the data is there" [ -d "$home/.local/share/iota/runs" ]
expect "the wallets are there" [ -d "$home/.bittensor/wallets/miner" ]
expect "where the data is" said "Kept $home/.local/share/iota"
expect "where the wallets are" said "Kept $home/.bittensor/wallets"
install --uninstall
expect "a second time is no error" exits 0
end

begin "uninstall takes the services along that start the program"
install
units=$home/.config/systemd/user agents=$home/Library/LaunchAgents
mkdir -p "$units" "$agents"
for file in "$units/iota-miner.service" "$agents/iota.second.plist"; do echo "ExecStart=$program miner" >"$file"; done
echo "ExecStart=/opt/another/iota miner" >"$units/iota-another.service"
install --uninstall
expect "exit code 1 while a service stays, not $code" exits 1
expect "which one" said "as the service iota-miner starts it"
expect "a next step" said "next  Remove that first: systemctl --user disable --now iota-miner; rm '$units/iota-miner.service'"
expect "the program stays" [ -x "$program" ]
# shellcheck disable=SC2016 # the stand-in expands it
printf '#!/bin/sh\n# iota 1.0.0\ncase $4 in\n  iota-miner) rm "%s" ;;\n  iota-second) rm "%s" ;;\nesac\necho "iota 1.0.0"\n' \
  "$units/iota-miner.service" "$agents/iota.second.plist" >"$program"
install --uninstall
expect "exit code 0, not $code" exits 0
expect "the unit is gone" said "Removed the service iota-miner"
expect "the agent is gone" said "Removed the service iota-second"
expect "the other program's service stays" [ -e "$units/iota-another.service" ]
expect "the program is gone" nothing_installed
end

begin "help, and options that are wrong"
install --help
expect "exit code 0, not $code" exits 0
expect "the options" said "--uninstall"
install --dri x
expect "exit code 2, not $code" exits 2
install --dir
expect "exit code 2 for a missing value, not $code" exits 2
expect "nothing was done" [ -z "$(ls -A "$home")" ]
end

[ "$failures" -eq 0 ]
