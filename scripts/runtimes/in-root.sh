#!/bin/sh
# in-root.sh ROOT CHECKOUT COMMAND…: runs a command in another Debian, with the checkout and the temporary
# folder at the same paths. Start it in a separate mount namespace (`unshare --mount --propagation private`),
# so that the mounts end with the process. The process id stays the same.
set -eu
root=$1
checkout=$2
shift 2
mount -t proc proc "$root/proc"
mount --rbind /dev "$root/dev"
mount --rbind /sys "$root/sys"
mount --rbind /tmp "$root/tmp"
mkdir -p "$root$checkout"
mount --rbind "$checkout" "$root$checkout"
exec chroot "$root" /usr/bin/env --chdir="$checkout" "$@"
