/** Puts a text on the clipboard; false where the browser refuses. */
export async function copyText(text: string): Promise<boolean> {
  try {
    await navigator.clipboard.writeText(text);
    return true;
  } catch {
    // Pages without TLS, but those of this machine, have no clipboard of that kind.
    return copyBySelection(text);
  }
}

function copyBySelection(text: string): boolean {
  const field = document.createElement("textarea");
  field.className = "hidden";
  field.value = text;
  const focused = document.activeElement instanceof HTMLElement ? document.activeElement : null;
  // Beside what has the focus: all else is out of reach while a dialog is open.
  (focused?.parentElement ?? document.body).append(field);
  field.select();
  const isCopied = document.execCommand("copy");
  field.remove();
  focused?.focus();
  return isCopied;
}
