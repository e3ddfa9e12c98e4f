/** File names of recordings. Other files in a dropped folder are ignored. */
const RECORDING = /\.(wav|mp3|m4a|mp4|aac|flac|ogg|oga|opus|webm|aiff?|caf|amr|au|mov|mkv|wma)$/i;

/** Returns the dropped files, and the recordings within dropped folders. */
export async function droppedFiles(transfer: DataTransfer): Promise<readonly File[]> {
  // The browser empties the list after the event, so take every entry before the first wait.
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
    // Browsers return a folder in pieces; an empty piece marks the end.
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
