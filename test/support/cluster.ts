import { type AdminServices, openAdminServices } from '../../src/app/app.ts';
import { readConfig } from '../../src/config.ts';
import type { Quota } from '../../src/domain/plan.ts';
import type { Certificate } from './certificates.ts';
import { temporaryFolder } from './folder.ts';
import { ample, firstKeyOf, type Service, serveCommand, start } from './process.ts';
import { type OwnServer, ownPostgres, ownRedis } from './servers.ts';

/** Timeouts that even a busy machine never reaches, for tests in which no server is deliberately slow. */
export const patientSettings = { REDIS_TIMEOUT_MS: '60000', POSTGRES_TIMEOUT_MS: '600000' } as const;

/** Several instances of the service, with database servers that a test can stop or break. */
export interface Cluster extends AsyncDisposable {
  readonly postgres: OwnServer;
  readonly redis: OwnServer;
  readonly instances: readonly Service[];
  readonly operator: AdminServices;
  /** Starts another instance with additional settings. `command` defaults to the command that starts the service. */
  startInstance(
    environment?: Readonly<Record<string, string>>,
    command?: readonly string[],
  ): Promise<Service>;
  /** Ends the instances that `startInstance` has started. Otherwise, they run until the cluster is disposed of. */
  endStarted(): Promise<void>;
  /** Creates a separate account and returns a key for it. */
  issueKey(quota?: Quota): Promise<{ key: string; keyId: number; accountId: number }>;
}

/**
 * Long timeouts, so that a busy machine does not make the servers look unavailable, which would make counts inexact.
 */
const patience = { REDIS_TIMEOUT_MS: '5000', POSTGRES_TIMEOUT_MS: '30000' };

export interface ClusterOptions {
  readonly instances: number;
  /** Additional settings. Tests that make a server unavailable override the long timeouts. */
  readonly environment?: Readonly<Record<string, string>>;
  /** Creates the database for the instances and returns the URL. Defaults to the server's default database. */
  readonly makeDatabase?: (postgres: OwnServer) => Promise<string>;
  /** If set, PostgreSQL uses TLS with this certificate. */
  readonly certificate?: Certificate;
}

/** Returns undefined if no database servers are available for tests. */
export async function startCluster({
  instances,
  environment = {},
  makeDatabase = async ({ url }) => url,
  certificate,
}: ClusterOptions): Promise<Cluster | undefined> {
  await using started = new AsyncDisposableStack();
  const postgres = started.use(await ownPostgres(certificate));
  const redis = started.use(await ownRedis());
  if (!postgres || !redis) return undefined;
  const settings = {
    PORT: '0',
    DATABASE_URL: await makeDatabase(postgres),
    REDIS_URL: redis.url,
    DRAIN_SECONDS: '0',
    ...patience,
    ...environment,
  };
  const startInstance = async () => started.use(await startService(settings));
  const running = await Promise.all(Array.from({ length: instances }, startInstance));
  const operator = started.use(await openAdminServices(readConfig(settings), undefined, { create: true }));
  const kept = started.move();
  let others = kept.use(new AsyncDisposableStack());
  return {
    postgres,
    redis,
    instances: running,
    operator,
    startInstance: async (more = {}, command = serveCommand) =>
      others.use(await startService({ ...settings, ...more }, command)),
    endStarted: async () => {
      await others.disposeAsync();
      others = kept.use(new AsyncDisposableStack());
    },
    async issueKey(quota = ample) {
      const account = await operator.accounts.create('shop', 'enterprise', quota);
      const { key, id } = await operator.keys.create(account.id, 'till');
      return { key, keyId: id, accountId: account.id };
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function startService(
  environment: Readonly<Record<string, string>>,
  command: readonly string[] = serveCommand,
): Promise<Service> {
  await using started = new AsyncDisposableStack();
  // The initial key of a new store is written to the working directory.
  const folder = started.use(await temporaryFolder());
  const running = started.use(start(command, { environment, cwd: folder.path }));
  await running.said(/^Reference .*\n/m);
  const url = /^Animal Store API +(http:\S+)\/v1$/m.exec(running.stdout())?.[1];
  if (url === undefined) throw new Error(`There is no address in:\n${running.stdout()}`);
  const kept = started.move();
  return {
    ...running,
    url,
    get firstKey() {
      return firstKeyOf(running);
    },
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}
