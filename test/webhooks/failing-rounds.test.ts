/** Rounds of the dispatcher that fail for any reason, on both kinds of store. */
import { Database } from 'bun:sqlite';
import { afterAll, describe, expect, test } from 'bun:test';
import { troubles } from '../../src/domain/troubles.ts';
import { openSession } from '../storage/postgres-kit.ts';
import { addOperator, callAdmin } from '../support/admin.ts';
import { startTestApp, type TestApp } from '../support/app.ts';
import { patientSettings } from '../support/cluster.ts';
import { keptLog } from '../support/log.ts';
import { buyerOf } from '../support/orders.ts';
import { testServers } from '../support/servers.ts';
import { until } from '../support/wait.ts';
import { response, startReceiver } from './receiver.ts';

const servers = await testServers();
afterAll(() => servers?.[Symbol.asyncDispose]());

interface Readiness {
  readonly status: string;
  readonly trouble?: readonly string[];
}

type Run = (statement: string) => unknown;

interface Engine extends AsyncDisposable {
  readonly settings: Readonly<Record<string, string>>;
  /** Statements after which no delivery can be added, and statements that undo this. */
  readonly breaking: readonly string[];
  readonly repairing: readonly string[];
  readonly connect: (app: TestApp) => { readonly run: Run } & AsyncDisposable;
}

async function sqliteEngine(): Promise<Engine> {
  return {
    settings: {},
    breaking: [
      "CREATE TRIGGER refuse BEFORE INSERT ON deliveries BEGIN SELECT RAISE(ABORT, 'refused by a trigger'); END",
    ],
    repairing: ['DROP TRIGGER refuse'],
    connect: ({ config }) => {
      const database = new Database(config.databaseUrl.replace('sqlite:', ''));
      database.run('PRAGMA busy_timeout = 10000');
      return {
        run: (statement) => database.run(statement),
        [Symbol.asyncDispose]: async () => database.close(),
      };
    },
    [Symbol.asyncDispose]: async () => undefined,
  };
}

async function postgresEngine(): Promise<Engine> {
  if (servers === undefined) throw new Error('There are no servers.');
  const schema = await servers.makeSchema();
  return {
    settings: {
      DATABASE_URL: schema.url,
      REDIS_URL: servers.redisUrl,
      REDIS_PREFIX: servers.makePrefix(),
      ...patientSettings,
    },
    breaking: [
      `CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN RAISE 'refused by a trigger'; END $$`,
      'CREATE TRIGGER refuse BEFORE INSERT ON deliveries FOR EACH ROW EXECUTE FUNCTION refuse()',
    ],
    repairing: ['DROP TRIGGER refuse ON deliveries'],
    connect: () => {
      const session = openSession(schema.url);
      return {
        run: (statement) => session.unsafe(statement),
        [Symbol.asyncDispose]: async () => session.close(),
      };
    },
    [Symbol.asyncDispose]: () => schema[Symbol.asyncDispose](),
  };
}

const engines: [string, () => Promise<Engine>][] = [
  ['SQLite', sqliteEngine],
  ...(servers === undefined ? [] : [['PostgreSQL', postgresEngine] as [string, typeof postgresEngine]]),
];

describe.each(engines)('on %s', (_, open) => {
  test('rounds that fail for 10 seconds are reported until one succeeds, or until there are no webhooks', async () => {
    await using engine = await open();
    const { log, lines } = keptLog();
    const settings = { WEBHOOKS: 'on', ...engine.settings };
    await using app = await startTestApp(settings, log, undefined, { sendEveryMs: 50 });
    await using receiver = await startReceiver((socket) => socket.write(response('204 No Content', '')));
    await using database = engine.connect(app);
    const owner = await buyerOf(app);
    const url = `http://127.0.0.1:${receiver.port}/hook`;
    await owner.call('POST', '/webhooks', { body: JSON.stringify({ url, types: ['pet.created'] }) });
    const { token } = await addOperator(app, 'viewer');
    const readiness = async () => (await fetch(`${app.url}/readyz`)).json() as Promise<Readiness>;
    const metric = async () =>
      /^animal_store_trouble\{part="webhooks"\} (\d)$/m.exec(
        (await callAdmin(app, 'GET', 'root:/metrics', { token })).text,
      )?.[1];
    const failed = () =>
      until(async () => {
        app.clock.advance(1);
        return (await readiness()).trouble?.includes(troubles.webhooks) === true;
      });
    const succeeded = () => until(async () => (await readiness()).status === 'ready');

    expect(await metric()).toBe('0');
    for (const statement of engine.breaking) await database.run(statement);
    await owner.addPet();
    await failed();
    expect(receiver.requests).toEqual([]);
    expect(await metric()).toBe('1');
    const { concerns } = (await callAdmin(app, 'GET', '/overview', { token })).body as {
      concerns: readonly { readonly what: string; readonly remedy: string }[];
    };
    expect(concerns.find(({ what }) => what === troubles.webhooks)?.remedy).toContain(
      'Webhooks are not sent',
    );
    const reported = () => lines.filter(({ part }) => part === 'sending of webhooks').map(({ msg }) => msg);
    expect(reported()).toEqual([
      expect.stringMatching(
        /^degraded: sending of webhooks unavailable: .*refused by a trigger \(see "Webhooks are not sent" in docs\/troubleshooting\.md\)$/,
      ),
    ]);
    for (const statement of engine.repairing) await database.run(statement);
    await until(() => receiver.requests.length > 0);
    await succeeded();
    expect(await metric()).toBe('0');
    expect(reported().slice(1)).toEqual(['sending of webhooks available again']);

    await database.run(engine.breaking.at(-1) ?? '');
    await owner.addPet();
    await failed();
    await owner.call('DELETE', '/webhooks/1');
    await succeeded();
  });
});
