#!/bin/sh
# in-root.sh ROOT CHECKOUT COMMAND…: runs a command in another Debian, with the checkout and the temporary folder in their
# places. To be started in a mount namespace of its own (`unshare --mount --propagation private`): what is mounted here goes
# with the process. The process id stays the one that was started.
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
