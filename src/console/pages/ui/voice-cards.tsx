import { useEffect, useId, useState } from "preact/hooks";
import type { Voices } from "../../../client/browser.js";
import { t } from "../text/language.js";
import { voiceTexts } from "../text/voices.js";
import { SoundButton } from "./sound-button.js";

type Voice = Voices["voices"][number];

interface VoiceCardsProps {
  readonly model: string;
  readonly voices: readonly Voice[];
  readonly chosen: string | undefined;
  readonly onChoose: (name: string) => void;
}

/** A choice of voices, each with its description and a free sample. */
export function VoiceCards({ model, voices, chosen, onChoose }: VoiceCardsProps) {
  const id = useId();
  const samples = useSamples(model);
  return (
    <div class="field">
      <p id={`${id}-voice`} class="label">
        {t("voice")}
      </p>
      <div class="voices" role="radiogroup" aria-labelledby={`${id}-voice`}>
        {voices.map((voice) => {
          const { name } = voice;
          const { display, gender, style, uses } = voiceTexts(voice, t);
          return (
            <div key={name} class="voice">
              {samples.has(name) && <SoundButton name={display} load={() => sampleOf(model, name)} />}
              <label for={`${id}-${name}`}>
                <strong>
                  {display} {gender !== null && <span class="tag">{gender}</span>}
                </strong>
                {style !== null && <span>{style}</span>}
                {uses !== null && <span class="hint">{t("goodFor", { uses })}</span>}
              </label>
              <input
                id={`${id}-${name}`}
                type="radio"
                name="voice"
                value={name}
                checked={name === chosen}
                onChange={() => onChoose(name)}
              />
            </div>
          );
        })}
      </div>
    </div>
  );
}

/** Voices that come with a sample. */
function useSamples(model: string): ReadonlySet<string> {
  const [names, setNames] = useState<ReadonlySet<string>>(new Set());
  useEffect(() => {
    let isWanted = true;
    sampleNames(model)
      .then((voices) => isWanted && setNames(new Set(voices)))
      // Voices can be chosen even without samples.
      .catch(() => {});
    return () => {
      isWanted = false;
    };
  }, [model]);
  return names;
}

async function sampleNames(model: string): Promise<readonly string[]> {
  const answer = await fetch(`/console/samples?${new URLSearchParams({ model })}`);
  const { voices } = (await answer.json()) as { readonly voices: readonly string[] };
  return voices;
}

async function sampleOf(model: string, name: string): Promise<Blob> {
  const query = new URLSearchParams({ model });
  const answer = await fetch(`/console/samples/${encodeURIComponent(name)}?${query}`);
  if (!answer.ok) throw new Error(`no sample of voice ${name}`);
  return answer.blob();
}
