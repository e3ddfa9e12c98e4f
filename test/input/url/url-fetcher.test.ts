import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { ServiceError } from "../../../core/domain/errors.js";
import { AddressPolicy } from "../../../src/input/url/address-policy.js";
import { type FetchLimits, UrlFetcher } from "../../../src/input/url/url-fetcher.js";
import { momentOfFault } from "../../support/pace.js";
import { type CountingServer, startCounting } from "./listeners.js";

const NEVER = new AbortController().signal;
const SECRET = "the body of an answer";

/** Servers on 127.0.0.1 and, if available, ::1. No address of the table may connect to them. */
const forbidden: CountingServer[] = [];
/** A server on 127.0.0.9, which the policy of some tests allows in place of public servers. */
let opened: CountingServer;
let port = 0;

before(async () => {
  const first = await startCounting("127.0.0.1", (_request, response) => response.end(SECRET));
  port = first.port;
  forbidden.push(first);
  for (const address of ["127.0.0.2", "::1"]) {
    const server = startCounting(address, (_request, response) => response.end(SECRET), port);
    forbidden.push(...(await server.then((started) => [started]).catch(() => [])));
  }
  opened = await startCounting("127.0.0.9", (request, response) => {
    const path = request.url ?? "/";
    const to = new URL(path, "http://x").searchParams.get("to");
    if (path.startsWith("/redirect")) {
      response.writeHead(Number(path.slice(10, 13)), { location: to ?? "" });
      response.end(SECRET);
    } else if (path.startsWith("/loop")) {
      const left = Number(path.slice(6)) - 1;
      if (left < 0) response.end("done");
      else response.writeHead(302, { location: `/loop/${left}` }).end();
    } else if (path.startsWith("/status")) response.writeHead(Number(path.slice(8, 11))).end(SECRET);
    else if (path === "/gzip") response.writeHead(200, { "content-encoding": "gzip" }).end(SECRET);
    else if (path === "/claims") response.writeHead(200, { "content-length": "5000" }).end("x".repeat(5000));
    else if (path === "/endless") pour(() => response.write("x".repeat(400)), response);
    else if (path === "/stall") response.write("x");
    else if (path === "/cut") response.writeHead(200, { "content-length": "50" }).write("x");
    else if (path === "/headers") response.end(JSON.stringify(request.headers));
    else if (path !== "/silent") response.end("audio");
    if (path === "/cut") void momentOfFault(20).then(() => response.destroy());
  });
});

after(async () => {
  const connections = forbidden.map((server) => server.connections);
  for (const server of [...forbidden, opened]) await server.close();
  assert.deepEqual(
    connections,
    forbidden.map(() => 0),
    "nobody connected to a forbidden address",
  );
});

describe("literal addresses in the url", () => {
  const hosts = [
    ...["127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "017700000001", "0177.0.0.1", "0x7f.1"],
    ...["0x7f.0x0.0x0.0x1", "127.0.0.1.", "127.0.0.2", "127.255.255.254", "0", "0.0.0.0", "0x0", "00000.0"],
    ...["%31%32%37.0.0.1", "１２７.0.0.1", "127。0。0。1", "①②⑦.⓪.⓪.①", "0300.0250.0.1", "127.0.0x0.1"],
    ...[
      "10.0.0.1",
      "10.255.255.255",
      "012.1.2.3",
      "172.16.0.1",
      "172.31.255.254",
      "192.168.0.1",
      "192.168.257",
    ],
    ...["169.254.169.254", "0xa9fea9fe", "2852039166", "169.254.43518", "100.64.0.1", "100.127.255.254"],
    ...[
      "192.0.0.1",
      "192.0.0.192",
      "192.0.2.1",
      "192.88.99.1",
      "198.18.0.1",
      "198.19.255.255",
      "198.51.100.7",
    ],
    ...["203.0.113.1", "224.0.0.1", "239.255.255.250", "240.0.0.1", "255.255.255.255"],
    ...[
      "[::1]",
      "[::]",
      "[0:0:0:0:0:0:0:1]",
      "[::ffff:127.0.0.1]",
      "[::ffff:7f00:1]",
      "[::ffff:0:127.0.0.1]",
    ],
    ...["[::127.0.0.1]", "[::ffff:10.0.0.1]", "[::ffff:8.8.8.8]", "[64:ff9b::7f00:1]", "[64:ff9b::10.0.0.1]"],
    ...["[64:ff9b:1::1]", "[2002:7f00:1::]", "[2002:a00:1::1]", "[2001::1]", "[2001:0:4136:e378::]"],
    ...["[fe80::1]", "[febf::1]", "[fec0::1]", "[fc00::1]", "[fd00:ec2::254]", "[ff02::1]", "[ff0e::1]"],
    ...["[2001:db8::1]", "[3fff::1]", "[100::1]", "[5f00::1]", "[2001:10::1]", "[2001:20::1]", "[4000::1]"],
  ];
  for (const host of hosts) {
    test(`http://${host} is never connected to`, async () => {
      const error = await refusal(fetcher(), `http://${host}:${port}/a.wav`);
      assert.equal(error.message, "cannot fetch the URL: its host must have only public addresses");
    });
  }
});

describe("urls rejected without a look-up", () => {
  const cases: readonly (readonly [string, RegExp])[] = [
    ["", /absolute http or https/],
    ["a.wav", /absolute http or https/],
    ["//127.0.0.1/a.wav", /absolute http or https/],
    ["http://", /absolute http or https/],
    ["http://[fe80::1%25lo]/", /absolute http or https/],
    ["http://127.0.0.1:99999/", /absolute http or https/],
    ["http://256.256.256.256/", /absolute http or https/],
    ["http://a b/", /absolute http or https/],
    ["file:///etc/passwd", /scheme must be/],
    ["ftp://127.0.0.1/a.wav", /scheme must be/],
    ["gopher://127.0.0.1/", /scheme must be/],
    ["data:audio/wav;base64,UklGRg==", /scheme must be/],
    ["blob:http://127.0.0.1/1", /scheme must be/],
    ["ws://127.0.0.1/", /scheme must be/],
    ["unix:/var/run/docker.sock", /scheme must be/],
    ["javascript:fetch('http://127.0.0.1')", /scheme must be/],
    ["concat:/etc/passwd|/etc/hosts", /scheme must be/],
    ["http://user@example.org/", /user name or password/],
    ["http://user:pass@example.org/", /user name or password/],
    ["http://:pass@example.org/", /user name or password/],
    ["http://example.org@127.0.0.1/", /user name or password/],
    ["http://%75@127.0.0.1/", /user name or password/],
    ["http://example.org:22/", /port must be 80, 443 or at least 1024, received 22/],
    ["https://example.org:25/", /received 25/],
    ["http://example.org:0/", /received 0/],
    [`http://example.org/${"a".repeat(5_000)}`, /at most 4096 characters/],
  ];
  for (const [url, pattern] of cases) {
    test(`${url.slice(0, 60)} is rejected`, async () => {
      assert.match((await refusal(fetcher(), url)).message, pattern);
    });
  }
});

describe("names, judged by their addresses", () => {
  const answers: readonly (readonly [string, readonly string[]])[] = [
    ["private.example", ["10.0.0.1"]],
    ["loopback.example", ["127.0.0.1"]],
    ["loopback6.example", ["::1"]],
    ["mapped.example", ["::ffff:127.0.0.1"]],
    ["metadata.example", ["169.254.169.254"]],
    ["mixed.example", ["93.184.216.34", "127.0.0.1"]],
    ["mixed-first.example", ["127.0.0.1", "93.184.216.34"]],
    ["mixed-family.example", ["93.184.216.34", "::1"]],
    ["mixed-opened.example", ["127.0.0.9", "127.0.0.1"]],
    ["nat64.example", ["64:ff9b::7f00:1"]],
    ["none.example", []],
    ["not-an-address.example", ["localhost"]],
    ["zone.example", ["fe80::1%lo"]],
    ["xn--e1afmkfd.example", ["192.168.1.1"]],
    ["trailing-dot.example.", ["127.0.0.1"]],
  ];
  for (const [host, addresses] of answers) {
    test(`${host} with ${addresses.join(" and ") || "no address"} is never connected to`, async () => {
      const resolving = fetcher({ opened: ["127.0.0.9/32"], answers: { [host]: addresses } });
      assert.match((await refusal(resolving, `http://${host}:${port}/`)).message, /public addresses/);
    });
  }

  for (const host of ["localhost", "LOCALHOST", "localhost.", "%6cocalhost", "ｌocalhost"]) {
    test(`${host}, as the system resolves it, is never connected to`, async () => {
      const real = new UrlFetcher({ policy: new AddressPolicy([]) });
      assert.match((await refusal(real, `http://${host}:${port}/`)).message, /public addresses/);
    });
  }

  test("a missing name gets the same error as a private one", async () => {
    const resolving = fetcher({ answers: { "private.example": ["10.0.0.1"] } });
    const absent = await refusal(resolving, `http://absent.example:${port}/`);
    assert.equal((await refusal(resolving, `http://private.example:${port}/`)).message, absent.message);
  });

  test("the connection uses the address that was checked, after a single look-up", async () => {
    const asked: string[] = [];
    const rebinding = new UrlFetcher({
      policy: new AddressPolicy(["127.0.0.9/32"]),
      resolve: async (host) => {
        asked.push(host);
        return [{ address: asked.length === 1 ? "127.0.0.9" : "127.0.0.1", family: 4 }];
      },
    });
    assert.equal(await read(rebinding, `http://rebind.example:${opened.port}/a`), "audio");
    assert.deepEqual(asked, ["rebind.example"]);
    // The second request is checked again. By then the name has another address.
    await refusal(rebinding, `http://rebind.example:${opened.port}/a`);
  });
});

describe("redirects", () => {
  const targets = [
    () => `http://127.0.0.1:${port}/`,
    () => `//127.0.0.1:${port}/`,
    () => `http://0x7f000001:${port}/`,
    () => `http://[::1]:${port}/`,
    () => `http://[::ffff:127.0.0.1]:${port}/`,
    () => `http://localhost:${port}/`,
    () => `http://user@127.0.0.9:${port}/`,
    () => "http://169.254.169.254/latest/meta-data/",
    () => "file:///etc/passwd",
    () => "ftp://127.0.0.1/",
    () => "http://127.0.0.9:22/",
    () => "http://[",
  ];
  for (const target of targets) {
    test(`to ${target().replace(/:\d{4,}/, "")} are not followed`, async () => {
      for (const status of [301, 302, 303, 307, 308]) {
        const url = `http://127.0.0.9:${opened.port}/redirect/${status}?to=${encodeURIComponent(target())}`;
        await refusal(fetcher({ opened: ["127.0.0.9/32"] }), url);
      }
    });
  }

  test("are followed up to three times", async () => {
    const follower = fetcher({ opened: ["127.0.0.9/32"] });
    assert.equal(await read(follower, `http://127.0.0.9:${opened.port}/loop/3`), "done");
    const error = await refusal(follower, `http://127.0.0.9:${opened.port}/loop/4`);
    assert.match(error.message, /at most 3 times/);
  });
});

describe("responses", () => {
  const ask = (path: string, times: Partial<FetchLimits> = {}) => {
    const limits = { bytes: 1_000, ...times };
    return refusal(fetcher({ opened: ["127.0.0.9/32"], limits }), `http://127.0.0.9:${opened.port}${path}`);
  };

  test("other than 200 are rejected, and only their status is reported", async () => {
    for (const status of [204, 206, 400, 401, 403, 404, 500, 503]) {
      const error = await ask(`/status/${status}`);
      assert.equal(
        error.message,
        `cannot fetch the URL: the server must respond with 200, received ${status}`,
      );
    }
    assert.match((await ask("/redirect/300?to=x")).message, /received 300/);
    assert.match((await ask("/gzip")).message, /without Content-Encoding/);
  });

  test("that are too long are rejected, by their header or by their bytes", async () => {
    for (const path of ["/claims", "/endless"]) {
      const error = await ask(path);
      assert.equal(error.code, "BODY_TOO_LARGE");
      assert.match(error.message, /at most 1000 bytes/);
    }
  });

  test("that stall, never arrive or end early are rejected", async () => {
    assert.match((await ask("/stall", { stallMs: 100 })).message, /in time/);
    assert.match((await ask("/silent", { answerMs: 300 })).message, /in time/);
    assert.match((await ask("/cut")).message, /did not send all of it/);
  });

  test("are requested without encoding or any data about the service or its client", async () => {
    const answer = await read(
      fetcher({ opened: ["127.0.0.0/8"] }),
      `http://127.0.0.9:${opened.port}/headers#fragment`,
    );
    assert.deepEqual(JSON.parse(answer), {
      accept: "*/*",
      "accept-encoding": "identity",
      "user-agent": "dauys",
      host: `127.0.0.9:${opened.port}`,
      connection: "close",
    });
  });

  test("are not read any further once the client has left", async () => {
    const abort = new AbortController();
    void momentOfFault(50).then(() => abort.abort());
    const error = await refusal(
      fetcher({ opened: ["127.0.0.9/32"] }),
      `http://127.0.0.9:${opened.port}/silent`,
      abort.signal,
    );
    assert.equal(error.code, "CANCELLED");
  });
});

describe("webhooks", () => {
  const sent = { headers: { "dauys-webhook-id": "wh_1" }, body: "{}" };

  test("are posted to allowed addresses with their headers, and only the status is returned", async () => {
    const urls = fetcher({ opened: ["127.0.0.9/32"] });
    const url = `http://127.0.0.9:${opened.port}`;
    assert.equal(await urls.post(`${url}/headers`, sent, NEVER), 200);
    assert.equal(await urls.post(`${url}/status/503`, sent, NEVER), 503);
    assert.equal(await urls.post(`${url}/redirect/307?to=http://127.0.0.1:${port}/`, sent, NEVER), 307);
  });

  test("do not reach private addresses, by literal or by name", async () => {
    const answers = { "inner.test": ["127.0.0.1"], "mixed.test": ["127.0.0.9", "127.0.0.2"] };
    const urls = fetcher({ opened: ["127.0.0.9/32"], answers });
    for (const host of ["127.0.0.1", "2130706433", "[::1]", "inner.test", "mixed.test"]) {
      const refused = urls.post(`http://${host}:${port}/`, sent, NEVER);
      await assert.rejects(refused, /its host must have only public addresses/, host);
    }
  });

  test("end when the service stops, or when the receiver does not answer in time", async () => {
    const url = `http://127.0.0.9:${opened.port}/silent`;
    const networks = { opened: ["127.0.0.9/32"] };
    const stopped = fetcher(networks).post(url, sent, AbortSignal.timeout(50));
    await assert.rejects(stopped, { name: "AbortError" });
    const late = fetcher({ ...networks, limits: { postMs: 50 } }).post(url, sent, NEVER);
    await assert.rejects(late, { name: "AbortError" });
  });
});

test("public addresses and allowed networks pass", () => {
  const policy = new AddressPolicy(["10.1.0.0/16", "fd00::/8"]);
  for (const address of [
    "8.8.8.8",
    "93.184.216.34",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1",
    "2a00::1",
  ]) {
    assert.equal(policy.allows(address), true, address);
  }
  for (const address of ["10.1.2.3", "fd12::1"]) assert.equal(policy.allows(address), true, address);
  for (const address of ["10.2.0.1", "fc00::1", "", "example.org", "8.8.8.8 "]) {
    assert.equal(policy.allows(address), false, address);
  }
});

function fetcher(
  options: {
    opened?: readonly string[];
    answers?: Readonly<Record<string, readonly string[]>>;
    limits?: Partial<FetchLimits>;
  } = {},
): UrlFetcher {
  const { opened: networks = [], answers = {}, limits = {} } = options;
  return new UrlFetcher({
    policy: new AddressPolicy(networks),
    limits,
    resolve: async (host) => {
      const found = answers[host] ?? (host === "localhost" ? ["127.0.0.1"] : null);
      if (found === null)
        throw Object.assign(new Error(`getaddrinfo ENOTFOUND ${host}`), { code: "ENOTFOUND" });
      return found.map((address) => ({ address, family: address.includes(":") ? 6 : 4 }));
    },
  });
}

async function read(urls: UrlFetcher, url: string, signal = NEVER): Promise<string> {
  const chunks: Uint8Array[] = [];
  for await (const chunk of urls.fetch(url, signal)) chunks.push(chunk);
  return Buffer.concat(chunks).toString();
}

async function refusal(urls: UrlFetcher, url: string, signal = NEVER): Promise<ServiceError> {
  const thrown: unknown = await read(urls, url, signal).then(
    (body) => assert.fail(`fetched ${body.length} bytes`),
    (error: unknown) => error,
  );
  assert.ok(thrown instanceof ServiceError, String(thrown));
  if (thrown.code !== "CANCELLED" && thrown.code !== "BODY_TOO_LARGE") {
    assert.equal(thrown.code, "URL_FETCH_FAILED");
  }
  assert.ok(!thrown.message.includes(SECRET), "the message contains no response body");
  return thrown;
}

function pour(write: () => void, response: { readonly destroyed: boolean }): void {
  const timer = setInterval(() => {
    if (response.destroyed) clearInterval(timer);
    else write();
  }, 5);
}
