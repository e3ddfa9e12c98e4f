/** Styles of a result's page; narrow screens show each row of a table as a block. */
export const PAGE_STYLE = `
:root { color-scheme: light dark; --ink: #1d2530; --faint: #5b6675; --back: #fff; --line: #dfe3e8; --card: #f4f6f8; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #e6e9ee; --faint: #9aa5b4; --back: #16181c; --line: #363c45; --card: #1f2329; }
}
* { box-sizing: border-box; }
body { margin: 0; background: var(--back); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1180px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 26px; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 19px; margin: 32px 0 8px; }
p { margin: 8px 0; max-width: 75ch; overflow-wrap: anywhere; }
.origin { color: var(--faint); font-size: 14px; }
.note { border-left: 3px solid #1b6ca8; padding-left: 12px; }
.cards { display: grid; grid-template-columns: repeat(auto-fit, minmax(150px, 1fr)); gap: 12px; margin: 20px 0; }
.cards div { background: var(--card); border-radius: 8px; padding: 12px 14px; }
dt { color: var(--faint); font-size: 14px; line-height: 1.3; }
dd { margin: 4px 0 0; font-size: 22px; font-weight: 600; overflow-wrap: anywhere; }
.plots { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 440px), 1fr)); gap: 20px; align-items: start; margin-top: 16px; }
figure { margin: 0; border: 1px solid var(--line); border-radius: 8px; overflow: hidden; break-inside: avoid; }
figure svg { display: block; width: 100%; height: auto; }
table { border-collapse: collapse; width: 100%; font-size: 15px; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
th { color: var(--faint); font-weight: 500; }
tr { break-inside: avoid; }
@media (max-width: 700px) {
  thead { display: none; }
  tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line); }
  td { display: grid; grid-template-columns: 9em 1fr; padding: 2px 0; border: 0; }
  td::before { content: attr(data-title); color: var(--faint); }
  td:first-child { font-weight: 600; display: block; }
  td:first-child::before { content: none; }
}
@media print {
  :root { color-scheme: light; --ink: #000; --faint: #444; --back: #fff; --line: #bbb; --card: #f4f6f8; }
  main { max-width: none; padding: 0; }
  .plots { grid-template-columns: 1fr 1fr; }
}
`;
