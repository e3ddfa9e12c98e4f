// The patches that patch-postgres.mjs applies, and why.
//
// postgres.js buffers small writes until the end of the event loop turn. If the connection closes meanwhile,
// a query (the rest of a transaction) is written to a null socket: a TypeError that nobody can catch. The
// buffer also stays, so a new connection in the same place never writes anything. Issues 1066, 1154 and 1208
// of porsager/postgres; pull requests 1168 and 1209 are open. Patched: such a query fails with
// CONNECTION_CLOSED.
//
// Queries that a connection sends itself when it opens (array types, whether the server accepts writes) have
// no handler: if the server ends the connection at that moment, the unhandled rejection ends the process.
// Patched: the rejection is ignored; the query that opened the connection fails, or the next connection sends
// it.
//
// A query sent between the error and the close of its connection stays there. It never settles, or the next
// connection answers it with an empty result. Patched: all remaining queries fail when a connection closes.
//
// A `begin` that fills a connection's pipeline, or its socket, never gets its connection: the transaction
// fails with a TypeError although the server has started it, and later queries on that connection become part
// of a transaction that nobody ends. A server that hangs for a while fills pipelines like that. Patched:
// every `begin` gets its connection.
//
// test/store/postgres/lost-connections.test.ts fails without these patches. Delete this file when a release
// has all fixes.

const NOTE = "// Mended by scripts/patch-postgres.mjs of dauys.";

/** Each original text, found exactly once, and its replacement. */
export const REPAIRS = [
  [
    `  function nextWrite(fn) {
    const x = socket.write(chunk, fn)
    nextWriteTimer !== null && clearImmediate(nextWriteTimer)
    chunk = nextWriteTimer = null
    return x
  }`,
    `  function nextWrite(fn) { ${NOTE}
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
  [
    `      return write(toBuffer(q))
        && !q.describeFirst
        && !q.cursorFn
        && sent.length < max_pipeline
        && (!q.options.onexecute || q.options.onexecute(connection))`,
    `      const isTaken = write(toBuffer(q))
      q.options.onexecute && q.options.onexecute(connection)
      return isTaken
        && !q.describeFirst
        && !q.cursorFn
        && sent.length < max_pipeline
        && !q.options.onexecute`,
  ],
  [
    `    if (initial)
      return reconnect()

    !hadError && (query || sent.length) && error(Errors.connection('CONNECTION_CLOSED', options, socket))
`,
    `    if (!initial && (query || sent.length))
      error(Errors.connection('CONNECTION_CLOSED', options, socket))
    query = results = errorResponse = null
    result = new Result()
    if (initial)
      return reconnect()

`,
  ],
  [
    `        return fetchArrayTypes()
      }`,
    `        return fetchArrayTypes().catch(noop)
      }`,
  ],
  [
    `    query.execute()
  }

  function ErrorResponse`,
    `    query.catch(noop)
  }

  function ErrorResponse`,
  ],
];
