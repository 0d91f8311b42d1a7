/** Status and settings of several workers, accessed through the supervisor. */
import { expect } from 'bun:test';
import { addOperatorTo } from '../support/admin.ts';
import type { Service } from '../support/process.ts';
import { consoleOf } from '../support/process.ts';
import { childrenOf } from '../support/process-tree.ts';
import { samplesIn } from '../support/prometheus.ts';
import { until } from '../support/wait.ts';
import { Connection } from './connection.ts';
import { type WorkerStores, workersTests } from './worker-stores.ts';

const test = workersTests();

/** Creates an operator, and functions that call the service's admin listener. */
async function operatorOf(service: Service, { operator }: WorkerStores) {
  const { token } = await addOperatorTo(operator.storage, 'admin');
  const url = await consoleOf(service);
  const headers = { Authorization: `Bearer ${token}`, 'Content-Type': 'application/json' };
  return {
    metrics: async () => samplesIn(await (await fetch(`${url}/metrics`, { headers })).text()),
    system: async () =>
      (await (await fetch(`${url}/admin/v1/system`, { headers })).json()) as { workers: number },
    failed: async (keyId: number) =>
      (await (
        await fetch(`${url}/admin/v1/usage/failed-requests?keyId=${keyId}&limit=100`, { headers })
      ).json()) as {
        readonly at: string;
        readonly code: string;
      }[],
    setLogging: async (patch: unknown) => {
      const body = JSON.stringify(patch);
      const { status } = await fetch(`${url}/admin/v1/system/logging`, { method: 'PATCH', headers, body });
      expect(status).toBe(200);
    },
  };
}

const listed = 'animal_store_requests_total{operation="listPets",code="ok"}';

/** Sends requests on new connections until the condition holds. Returns the number of requests. */
async function ask({ url }: Service, key: string, enough: (asked: number) => boolean): Promise<number> {
  let asked = 0;
  await until(async () => {
    using connection = await Connection.open(url);
    const { status } = await connection.get('/v1/pets', key);
    expect(status).toBe(200);
    return enough(++asked);
  });
  return asked;
}

/** Numbers of the workers that have logged a request. */
const logging = (service: Service) =>
  new Set(
    service
      .stderr()
      .split('\n')
      .filter((line) => line.includes('"msg":"request"'))
      .map((line) => (JSON.parse(line) as { worker: number }).worker),
  );

test('metrics are summed across all workers, including workers that have exited', async (stores) => {
  await using service = await stores.startInstance({ ADMIN_PORT: '0' });
  const { key } = await stores.issueKey();
  const operator = await operatorOf(service, stores);
  // The metrics omit a worker that takes longer than a second to respond.
  const counted = (requests: number) =>
    until(async () => {
      const metrics = await operator.metrics();
      return metrics.get(listed) === requests && metrics.get('animal_store_workers') === 2;
    });
  const asked = await ask(service, key, (count) => count === 20);
  await counted(asked);
  expect(await operator.system()).toMatchObject({ workers: 2 });

  for (const victim of childrenOf(service.pid)) process.kill(victim, 'SIGKILL');
  await until(() => service.stderr().split('"msg":"worker serving"').length === 3);
  expect((await operator.metrics()).get(listed)).toBe(asked);
  await counted(asked + (await ask(service, key, (count) => count === 20)));
});

test("every worker applies an operator's log settings, even if it starts later", async (stores) => {
  await using service = await stores.startInstance({ ADMIN_PORT: '0' });
  const { key } = await stores.issueKey();
  const operator = await operatorOf(service, stores);
  await ask(service, key, (count) => count === 10);
  expect(logging(service).size).toBe(0);
  await operator.setLogging({ requests: 'all' });
  await ask(service, key, () => logging(service).size === 2);

  for (const victim of childrenOf(service.pid)) process.kill(victim, 'SIGKILL');
  await until(() => service.stderr().split('"msg":"worker serving"').length === 3);
  const lines = service.stderr().length;
  const since = () => ({ ...service, stderr: () => service.stderr().slice(lines) });
  await ask(service, key, () => logging(since()).size === 2);
});

test('the usage of all workers is recorded when the service stops', async (stores) => {
  await using service = await stores.startInstance({ ADMIN_PORT: 'off' });
  const { key, accountId } = await stores.issueKey();
  const asked = await ask(service, key, (count) => count === 40);
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
  const range = { since: Date.now() - 7_200_000, until: Date.now() + 1 };
  const periods = await stores.operator.storage.usage.periods({ accountId }, 'hour', range);
  expect(periods.reduce((sum, { ok }) => sum + ok, 0)).toBe(asked);
});

test('failed requests from all workers are listed newest first', async (stores) => {
  await using service = await stores.startInstance({ ADMIN_PORT: '0', LOG_REQUESTS: 'errors' });
  const { key, keyId } = await stores.issueKey();
  const operator = await operatorOf(service, stores);
  let sent = 0;
  await until(async () => {
    using connection = await Connection.open(service.url);
    expect((await connection.get('/v1/pets/999999', key)).status).toBe(404);
    sent++;
    return logging(service).size === 2;
  });
  const failed = await operator.failed(keyId);
  expect(failed.map(({ code }) => code)).toEqual(Array(sent).fill('pet_not_found'));
  const times = failed.map(({ at }) => at);
  expect(times).toEqual(times.toSorted().toReversed());
});
