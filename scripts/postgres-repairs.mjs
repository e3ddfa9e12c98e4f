// The repairs that patch-postgres.mjs makes, and why.
// postgres.js gathers small writes until the turn of the event loop is over. A query on a connection that has closed
// meanwhile (the rest of a transaction) is then written to no socket, a TypeError that nobody can catch; and what was
// gathered when it closed stays, so that a new connection in its place never writes anything. Issues 1066, 1154 and 1208
// of porsager/postgres; pull requests 1168 and 1209 are open. Here such a query is refused with CONNECTION_CLOSED.
//
// What a connection asks for itself when it opens (types of arrays, whether the server takes writes) is held by nobody: when
// the server ends the connection just then, the rejection is an unhandled one, which ends the process. Here it is dropped:
// the query that opened the connection is refused, or sent by the next one.
//
// A query that was sent between the error and the close of its connection stays there. It never settles, or worse, the
// next connection answers it with an empty result. Here whatever is left when a connection closes is refused.
//
// A `begin` that fills a connection's pipeline, or its socket, is never handed its connection: the transaction fails with
// a TypeError while the server has begun it, and everything that others ask there later is part of a transaction that
// nobody ends. A server that hangs for a while makes pipelines that full. Here every `begin` gets its connection.
//
// test/store/postgres/lost-connections.test.ts fails without; with a release that has it all mended, this file goes.

const NOTE = "// Mended by scripts/patch-postgres.mjs of dauys.";

/** Found once each, and what stands there afterwards. */
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
