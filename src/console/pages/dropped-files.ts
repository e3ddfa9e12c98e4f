/** Types of files that a folder of recordings may contain besides them are left out. */
const RECORDING = /\.(wav|mp3|m4a|mp4|aac|flac|ogg|oga|opus|webm|aiff?|caf|amr|au|mov|mkv|wma)$/i;

/** Returns dropped files, and the recordings in dropped folders. */
export async function droppedFiles(transfer: DataTransfer): Promise<readonly File[]> {
  // The list is emptied when the event is over, so every entry is taken before the first wait.
  const entries = [...transfer.items].map((item) => item.webkitGetAsEntry());
  const files = await Promise.all(entries.map((entry) => (entry === null ? [] : filesOf(entry, true))));
  return files.flat();
}

/** Returns the recordings among the files of a chosen folder. */
export function recordingsOf(files: Iterable<File>): readonly File[] {
  return [...files].filter(({ name }) => RECORDING.test(name));
}

async function filesOf(entry: FileSystemEntry, isNamed: boolean): Promise<readonly File[]> {
  if (isFile(entry)) {
    if (!isNamed && !RECORDING.test(entry.name)) return [];
    return [await new Promise<File>((resolve, reject) => entry.file(resolve, reject))];
  }
  const reader = (entry as FileSystemDirectoryEntry).createReader();
  const found: File[] = [];
  for (;;) {
    // Browsers return a folder in pieces, and an empty one at its end.
    const some = await new Promise<FileSystemEntry[]>((resolve, reject) =>
      reader.readEntries(resolve, reject),
    );
    if (some.length === 0) return found;
    for (const one of some) found.push(...(await filesOf(one, false)));
  }
}

function isFile(entry: FileSystemEntry): entry is FileSystemFileEntry {
  return entry.isFile;
}
