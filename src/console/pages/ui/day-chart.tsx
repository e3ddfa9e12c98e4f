import { useLayoutEffect, useState } from "preact/hooks";
import type { UsageRow } from "../api.js";
import { useWords } from "../text/language.js";

const KINDS = ["synthesis", "file", "live"] as const;
const HEIGHT = 180;
/** Before the room for the chart is known. */
const FIRST_WIDTH = 720;
const GAP = 0.25;
/** About, at the size that `charts.css` gives to labels. */
const DIGIT_PX = 7.2;
/** Between labels of the axis and what they label; below the axis. */
const MARGIN_PX = 10;
const AXIS_PX = 28;

interface Day {
  readonly day: string;
  readonly credits: Readonly<Record<UsageRow["kind"], number>>;
  readonly total: number;
}

/** Credits of each of the last days, one bar a day, one colour a kind. */
export function DayChart({ rows, days }: { readonly rows: readonly UsageRow[]; readonly days: number }) {
  const { t, date, dayAndMonth, number } = useWords();
  const [pointed, setPointed] = useState<number | null>(null);
  const all = lastDays(days).map((day) => sumOf(day, rows));
  const top = ceilingOf(Math.max(...all.map(({ total }) => total)));
  // Drawn pixel by pixel, so that labels have one size in every window.
  const [box, setBox] = useState<HTMLElement | null>(null);
  const boxWidth = useWidth(box) ?? FIRST_WIDTH;
  const left = Math.ceil(number(top).length * DIGIT_PX) + MARGIN_PX;
  const width = Math.max(1, boxWidth - left);
  const step = width / all.length;
  const shown = pointed === null ? null : all[pointed];
  return (
    <figure class="chart" ref={setBox}>
      <div class="chart-note" aria-hidden="true">
        {shown ? (
          <>
            <strong>{date(shown.day)}</strong> {t("creditsUnit", { n: shown.total })}
          </>
        ) : (
          KINDS.map((kind) => (
            <span key={kind} class={`legend ${kind}`}>
              {t(kind)}
            </span>
          ))
        )}
      </div>
      <svg
        viewBox={`${-left} -12 ${boxWidth} ${HEIGHT + 12 + AXIS_PX}`}
        width={boxWidth}
        height={HEIGHT + 12 + AXIS_PX}
        aria-hidden="true"
        onMouseLeave={() => setPointed(null)}
      >
        {[0, 0.5, 1].map((part) => (
          <g key={part}>
            <line x1={0} x2={width} y1={HEIGHT * (1 - part)} y2={HEIGHT * (1 - part)} class="grid" />
            <text x={-MARGIN_PX} y={HEIGHT * (1 - part) + 4} text-anchor="end">
              {number(top * part)}
            </text>
          </g>
        ))}
        {all.map(({ day, credits }, index) => {
          let y = HEIGHT;
          return (
            // biome-ignore lint/a11y/noStaticElementInteractions: for the mouse; the table below says the same to everybody
            <g key={day} onMouseEnter={() => setPointed(index)} class={pointed === index ? "pointed" : ""}>
              <rect x={index * step} y={0} width={step} height={HEIGHT} class="catch" />
              {KINDS.filter((kind) => credits[kind] > 0).map((kind) => {
                const height = Math.max(1, (credits[kind] / top) * HEIGHT);
                y -= height;
                return (
                  <rect
                    key={kind}
                    x={index * step + (step * GAP) / 2}
                    y={y}
                    width={step * (1 - GAP)}
                    height={height}
                    class={`bar ${kind}`}
                  />
                );
              })}
            </g>
          );
        })}
        {[0, Math.floor((all.length - 1) / 2), all.length - 1].map((index, place) => (
          <text
            key={all[index]?.day}
            x={place === 0 ? 0 : place === 1 ? (index + 0.5) * step : width}
            y={HEIGHT + 24}
            text-anchor={["start", "middle", "end"][place]}
          >
            {dayAndMonth(all[index]?.day ?? "")}
          </text>
        ))}
      </svg>
      <details>
        <summary>{t("showTable")}</summary>
        <table>
          <thead>
            <tr>
              <th scope="col">{t("day")}</th>
              {KINDS.map((kind) => (
                <th key={kind} scope="col" class="end">
                  {t(kind)}
                </th>
              ))}
              <th scope="col" class="end">
                {t("amount")}
              </th>
            </tr>
          </thead>
          <tbody>
            {all
              .filter(({ total }) => total > 0)
              .reverse()
              .map(({ day, credits, total }) => (
                <tr key={day}>
                  <th scope="row">{date(day)}</th>
                  {KINDS.map((kind) => (
                    <td key={kind} class="end number">
                      {number(credits[kind])}
                    </td>
                  ))}
                  <td class="end number">{number(total)}</td>
                </tr>
              ))}
          </tbody>
        </table>
      </details>
    </figure>
  );
}

/** The width that an element has now; null before it is there. */
function useWidth(element: HTMLElement | null): number | null {
  const [width, setWidth] = useState<number | null>(null);
  useLayoutEffect(() => {
    if (element === null) return;
    const observer = new ResizeObserver(() => setWidth(element.clientWidth));
    setWidth(element.clientWidth);
    observer.observe(element);
    return () => observer.disconnect();
  }, [element]);
  return width;
}

function lastDays(count: number): readonly string[] {
  const today = Date.now();
  return Array.from({ length: count }, (_, index) =>
    new Date(today - (count - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  );
}

function sumOf(day: string, rows: readonly UsageRow[]): Day {
  const credits = { synthesis: 0, file: 0, live: 0 };
  for (const row of rows) if (row.day === day) credits[row.kind] += row.credits;
  return { day, credits, total: credits.synthesis + credits.file + credits.live };
}

/** A round number at or above the largest, so that lines stand at numbers that can be read. */
function ceilingOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 10)));
  return ([1, 2, 4, 6, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
