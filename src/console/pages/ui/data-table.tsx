import type { ComponentChildren } from "preact";
import { Button } from "./parts.js";

export interface Column<Row> {
  /** The class that places the cell in narrow windows, as in `.data .c-balance`. */
  readonly id: string;
  readonly title: string;
  readonly isTitleHidden?: boolean;
  /** True for the cell that labels the row for screen readers. */
  readonly isHead?: boolean;
  /** True for numbers and buttons, which are aligned right. */
  readonly isEnd?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

interface TableProps<Row> {
  readonly class: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string | number;
  readonly isFaded?: (row: Row) => boolean;
}

// Rows laid out as a grid lose their table roles in some browsers, so the roles are stated explicitly.
const TABLE = { role: "table" } as const;
const GROUP = { role: "rowgroup" } as const;
const ROW = { role: "row" } as const;
const TITLE = { role: "columnheader" } as const;
const HEAD = { role: "rowheader" } as const;
const CELL = { role: "cell" } as const;

export function Table<Row>(props: TableProps<Row>) {
  const { class: className, columns, rows, keyOf, isFaded = () => false } = props;
  return (
    <table class={className} {...TABLE}>
      <thead {...GROUP}>
        <tr {...ROW}>
          {columns.map(({ id, title, isTitleHidden = false, isEnd = false }) => (
            <th key={id} scope="col" class={isEnd ? "end" : ""} {...TITLE}>
              {isTitleHidden ? <span class="hidden">{title}</span> : title}
            </th>
          ))}
        </tr>
      </thead>
      <tbody {...GROUP}>
        {rows.map((row, index) => (
          <tr key={keyOf(row, index)} class={isFaded(row) ? "faded" : ""} {...ROW}>
            {columns.map(({ id, title, isHead = false, isEnd = false, cell }) => {
              const name = `c-${id} ${isEnd ? "end number" : ""}`;
              return isHead ? (
                <th key={id} scope="row" class={name} {...HEAD}>
                  {cell(row)}
                </th>
              ) : (
                <td key={id} class={name} data-title={title} {...CELL}>
                  {cell(row)}
                </td>
              );
            })}
          </tr>
        ))}
      </tbody>
    </table>
  );
}

/**
 * A column with a button in each row.
 *
 * @param nameOf names a row for screen readers
 * @param instead what a row shows instead of the button; undefined if it shows the button
 */
export function actionColumn<Row>(
  text: string,
  nameOf: (row: Row) => string,
  act: (row: Row) => void,
  instead: (row: Row) => ComponentChildren,
): Column<Row> {
  const button = (row: Row) => (
    <Button look="quiet" text={text} label={`${text}: ${nameOf(row)}`} onClick={() => act(row)} />
  );
  const cell = (row: Row) => instead(row) ?? button(row);
  return { id: "act", title: text, isTitleHidden: true, isEnd: true, cell };
}

/**
 * A table in a separate card. In narrow windows each row becomes a block, so that everything stays visible.
 */
export function DataTable<Row>({ label, ...table }: TableProps<Row> & { readonly label: string }) {
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a box that scrolls must be reached by keyboard
    <section class="table" aria-label={label} tabIndex={0}>
      <Table {...table} class={`data ${table.class}`} />
    </section>
  );
}
