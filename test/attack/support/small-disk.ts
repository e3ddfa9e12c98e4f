import { spawnSync } from "node:child_process";
import { rmSync } from "node:fs";
import { mkdtemp, rm, statfs, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** Returns why file systems cannot be mounted here; null if they can. */
export function whyNoMounts(): string | null {
  if (process.platform !== "linux" || process.getuid?.() !== 0)
    return "only root of Linux can mount a small disk";
  return spawnSync("unshare", ["-m", "true"]).status === 0 ? null : "mounts are not allowed here";
}

/** A separate in-memory file system that can be filled and made read-only. */
export class SmallDisk {
  readonly path: string;

  private constructor(path: string) {
    this.path = path;
  }

  static async mount(megabytes: number): Promise<SmallDisk> {
    const path = await mkdtemp(join(tmpdir(), "dauys-disk-"));
    mountOrThrow(["-t", "tmpfs", "-o", `size=${megabytes}m,mode=0711`, "tmpfs", path]);
    process.on("exit", () => {
      // A failed test may have left it as a separate read-only mount.
      while (spawnSync("umount", ["-l", path]).status === 0);
      rmSync(path, { recursive: true, force: true });
    });
    return new SmallDisk(path);
  }

  async freeBytes(): Promise<number> {
    const { bavail, bsize } = await statfs(this.path);
    return bavail * bsize;
  }

  /** Fills the disk up to `leftBytes`. */
  async fill(leftBytes: number): Promise<void> {
    const bytes = Math.max(0, (await this.freeBytes()) - leftBytes);
    await writeFile(join(this.path, "filling"), Buffer.alloc(bytes)).catch((error: NodeJS.ErrnoException) => {
      // Other processes have used the rest in the meantime.
      if (error.code !== "ENOSPC") throw error;
    });
  }

  /** Deletes the file that fills the disk. */
  async empty(): Promise<void> {
    await rm(join(this.path, "filling"), { force: true });
  }

  /** From now on, files opened here cannot be written. */
  makeReadOnly(): void {
    mountOrThrow(["--bind", this.path, this.path]);
    mountOrThrow(["-o", "remount,bind,ro", this.path]);
  }

  makeWritable(): void {
    const { status, stderr } = spawnSync("umount", ["-l", this.path], { encoding: "utf8" });
    if (status !== 0) throw new Error(`umount: ${stderr}`);
  }
}

function mountOrThrow(args: readonly string[]): void {
  const { status, stderr } = spawnSync("mount", [...args], { encoding: "utf8" });
  if (status !== 0) throw new Error(`mount ${args.join(" ")}: ${stderr}`);
}
