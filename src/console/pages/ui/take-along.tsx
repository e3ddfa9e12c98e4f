import type { Download } from "../downloads.js";
import { save } from "../save.js";
import { useWords } from "../text/language.js";
import { CopyButton } from "./copy-button.js";
import { Button } from "./parts.js";

interface TakeAlongProps {
  readonly text: () => string;
  /** Of the files, without an ending. */
  readonly name: string;
  readonly downloads: readonly Download[];
}

/** Copies a result, or saves it in one of its forms. */
export function TakeAlong({ text, name, downloads }: TakeAlongProps) {
  const { t } = useWords();
  return (
    <div class="take-along">
      <CopyButton text={text} />
      {downloads.map(({ ending, type, content }) => (
        <Button
          key={ending}
          look="quiet"
          label={`${t("saveAs")} ${ending}`}
          onClick={() => save(`${name}.${ending}`, type, content())}
        >
          <svg class="icon" viewBox="0 0 16 16" aria-hidden="true">
            <path d="M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10" />
          </svg>
          {ending}
        </Button>
      ))}
    </div>
  );
}
