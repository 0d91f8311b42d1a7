/** Instances that send events to webhooks, on both kinds of store, and calls of their clients. */
import { startTestApp, type TestApp } from '../support/app.ts';
import { patientSettings } from '../support/cluster.ts';
import type { Buyer } from '../support/orders.ts';
import type { TestServers } from '../support/servers.ts';
import { type Receiver, response, startReceiver } from './receiver.ts';

export interface Place extends AsyncDisposable {
  readonly apps: readonly TestApp[];
  readonly app: TestApp;
  /** Another instance, if the store can have several. */
  readonly beside: TestApp;
}

type Settings = Readonly<Record<string, string>>;

/** Starts an instance that checks often for due deliveries, because tests wait for these checks. */
const startInstance = (settings: Settings) =>
  startTestApp({ WEBHOOKS: 'on', ...settings }, undefined, undefined, { sendEveryMs: 100 });

async function onSqlite(more: Settings = {}): Promise<Place> {
  const app = await startInstance(more);
  return { apps: [app], app, beside: app, [Symbol.asyncDispose]: () => app[Symbol.asyncDispose]() };
}

async function onPostgres(
  servers: TestServers,
  more: Settings = {},
  ofBeside: Settings = {},
): Promise<Place> {
  await using made = new AsyncDisposableStack();
  const schema = made.use(await servers.makeSchema());
  const redis = { REDIS_URL: servers.redisUrl, REDIS_PREFIX: servers.makePrefix(), ...patientSettings };
  const settings = { DATABASE_URL: schema.url, ...redis, ...more };
  const app = made.use(await startInstance(settings));
  const beside = made.use(await startInstance({ ...settings, ...ofBeside }));
  const kept = made.move();
  return { apps: [app, beside], app, beside, [Symbol.asyncDispose]: () => kept.disposeAsync() };
}

type Start = (settings?: Settings, ofBeside?: Settings) => Promise<Place>;

/** The kinds of stores on which sending is tested, and how to start instances there. */
export const placesOn = (servers: TestServers | undefined): [store: string, start: Start][] => [
  ['SQLite', onSqlite],
  ...(servers === undefined
    ? []
    : [['PostgreSQL', (...settings) => onPostgres(servers, ...settings)] as [string, Start]]),
];

export interface Shown {
  readonly id: bigint;
  readonly secret: string;
  readonly enabled: boolean;
  readonly disabledReason?: string;
}

export interface ShownDelivery {
  readonly id: bigint;
  readonly eventId: bigint;
  readonly status: string;
  readonly attempts: readonly { readonly status?: bigint; readonly error?: string; readonly at: string }[];
  readonly nextAttemptAt?: string;
}

export const answering = (status: string, ...headers: string[]) =>
  startReceiver((socket) => socket.write(response(status, '', ...headers)));

export async function subscribe(owner: Buyer, { port }: Receiver, members: object = {}): Promise<Shown> {
  const body = JSON.stringify({ url: `http://127.0.0.1:${port}/hook`, types: ['pet.created'], ...members });
  return (await owner.call('POST', '/webhooks', { body })).json as Shown;
}

export const shown = async (owner: Buyer, { id }: Shown) =>
  (await owner.call('GET', `/webhooks/${id}`)).json as Shown;

export const deliveriesOf = async (owner: Buyer, { id }: Shown, status?: string) =>
  (await owner.call('GET', `/webhooks/${id}/deliveries?limit=100${status ? `&status=${status}` : ''}`))
    .json as ShownDelivery[];

/** Parses a request for the Standard Webhooks library. */
export function messageOf(request: string) {
  const [head = '', body = ''] = request.split('\r\n\r\n');
  const lines = head.split('\r\n').slice(1);
  const fields = lines.map((line) => [line.split(': ')[0]?.toLowerCase(), line.split(': ')[1] ?? '']);
  return { headers: Object.fromEntries(fields) as Record<string, string>, body };
}

export const idsAt = ({ requests }: Receiver) =>
  new Set(requests.map((request) => messageOf(request).headers['webhook-id']));

/** Advances the clocks of all instances. */
export function advance(apps: readonly TestApp[], seconds: number): void {
  for (const { clock } of apps) clock.advance(seconds);
}
