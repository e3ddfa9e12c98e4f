import { useLayoutEffect, useState } from "preact/hooks";
import type { UsageRow } from "../api.js";
import { date, dayAndMonth, number, t } from "../text/language.js";
import { type Column, Table } from "./data-table.js";

const KINDS = ["synthesis", "file", "live"] as const;
const HEIGHT = 180;
const TOP_PX = 12;
const AXIS_PX = 28;
/** The width of the chart until its own width is known. */
const FIRST_WIDTH = 720;
/** The share of a day's width that is left free between bars. */
const GAP = 0.25;
/** The approximate width of a digit at the size that `charts.css` gives to labels. */
const DIGIT_PX = 7.2;
const LABEL_MARGIN_PX = 10;

interface Day {
  readonly day: string;
  readonly credits: Readonly<Record<UsageRow["kind"], number>>;
  readonly total: number;
}

/** Credits per day as stacked bars: one colour per kind of work. */
export function DayChart({ rows, days }: { readonly rows: readonly UsageRow[]; readonly days: number }) {
  const [pointed, setPointed] = useState<number | null>(null);
  const all = lastDays(days).map((day) => sumOf(day, rows));
  const top = ceilingOf(Math.max(...all.map(({ total }) => total)));
  // The chart is drawn in real pixels, so that labels have the same size in every window.
  const [box, setBox] = useState<HTMLElement | null>(null);
  const boxWidth = useWidth(box) ?? FIRST_WIDTH;
  const left = Math.ceil(number(top).length * DIGIT_PX) + LABEL_MARGIN_PX;
  const width = Math.max(1, boxWidth - left);
  const height = TOP_PX + HEIGHT + AXIS_PX;
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
        viewBox={`${-left} ${-TOP_PX} ${boxWidth} ${height}`}
        width={boxWidth}
        height={height}
        aria-hidden="true"
        onMouseLeave={() => setPointed(null)}
      >
        <Axes days={all} top={top} width={width} />
        {all.map((day, index) => (
          // biome-ignore lint/a11y/noStaticElementInteractions: for the mouse; the table below has the same numbers
          <g key={day.day} onMouseEnter={() => setPointed(index)} class={pointed === index ? "pointed" : ""}>
            <DayBar day={day} top={top} x={(index * width) / all.length} width={width / all.length} />
          </g>
        ))}
      </svg>
      <details>
        <summary>{t("showTable")}</summary>
        <DayTable days={all.filter(({ total }) => total > 0).reverse()} />
      </details>
    </figure>
  );
}

interface AxesProps {
  readonly days: readonly Day[];
  readonly top: number;
  readonly width: number;
}

function Axes({ days, top, width }: AxesProps) {
  const last = days.length - 1;
  const middle = Math.floor(last / 2);
  const labels = [
    { index: 0, x: 0, anchor: "start" },
    { index: middle, x: ((middle + 0.5) * width) / days.length, anchor: "middle" },
    { index: last, x: width, anchor: "end" },
  ] as const;
  return (
    <>
      {[0, 0.5, 1].map((part) => (
        <g key={part}>
          <line x1={0} x2={width} y1={HEIGHT * (1 - part)} y2={HEIGHT * (1 - part)} class="grid" />
          <text x={-LABEL_MARGIN_PX} y={HEIGHT * (1 - part) + 4} text-anchor="end">
            {number(top * part)}
          </text>
        </g>
      ))}
      {labels.map(({ index, x, anchor }) => (
        <text key={anchor} x={x} y={HEIGHT + 24} text-anchor={anchor}>
          {dayAndMonth(days[index]?.day ?? "")}
        </text>
      ))}
    </>
  );
}

interface DayBarProps {
  readonly day: Day;
  readonly top: number;
  readonly x: number;
  readonly width: number;
}

function DayBar({ day: { credits }, top, x, width }: DayBarProps) {
  let y = HEIGHT;
  return (
    <>
      <rect x={x} y={0} width={width} height={HEIGHT} class="catch" />
      {KINDS.filter((kind) => credits[kind] > 0).map((kind) => {
        const height = Math.max(1, (credits[kind] / top) * HEIGHT);
        y -= height;
        return (
          <rect
            key={kind}
            x={x + (width * GAP) / 2}
            y={y}
            width={width * (1 - GAP)}
            height={height}
            class={`bar ${kind}`}
          />
        );
      })}
    </>
  );
}

function DayTable({ days }: { readonly days: readonly Day[] }) {
  const columns: readonly Column<Day>[] = [
    { id: "day", title: t("day"), isHead: true, cell: ({ day }) => date(day) },
    ...KINDS.map((kind) => ({
      id: kind,
      title: t(kind),
      isEnd: true,
      cell: ({ credits }: Day) => number(credits[kind]),
    })),
    { id: "total", title: t("amount"), isEnd: true, cell: ({ total }) => number(total) },
  ];
  return <Table class="" columns={columns} rows={days} keyOf={({ day }) => day} />;
}

/** Follows an element's width; null until the element is in the page. */
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

/** Rounds up to a number whose half is round as well, for the axis. */
function ceilingOf(value: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(value, 10)));
  return ([1, 2, 4, 6, 10].find((factor) => factor * power >= value) ?? 10) * power;
}
