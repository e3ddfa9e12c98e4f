import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { loadUwsBinding } from "../../src/front/uws/load-binding.js";
import { CHEAP_PASSWORDS_MAIN } from "../support/cheap-passwords.js";
import { eventually } from "../support/eventually.js";
import { type ServiceProcess, startServiceProcess } from "../support/service-process.js";
import { ConsoleClient } from "./support/console-client.js";
import { LiveSocketClient } from "./support/live-socket.js";

const FRONTS = typeof loadUwsBinding() === "string" ? ["node"] : ["node", "uws"];
const PROXY = "127.0.9.9";
const TRIES_OF_ADDRESS = 100;
/** These attacks do not depend on the front, so one front is enough and models load once. */
const SETTINGS = { TRUSTED_PROXIES: "127.0.9.0/24", FREE_LIVE_PER_ORG: "20" };

for (const front of FRONTS) {
  describe(`accounts under attack on ${front}`, { concurrency: 1 }, () => {
    let service: ServiceProcess;
    let people = 0;

    before(async () => {
      service = await startServiceProcess({ ...SETTINGS, FRONT: front }, { main: CHEAP_PASSWORDS_MAIN });
    });
    after(async () => {
      assert.equal(await service.stop(), 0, service.output());
    });

    const client = (address?: string) => new ConsoleClient(service.port, address);
    /** Signs up a new user with an unused address. */
    const person = async (more?: object) => {
      people++;
      const who = client(`127.0.3.${people}`);
      const email = `person${people}@example.test`;
      const organization = await who.signUp(email, more);
      const { id } = (await who.ask("GET", "/session")).json.user;
      return { who, email, organization, id, at: `/organizations/${organization}` };
    };
    type Person = Awaited<ReturnType<typeof person>>;
    const invitation = async ({ who, at }: Person, role: string): Promise<string> => {
      const { json } = await who.ask("POST", `${at}/invitations`, { body: { role } });
      return json.path.split("#")[1];
    };
    const open = async (path: string, key: string | null) => {
      const socket = await LiveSocketClient.open(service.port, path, key);
      assert.ok(typeof socket !== "number", `${path} was rejected with ${socket}`);
      return socket;
    };
    const untilEnded = async (socket: LiveSocketClient) => {
      const [code, last] = [await socket.closed, socket.messages.at(-1)];
      assert.equal(code, 4401);
      return last;
    };

    // A quadratic pattern, run before any limit, once blocked the service for 11 to 18 s.
    test("an overlong address is rejected before it is parsed", async () => {
      const email = `a@${".".repeat(65_000)}@`;
      for (const path of ["/sign-in", "/sign-up"]) {
        const body = { email, password: "correct horse battery", organization: "Acme" };
        const { status, json } = await client("127.0.2.1").ask("POST", path, { body });
        assert.equal(status, 413, json.detail);
      }
      const short = { email: `a@${".".repeat(8_000)}@`, password: "correct horse battery" };
      const { status, json } = await client("127.0.2.1").ask("POST", "/sign-in", { body: short });
      assert.deepEqual([status, json.code], [400, "email_invalid"]);
    });

    test("an address with too many attempts is rejected before its body arrives", async () => {
      const guesser = client("127.0.2.2");
      for (let attempt = 0; attempt < TRIES_OF_ADDRESS; attempt++) {
        const path = ["/sign-in", "/sign-up", "/password-resets/look-up", "/invitations/look-up"][
          attempt % 4
        ];
        const { status } = await guesser.ask("POST", path ?? "", { body: { token: "x" } });
        assert.ok(status === 400 || status === 404, `${path}: ${status}`);
      }
      const paths = ["/sign-in", "/sign-up", "/password-resets/use", "/invitations/look-up"];
      for (const path of paths) {
        const { status } = await guesser.ask("POST", path, { isWithheld: true });
        assert.equal(status, 429, path);
      }
    });

    // Behind a proxy, all clients once shared one address.
    test("behind a trusted proxy no client can use up another's attempts", async () => {
      const guess = async (peer: string, forwarded: string) =>
        (await client(peer).ask("POST", "/sign-in", { body: {}, headers: { "x-forwarded-for": forwarded } }))
          .status;
      for (let attempt = 0; attempt < TRIES_OF_ADDRESS; attempt++)
        assert.equal(await guess(PROXY, `127.7.${attempt}.1, 127.4.0.1`), 400);
      assert.equal(await guess(PROXY, "127.4.0.1"), 429);
      assert.equal(await guess(PROXY, "127.4.0.2, 127.4.0.1:4711, 127.0.9.8"), 429, "a chain of proxies");
      assert.equal(await guess(PROXY, "::ffff:127.4.0.1"), 429);
      assert.equal(await guess(PROXY, "127.4.0.2"), 400, "another client");
      assert.equal(await guess("127.4.0.1", "127.4.0.2"), 429, "without the proxy, and a header that lies");
      assert.equal(await guess("127.4.0.3", "127.4.0.1"), 400, "a lie does not lock out others");
      for (let attempt = 0; attempt < TRIES_OF_ADDRESS; attempt++)
        assert.equal(await guess(PROXY, `fd00:1:2:3::${attempt.toString(16)}`), 400);
      assert.equal(await guess(PROXY, "[fd00:1:2:3:ffff::1]:4711"), 429, "one network of IPv6 is one client");
      assert.equal(await guess(PROXY, "fd00:1:2:4::1"), 400);
    });

    test("NUL and lone surrogates are rejected anywhere", async () => {
      const { who, at } = await person();
      for (const bad of ["a\0b", "a\ud800b", "\udfffx"]) {
        const email = `${bad}@example.test`;
        const signUp = { email, password: "correct horse battery", organization: "Acme" };
        const answers = [
          await who.ask("POST", `${at}/keys`, { body: { name: bad } }),
          await who.ask("POST", "/sign-up", { body: signUp }),
          await who.ask("POST", "/sign-up", { body: { ...signUp, email: "z@x.test", organization: bad } }),
          await who.ask("POST", "/sign-in", { body: { email, password: "x" } }),
        ];
        for (const { status, json } of answers) assert.equal(status, 400, JSON.stringify(json));
        const voucher = await who.ask("POST", `${at}/vouchers`, { body: { code: bad } });
        assert.equal(voucher.status, 404);
      }
      for (const [method, path] of [
        ["GET", "/organizations/%00/keys"],
        ["GET", "/organizations/org_%00/credits"],
        ["DELETE", `${at}/keys/key_%00`],
        ["DELETE", `${at}/members/usr_%00`],
        ["DELETE", `${at}/invitations/%00`],
        ["GET", `${at}/ledger?before=%00`],
        ["GET", `${at}/usage?days=1&%00=1`],
      ] as const) {
        assert.equal((await who.ask(method, path)).status, 400, path);
      }
      const bearer = { authorization: `Bearer ${service.key}` };
      for (const path of ["/v1/voices?model=%00", "/%00", "/console/%00.js", "/v1/models/%00"]) {
        assert.equal((await fetch(service.url + path, { headers: bearer })).status, 400, path);
      }
      assert.ok(!service.output().includes('"level":50'), "nothing of it was an error of ours");
    });

    // Open invitations once outlived the removal of their owner.
    test("invitations become invalid when their owner is removed, is demoted or leaves", async () => {
      const first = await person();
      const second = await person({ invitation: await invitation(first, "owner") });
      const kept = await invitation(second, "owner");
      const removed = await first.who.ask("DELETE", `${first.at}/members/${second.id}`);
      assert.equal(removed.status, 200);
      const back = await second.who.ask("POST", "/invitations/accept", { body: { token: kept } });
      assert.deepEqual([back.status, back.json.code], [404, "invitation_invalid"]);
      assert.equal((await second.who.ask("GET", `${first.at}/members`)).status, 404);

      const third = await person({ invitation: await invitation(first, "owner") });
      const demotedBy = await invitation(third, "member");
      await first.who.ask("PATCH", `${first.at}/members/${third.id}`, { body: { role: "member" } });
      const late = await client("127.0.2.3").ask("POST", "/invitations/look-up", {
        body: { token: demotedBy },
      });
      assert.equal(late.status, 404);

      const fourth = await person({ invitation: await invitation(first, "owner") });
      const leaverHas = await invitation(fourth, "owner");
      assert.equal((await fourth.who.ask("DELETE", `${first.at}/members/${fourth.id}`)).status, 200);
      const joined = await fourth.who.ask("POST", "/invitations/accept", { body: { token: leaverHas } });
      assert.equal(joined.status, 404);
      assert.deepEqual((await first.who.ask("GET", `${first.at}/invitations`)).json.data, []);
    });

    test("when two owners remove each other simultaneously, one stays, with or without a third", async () => {
      const [first, third] = [await person(), await person()];
      const { at } = first;
      const second = await person({ invitation: await invitation(first, "owner") });
      const token = await invitation(first, "owner");
      assert.equal((await third.who.ask("POST", "/invitations/accept", { body: { token } })).status, 200);
      const [ofSecond, ofFirst] = await Promise.all([
        first.who.ask("DELETE", `${at}/members/${second.id}`),
        second.who.ask("DELETE", `${at}/members/${first.id}`),
      ]);
      const { data } = (await third.who.ask("GET", `${at}/members`)).json;
      assert.equal(data.length, 2, `${ofSecond.status} ${ofFirst.status}`);
      assert.deepEqual([ofSecond.status, ofFirst.status].includes(200), true);
    });

    // Ended keys once opened live sockets for five more minutes, and open ones continued.
    for (const path of ["/v1/stream", "/v1/listen"]) {
      test(`a revoked key immediately ends its sessions on ${path}, with their audio charged`, async () => {
        const { who, at } = await person();
        const made = (await who.ask("POST", `${at}/keys`, { body: { name: "server" } })).json;
        const other = (await who.ask("POST", `${at}/keys`, { body: { name: "other" } })).json;
        const [socket, kept] = [await open(path, made.key), await open(path, other.key)];
        const charged = async () => {
          const { data } = (await who.ask("GET", `${at}/usage?days=2`)).json;
          return data.find((row: { key_id: string }) => row.key_id === made.id)?.credits;
        };
        socket.sendSilence(2);
        // Audio is charged once it is decoded. The worker starts with the first sessions.
        const later = await open("/v1/stream", other.key);
        later.sendSilence(1);
        await later.message("ready");
        later.close();
        assert.equal((await who.ask("DELETE", `${at}/keys/${made.id}`)).status, 200);
        const error = await untilEnded(socket);
        assert.match(JSON.stringify(error), /unauthorized/i);
        await eventually("the charge", async () => (await charged()) === 12);
        assert.equal(await LiveSocketClient.open(service.port, path, made.key), 401);
        const speech = await fetch(`${service.url}/v1/stream/token`, {
          method: "POST",
          headers: { authorization: `Bearer ${made.key}` },
        });
        assert.equal(speech.status, 401);
        kept.sendSilence(1);
        kept.close();
      });
    }

    test("playground keys and their tokens end on sign-out, password change and loss of membership", async () => {
      const owner = await person();
      const playgroundKey = async ({ who }: Person): Promise<string> =>
        (await who.ask("POST", `${owner.at}/playground-key`)).json.key;
      const tokenOf = async (key: string): Promise<string> => {
        const headers = { authorization: `Bearer ${key}` };
        const answer = await fetch(`${service.url}/v1/stream/token`, { method: "POST", headers });
        return ((await answer.json()) as { token: string }).token;
      };
      const password = "correct horse battery";
      const endings: Readonly<Record<string, (who: Person) => Promise<unknown>>> = {
        "sign-out": ({ who }) => who.ask("POST", "/sign-out"),
        removal: ({ id }) => owner.who.ask("DELETE", `${owner.at}/members/${id}`),
        password: async ({ email }) => {
          const elsewhere = client("127.0.2.4");
          await elsewhere.ask("POST", "/sign-in", { body: { email, password } });
          return elsewhere.ask("POST", "/password", {
            body: { current: password, password: "another good one" },
          });
        },
      };
      const ownKey = await playgroundKey(owner);
      const own = await open("/v1/stream", ownKey);
      for (const [what, end] of Object.entries(endings)) {
        const member = await person({ invitation: await invitation(owner, "member") });
        const key = await playgroundKey(member);
        const [direct, byToken] = [
          await open("/v1/stream", key),
          await open(`/v1/listen?token=${await tokenOf(key)}`, null),
        ];
        const unused = await tokenOf(key);
        await end(member);
        assert.equal((await untilEnded(direct))?.["code"], "unauthorized", what);
        await untilEnded(byToken);
        assert.equal(await LiveSocketClient.open(service.port, "/v1/stream", key), 401, what);
        const late = await open(`/v1/stream?token=${unused}`, null);
        assert.equal((await untilEnded(late))?.["code"], "key_invalid", what);
      }
      const still = await open("/v1/stream", ownKey);
      still.close();
      own.close();
    });

    test("when a member leaves, their keys and sessions end only if the owner chooses so", async () => {
      const owner = await person();
      for (const revokes of [false, true]) {
        const member = await person({ invitation: await invitation(owner, "member") });
        const made = (await member.who.ask("POST", `${owner.at}/keys`, { body: { name: "theirs" } })).json;
        const socket = await open("/v1/stream", made.key);
        const { json } = await owner.who.ask(
          "DELETE",
          `${owner.at}/members/${member.id}?revoke_keys=${revokes}`,
        );
        assert.equal(json.revoked_keys, revokes ? 1 : 0);
        if (revokes) await untilEnded(socket);
        const again = await LiveSocketClient.open(service.port, "/v1/stream", made.key);
        assert.equal(typeof again === "number", revokes);
        if (typeof again !== "number") again.close();
        const { data } = (await owner.who.ask("GET", `${owner.at}/keys`)).json;
        const listed = data.find(({ id }: { id: string }) => id === made.id);
        assert.deepEqual([listed.created_by.email, listed.revoked_at !== null], [member.email, revokes]);
        socket.close();
      }
    });
  });
}
