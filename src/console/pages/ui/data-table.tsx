import type { ComponentChildren } from "preact";
import { TableBox } from "./parts.js";

export interface Column<Row> {
  /** Places the cell where the window is narrow: `.ledger .c-balance`. */
  readonly id: string;
  readonly title: string;
  readonly isTitleHidden?: boolean;
  /** Names the row for readers of the screen. */
  readonly isHead?: boolean;
  /** Numbers and buttons stand at the right edge. */
  readonly isEnd?: boolean;
  readonly cell: (row: Row) => ComponentChildren;
}

interface DataTableProps<Row> {
  /** Class of the table: `narrow.css` says how its rows are stacked. */
  readonly name: string;
  readonly label: string;
  readonly columns: readonly Column<Row>[];
  readonly rows: readonly Row[];
  readonly keyOf: (row: Row, index: number) => string;
  readonly isFaded?: (row: Row) => boolean;
}

// Rows that are laid out as a grid lose what they are in some browsers: it is said again.
const TABLE = { role: "table" } as const;
const GROUP = { role: "rowgroup" } as const;
const ROW = { role: "row" } as const;
const TITLE = { role: "columnheader" } as const;
const HEAD = { role: "rowheader" } as const;
const CELL = { role: "cell" } as const;

/** A table of things. Where the window is narrow each row becomes a block of its own, and nothing is out of sight. */
export function DataTable<Row>(props: DataTableProps<Row>) {
  const { name, label, columns, rows, keyOf, isFaded = () => false } = props;
  return (
    <TableBox label={label}>
      <table class={`data ${name}`} {...TABLE}>
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
                const name = `c-${id} ${isEnd ? "end" : ""}`;
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
    </TableBox>
  );
}
