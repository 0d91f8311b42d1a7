/** The admin listener of a service with several workers, which the supervisor has. */
import { expect, setDefaultTimeout } from 'bun:test';
import { workersTests } from '../process/worker-stores.ts';
import { addOperatorTo, sendAdmin } from '../support/admin.ts';
import { clientOf } from '../support/client.ts';
import { consoleOf } from '../support/process.ts';
import { testTimeoutMs, until } from '../support/wait.ts';

setDefaultTimeout(testTimeoutMs);

const workersTest = workersTests();

workersTest('what an operator changes, every worker obeys', async (stores) => {
  await using service = await stores.startInstance();
  const url = await consoleOf(service);
  const { token } = await addOperatorTo(stores.operator.storage, 'admin');
  const { key, accountId } = await stores.issueKey();
  const statusOf = async () => (await clientOf(service.url, key).get('/pets')).status;
  expect(await statusOf()).toBe(200);
  const closed = await sendAdmin(url, 'POST', `/accounts/${accountId}/close`, { token });
  expect(closed.status).toBe(200);
  for (let request = 0; request < 16; request++) expect(await statusOf()).toBe(401);
  expect((await sendAdmin(url, 'POST', `/accounts/${accountId}/reopen`, { token })).status).toBe(200);
  await until(async () => (await statusOf()) === 200);
});

workersTest('a stop ends the admin listener with the workers, in good order', async (stores) => {
  await using service = await stores.startInstance();
  const url = await consoleOf(service);
  const { token } = await addOperatorTo(stores.operator.storage, 'viewer');
  expect((await sendAdmin(url, 'GET', '/pets', { token })).status).toBe(200);
  service.signal('SIGTERM');
  expect(await service.exited).toBe(0);
  expect(await fetch(url).catch(() => undefined)).toBeUndefined();
});
