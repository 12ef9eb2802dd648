#!/bin/sh
# Installs, upgrades or removes iota: one file in ~/.local/bin. See sh install.sh --help.
#
# Needs no root and edits none of your shell's files. Nothing runs before the last line has arrived, so a truncated
# download does nothing. Nothing is replaced before the new file's SHA-256 is verified and it runs here.
set -u

exit_usage=2 exit_download=3 exit_sum=4

usage() {
  cat <<'TEXT'
Installs iota, or upgrades it: one file, no root.

  curl -fsSL URL/install.sh | IOTA_BASE_URL=URL sh
  curl -fsSL URL/install.sh | IOTA_BASE_URL=URL sh -s -- [options]
  IOTA_BASE_URL=URL sh install.sh [options]

  --version X    this version instead of the newest
  --dir DIR      where the program goes (IOTA_DIR; default ~/.local/bin)
  --uninstall    removes the program, its services and its cache; keeps runs and wallets, and says where they are
  --help         this text

IOTA_BASE_URL is where the files of a release are, and must be given: an address or a folder, e.g. /mnt/usb or
file:///mnt/usb. With --version X its subfolder vX is used. Proxies are taken from https_proxy, http_proxy and no_proxy, by curl or wget.

Exit codes: 0 done; 1 could not install; 2 wrong option; 3 could not download; 4 the file is not what was released.
TEXT
}

say() { printf '%s\n' "$*"; }

# Arguments: the error, the next step, the exit code.
stop() {
  printf 'error %s\nnext  %s\n' "$1" "$2" >&2
  exit "${3:-1}"
}

has() { command -v "$1" >/dev/null 2>&1; }

# Sets $asset, the name of the file for this machine.
choose_asset() {
  case $(uname -s) in
    Linux) system=linux ;;
    Darwin) system=macos ;;
    *) stop "Cannot install on $(uname -s) as iota is made for Linux and macOS" \
      "On Windows take iota-windows-x64.exe from the releases, or use WSL" ;;
  esac
  machine=$(uname -m)
  # A shell under Rosetta sees an Apple processor as an Intel one.
  [ "$system" = linux ] || [ "$(sysctl -n hw.optional.arm64 2>/dev/null)" != 1 ] || machine=arm64
  case $machine in
    x86_64 | amd64) asset=iota-$system-x64 ;;
    aarch64 | arm64) asset=iota-$system-arm64 ;;
    *) stop "Cannot install as the processor must be x64 or arm64: it is $machine" "Run it from its source: see README.md" ;;
  esac
}

# Sets $base, the address or folder of the release's files.
choose_base() {
  [ -n "${IOTA_BASE_URL:-}" ] || stop "Cannot install as IOTA_BASE_URL is empty: this script does not know where the release is" \
    "Give the address or folder that it came from: curl -fsSL URL/install.sh | IOTA_BASE_URL=URL sh" $exit_usage
  base=${IOTA_BASE_URL%/}${version:+/v$version}
}

# Copies file $1 of the release to file $2. On failure $problem has the reason. $3 is set for a large file, whose download
# shows how far it is where a person watches.
take() {
  case $base in
    file://*) problem=$(cp "$(printf %s "${base#file://}" | sed 's/%20/ /g')/$1" "$2" 2>&1 </dev/null) ;;
    *://*)
      if has curl && [ -n "${3:-}" ] && [ -t 2 ]; then
        problem="curl said why above"
        curl -fL --progress-bar --connect-timeout 20 --speed-limit 1 --speed-time 60 -o "$2" "$base/$1" </dev/null
      elif has curl; then
        problem=$(curl -fsSL --connect-timeout 20 --speed-limit 1 --speed-time 60 -o "$2" "$base/$1" 2>&1 </dev/null)
      elif has wget; then
        problem=$(wget -q -T 60 -O "$2" "$base/$1" 2>&1 </dev/null)
      else
        stop "Cannot download as neither curl nor wget is here" "Install one of them, or set IOTA_BASE_URL to a folder"
      fi
      ;;
    *) problem=$(cp "$base/$1" "$2" 2>&1 </dev/null) ;;
  esac
}

download() {
  take "$1" "$2" "${3:-}" || stop "Cannot get $1 from $base: ${problem:-the server or the disk said no}" \
    "Check the address, the network and its proxy, and the space in $dir; then run this again" $exit_download
}

sha256() {
  if has sha256sum; then
    sha256sum "$1"
  elif has shasum; then
    shasum -a 256 "$1"
  elif has openssl; then
    openssl dgst -sha256 -r "$1"
  fi | cut -d ' ' -f 1
}

check_sum() {
  wanted=$(awk -v name="$asset" '$2 == name || $2 == "*" name { print $1 }' "$sums")
  [ -n "$wanted" ] || stop "Cannot install as the release's SHA256SUMS does not name $asset" \
    "This release may not have your system: see the files at $base" $exit_sum
  actual=$(sha256 "$fresh")
  [ -n "$actual" ] || stop "Cannot check the download as sha256sum, shasum and openssl are all missing" "Install one of them"
  [ "$actual" = "$wanted" ] || stop "Cannot install $asset as its SHA-256 must be $wanted: it is $actual" \
    "The download was damaged or tampered with. Run this again; if it stays so, tell the project" $exit_sum
}

# The version that the program $1 prints, or nothing.
version_of() {
  "$1" --version 2>/dev/null </dev/null | sed -n 's/^iota \([0-9][^ ]*\)$/\1/p'
}

# Whether $program may be replaced or removed: it is iota, even a broken one, or a link as made by `make install`.
is_ours() {
  [ -h "$program" ] || [ -n "$(version_of "$program")" ] || sed -n 2p "$program" 2>/dev/null | grep -q '^# iota '
}

refuse_strangers() {
  [ ! -d "$program" ] || stop "Cannot put iota at $program as a folder is there" "Choose another place: --dir DIR"
  { [ ! -e "$program" ] && [ ! -h "$program" ]; } || is_ours || stop "Cannot touch $program as it is another program" \
    "Choose another place: --dir DIR, or move it away"
}

say_path() {
  found=$(command -v iota) || found=$program
  [ "$found" = "$program" ] || say "Note: iota in your PATH is $found, which comes first."
  case ":$PATH:" in *":$dir:"*) return ;; esac
  case ${SHELL:-} in
    */fish) line="fish_add_path '$dir'" where='once' ;;
    */zsh) line="export PATH=\"$dir:\$PATH\"" where='in ~/.zshrc to keep it' ;;
    *) line="export PATH=\"$dir:\$PATH\"" where='in ~/.profile or ~/.bashrc to keep it' ;;
  esac
  say "$dir is not in your PATH. Add it, $where:"
  say "  $line"
}

clean_up() {
  rm -f "$fresh" "$sums"
}

install() {
  choose_asset
  choose_base
  wanted_dir=$dir
  mkdir -p "$dir" 2>/dev/null
  dir=$(cd "$dir" 2>/dev/null && pwd) ||
    stop "Cannot make the folder $wanted_dir" "Choose one that you may write to: --dir DIR"
  program=$dir/iota
  refuse_strangers
  old=''
  [ ! -e "$program" ] || old=$(version_of "$program")
  # Beside the program, so that replacing it is one rename. Leftovers are from a killed install.
  for left in "$dir"/.iota.new.* "$dir"/.iota.sums.*; do
    kill -0 "${left##*.}" 2>/dev/null || rm -f "$left"
  done
  fresh=$dir/.iota.new.$$ sums=$dir/.iota.sums.$$
  trap clean_up EXIT
  trap 'exit 130' INT
  trap 'exit 143' HUP TERM
  (true >"$fresh") 2>/dev/null || stop "Cannot write to $dir" "Choose a folder that you may write to: --dir DIR"
  say "Getting $asset from $base"
  download SHA256SUMS "$sums"
  download "$asset" "$fresh" large
  check_sum
  chmod 755 "$fresh"
  new=$(version_of "$fresh")
  [ -n "$new" ] || stop "Cannot install as the new iota does not run here: $("$fresh" --version 2>&1 </dev/null | head -n 3)" \
    "What you had is untouched. On Linux it needs glibc 2.27 or newer (on Alpine: apk add gcompat libstdc++)"
  mv -f "$fresh" "$program" || stop "Cannot put the new iota at $program" "Choose another folder: --dir DIR"
  if [ -z "$old" ]; then
    say "Installed iota $new at $program"
  elif [ "$old" = "$new" ]; then
    say "Installed iota $new again at $program"
  else
    say "Upgraded iota $old -> $new at $program"
    say "Running processes keep using $old until they are restarted."
  fi
  say_path
  say "Try: iota swarm --size toy, or iota --help"
}

uninstall() {
  program=$dir/iota
  if [ ! -e "$program" ] && [ ! -h "$program" ]; then
    say "There is no iota in $dir."
  else
    refuse_strangers
    remove_services
    rm -f "$program" || stop "Cannot remove $program" "Remove it yourself"
    say "Removed $program"
  fi
  if [ "$(uname -s)" = Darwin ]; then
    cache=$HOME/Library/Caches data="$HOME/Library/Application Support/iota"
  else
    cache=$HOME/.cache data=${XDG_DATA_HOME:-$HOME/.local/share}/iota
  fi
  case ${XDG_CACHE_HOME:-} in /*) cache=$XDG_CACHE_HOME ;; esac
  remove_cache "$cache/iota/runtime"
  for kept in "$data" "$HOME/.bittensor/wallets"; do
    [ ! -d "$kept" ] || say "Kept $kept"
  done
}

# Removes the services of this program that `iota service install` made, using the program itself.
remove_services() {
  for file in "${XDG_CONFIG_HOME:-$HOME/.config}"/systemd/user/iota-*.service "$HOME"/Library/LaunchAgents/iota.*.plist; do
    grep -qF "$program" "$file" 2>/dev/null || continue
    name=${file##*/}
    case $name in
      *.service) name=${name%.service} by_hand="systemctl --user disable --now $name" ;;
      *.plist) name=${name%.plist} name=iota-${name#iota.} by_hand="launchctl unload '$file'" ;;
    esac
    "$program" service remove --name "$name" >/dev/null 2>&1 </dev/null
    [ ! -e "$file" ] ||
      stop "Cannot remove $program as the service $name starts it" "Remove that first: $by_hand; rm '$file'"
    say "Removed the service $name"
  done
}

# Removes the unpacked versions, except those that a process runs from.
remove_cache() {
  [ -d "$1" ] || return 0
  running=$(if [ -r /proc/self/cmdline ]; then cat /proc/[0-9]*/cmdline | tr '\0' '\n'; else ps -A -o args=; fi 2>/dev/null)
  for unpacked in "$1"/*; do
    case $running in
      *"/${unpacked##*/}/"*) say "Kept $unpacked as an iota process runs from it. Remove it when that has ended." ;;
      *) rm -rf "$unpacked" ;;
    esac
  done
  rmdir "$1" "${1%/*}" 2>/dev/null && say "Removed $1"
  return 0
}

main() {
  version='' dir=${IOTA_DIR:-} action=install
  while [ $# -gt 0 ]; do
    case $1 in
      --version | --dir)
        [ -n "${2:-}" ] || stop "Cannot use $1 as it needs a value" "See sh install.sh --help" $exit_usage
        case $1 in --version) version=${2#v} ;; *) dir=$2 ;; esac
        shift
        ;;
      --version=*) version=${1#--version=} && version=${version#v} ;;
      --dir=*) dir=${1#--dir=} ;;
      --uninstall) action=uninstall ;;
      --help | -h) usage && return ;;
      *) stop "Cannot use $1 as there is no such option" "See sh install.sh --help" $exit_usage ;;
    esac
    shift
  done
  case $version in *[!0-9A-Za-z.+-]*) stop "Cannot use the version '$version'" "Give it as 1.2.3" $exit_usage ;; esac
  [ -n "${HOME:-}" ] || stop "Cannot find your home folder as HOME is empty" "Set it: HOME=/path sh install.sh"
  dir=${dir:-$HOME/.local/bin}
  $action
}

# A block runs only once its end has been read.
{
  main "$@"
  exit
}
