// Part of `npm ci`: mends the database driver where a connection that closes ends the whole process.
//
// postgres.js gathers small writes until the turn of the event loop is over. A query on a connection that has closed
// meanwhile (the rest of a transaction) is then written to no socket, a TypeError that nobody can catch; and what was
// gathered when it closed stays, so that a new connection in its place never writes anything. Issues 1066, 1154 and 1208
// of porsager/postgres; pull requests 1168 and 1209 are open. Here such a query is refused with CONNECTION_CLOSED.
// test/store/lost-connections.test.ts fails without; with a release that has it mended, this file goes.
import { readFileSync, writeFileSync } from "node:fs";
import { fileURLToPath } from "node:url";

const MENDED_VERSION = "3.4.9";
const DONE = "// Mended by scripts/patch-postgres.mjs of dauys.";

/** Found once each, and what stands there afterwards. */
const CHANGES = [
  [
    `  function nextWrite(fn) {
    const x = socket.write(chunk, fn)
    nextWriteTimer !== null && clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
    return x
  }`,
    `  function nextWrite(fn) { ${DONE}
    const x = chunk
    forgetWrites()
    if (socket === null) {
      error(Errors.connection('CONNECTION_CLOSED', options, socket))
      return false
    }
    return socket.write(x, fn)
  }

  function forgetWrites() {
    nextWriteTimer !== null && clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
  }`,
  ],
  [
    `    clearImmediate(nextWriteTimer)
    if (socket) {`,
    `    forgetWrites()
    if (socket) {`,
  ],
  [
    `    clearImmediate(nextWriteTimer)
    socket.removeListener`,
    `    forgetWrites()
    socket.removeListener`,
  ],
];

// What modules import is src/index.js.
const entry = import.meta.resolve("postgres");
const { version } = JSON.parse(readFileSync(new URL("../package.json", entry), "utf8"));
const path = fileURLToPath(new URL("connection.js", entry));
let code = readFileSync(path, "utf8");
if (!code.includes(DONE)) {
  if (version !== MENDED_VERSION) {
    throw new Error(`Cannot mend postgres ${version}, only ${MENDED_VERSION}: see whether it needs it still`);
  }
  for (const [found, wanted] of CHANGES) {
    if (code.split(found).length !== 2) throw new Error(`Cannot mend ${path}: it is not that of ${version}`);
    code = code.replace(found, () => wanted);
  }
  writeFileSync(path, code);
}
