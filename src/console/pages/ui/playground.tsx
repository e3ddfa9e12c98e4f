import { useEffect, useState } from "preact/hooks";
import { useTranslation } from "../text/language.js";
import type { ViewProps } from "../view-props.js";
import { Button, Skeleton } from "./parts.js";

type Views = typeof import("../views/playground.js");

let loaded: Views | null = null;

export const Speak = (props: ViewProps) => <Playground name="Speak" {...props} />;
export const Transcribe = (props: ViewProps) => <Playground name="Transcribe" {...props} />;
export const Listen = (props: ViewProps) => <Playground name="Listen" {...props} />;

/** A page of the playground, whose code is fetched by the first of them. */
function Playground({ name, ...props }: ViewProps & { readonly name: keyof Views }) {
  const { t } = useTranslation();
  const [views, setViews] = useState(loaded);
  const [isLost, setLost] = useState(false);
  useEffect(() => {
    if (loaded !== null) return;
    import("../views/playground.js").then(
      (found) => {
        loaded = found;
        setViews(found);
        requestAnimationFrame(greet);
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
      {/* A service that was replaced meanwhile has other files, which only the page as a whole can name. */}
      <Button onClick={() => location.reload()} text={t("retry")} />
    </div>
  );
}

/** As after every walk to another page: a reader of the screen who came by a link is told what is there now. */
function greet(): void {
  if (document.activeElement === document.body) return;
  document.querySelector<HTMLElement>("main h1")?.focus();
}
