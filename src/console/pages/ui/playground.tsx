import { useEffect, useState } from "preact/hooks";
import type { ViewProps } from "../api.js";
import { t } from "../text/language.js";
import { Button, Skeleton } from "./parts.js";

type Views = typeof import("../views/playground.js");

let loaded: Views | null = null;

export const Speak = (props: ViewProps) => <Playground name="Speak" {...props} />;
export const Transcribe = (props: ViewProps) => <Playground name="Transcribe" {...props} />;
export const Jobs = (props: ViewProps) => <Playground name="Jobs" {...props} />;
export const Listen = (props: ViewProps) => <Playground name="Listen" {...props} />;
export const Vocabulary = (props: ViewProps) => <Playground name="Vocabulary" {...props} />;

/** A page that calls the public API. The first one that is opened loads the code of all of them. */
function Playground({ name, ...props }: ViewProps & { readonly name: keyof Views }) {
  const [views, setViews] = useState(loaded);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    if (loaded !== null) return;
    import("../views/playground.js").then(
      (found) => {
        loaded = found;
        setViews(found);
        requestAnimationFrame(focusHeading);
      },
      () => setLost(true),
    );
  }, []);
  if (views !== null) {
    const View = views[name];
    return <View {...props} />;
  }
  if (!isLost) return <Skeleton />;
  return (
    <div class="notice error" role="alert">
      <p>{t("e_connection")}</p>
      {/* A service that was updated meanwhile has other file names, which only a reload can find. */}
      <Button onClick={() => location.reload()} text={t("retry")} />
    </div>
  );
}

/** Moves the focus to the heading, as `navigate` does, so that screen readers announce the page. */
function focusHeading(): void {
  if (document.activeElement === document.body) return;
  document.querySelector<HTMLElement>("main h1")?.focus();
}
