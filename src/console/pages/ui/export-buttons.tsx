import { type Download, saveFile } from "../downloads.js";
import { t } from "../text/language.js";
import { CopyButton } from "./copy.js";
import { Button, Icon } from "./parts.js";

interface ExportButtonsProps {
  readonly text: () => string;
  /** The file name without its extension. */
  readonly name: string;
  readonly downloads: readonly Download[];
}

/** Buttons that copy a result or save it as a file. */
export function ExportButtons({ text, name, downloads }: ExportButtonsProps) {
  return (
    <div class="export-buttons">
      <CopyButton text={text} />
      {downloads.map(({ ending, content }) => (
        <Button
          key={ending}
          look="quiet"
          text={ending}
          label={`${t("saveAs")} ${ending}`}
          icon={<Icon path="M8 2.5v8M4.8 7.5 8 10.7l3.2-3.2M3 13.5h10" />}
          onClick={() => saveFile(`${name}.${ending}`, content())}
        />
      ))}
    </div>
  );
}
