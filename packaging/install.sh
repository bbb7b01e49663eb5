#!/bin/sh
# Installs plughost from the files beside this, or upgrades it; --remove takes it away.
set -eu

usage() {
  cat <<'T'
usage: install.sh [OPTION…]
  (no option)  install, or upgrade what is installed; the configuration stays
  --remove     take plughost away, and leave the configuration
  --purge      take the configuration and the state away, too
  --root DIR   of the machine whose root directory DIR is; nothing is started there
T
}

action=install root=
while [ $# -gt 0 ]; do
  case $1 in
    --remove | --purge) action=${1#--} ;;
    --root) root=${2:?a directory}; shift ;;
    -h | --help) usage; exit ;;
    *) usage >&2; exit 2 ;;
  esac
  shift
done
cd "$(dirname "$0")"
# The files that are installed and their sums; an upgrade and --remove read it.
list=$root/usr/share/plughost/SHA256SUMS

fail() {
  echo "install.sh: $*" >&2
  exit 1
}

# Whether a systemd runs here that the files are for.
started() { [ -z "$root" ] && [ -d /run/systemd/system ]; }

# The paths in a list, without the first directory: files/usr/bin/plughost is usr/bin/plughost.
paths() { sed 's|^[0-9a-f]* [ *]files/||' "$1"; }

verify() {
  sha256sum --check --strict --quiet SHA256SUMS || fail 'the files are not those of the release; nothing was installed'
  [ "$(find files -type f | sort)" = "$(sed 's|^[0-9a-f]* [ *]||' SHA256SUMS | sort)" ] ||
    fail 'there are files that the release does not have; nothing was installed'
  [ -e "$list" ] || [ ! -e "$root/usr/bin/plughost" ] || fail "$root/usr/bin/plughost is there already, and not from here: remove its package first"
  # In another root the loader is another one's, too.
  [ -n "$root" ] || files/usr/bin/plughost --version >/dev/null || fail 'the program does not run here: it takes glibc 2.34 and libudev'
}

# Beside the old file and then in its place: a program that runs is never half of two.
put() {
  mkdir -p "$root/${1%/*}"
  cp "files/$1" "$root/$1.new"
  chmod "$2" "$root/$1.new"
  mv -f "$root/$1.new" "$root/$1"
}

install() {
  verify
  first=yes
  [ ! -e "$list" ] || first=no
  before=$([ $first = yes ] || paths "$list")
  unit=usr/lib/systemd/system/plughost.service
  same=no
  ! cmp -s "files/$unit" "$root/$unit" || same=yes
  paths SHA256SUMS | while read -r path; do
    case $path in
      usr/bin/*) put "$path" 755 ;;
      etc/*) [ -e "$root/$path" ] || put "$path" 644 ;;
      *) put "$path" 644 ;;
    esac
  done
  mkdir -p "$root/etc/plughost/plugins.d"
  # What the former version had and this one has not.
  echo "$before" | while read -r path; do
    case $path in
      '' | etc/*) ;;
      *) [ -e "files/$path" ] || rm -f "$root/$path" ;;
    esac
  done
  cp SHA256SUMS "$list"
  started || return 0
  systemd-sysusers plughost.conf
  systemctl daemon-reload
  if [ $first = yes ]; then
    systemctl enable --now plughost.service
  else
    # The old daemon hands over to the new one: from Kubernetes 1.37 on without a gap. If the new one fails, the old one
    # serves on, and the message says so. Another unit needs a restart.
    code=2
    if [ $same = yes ]; then
      code=0
      said=$(plughost upgrade 2>&1) || code=$?
    fi
    [ $code != 2 ] || systemctl try-restart plughost.service
    [ $code != 1 ] || fail "$said"
  fi
}

remove() {
  [ -e "$list" ] || fail "$list is not there: plughost was not installed by this"
  ! started || systemctl disable --now plughost.service
  # These files are of no use without the program, and only it knows them.
  "$root/usr/bin/plughost" setup --undo --root "${root:-/}" >/dev/null ||
    echo "install.sh: what 'plughost setup' has written stays: look into $root/etc/systemd/system/plughost.service.d and $root/etc/plughost" >&2
  paths "$list" | while read -r path; do
    case $path in
      etc/*) [ "$action" = remove ] || rm -f "$root/$path" ;;
      *) rm -f "$root/$path" ;;
    esac
  done
  rm -f "$list"
  # Our own directories, where nobody else has put anything.
  for directory in usr/share/plughost usr/share/doc/plughost etc/plughost; do
    [ ! -d "$root/$directory" ] || find "$root/$directory" -depth -type d -empty -delete
  done
  [ "$action" = remove ] || rm -rf "$root/var/lib/plughost"
  ! started || systemctl daemon-reload
}

[ "$(id -u)" = 0 ] || [ -n "$root" ] || fail 'only root can do that'
case $action in
  install) install ;;
  *) remove ;;
esac
