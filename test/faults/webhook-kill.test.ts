/** Processes are killed while they send events to webhooks. Every event must still reach its receiver. */
import { afterAll, test } from 'bun:test';
import { scopes } from '../../src/domain/scope.ts';
import { temporaryFolder } from '../support/folder.ts';
import { newPet } from '../support/pets.ts';
import { ample, operatorOf, type Service, startService } from '../support/process.ts';
import { maxWaitMs, until } from '../support/wait.ts';
import { response, startReceiver } from '../webhooks/receiver.ts';

const folder = await temporaryFolder();
afterAll(() => folder[Symbol.asyncDispose]());

const kills = 5;
const petsPerRound = 20;
const settings = { WEBHOOK_ALLOWED_NETWORKS: '127.0.0.0/8', WEBHOOK_DELIVERIES_PER_SECOND: '10000' };

async function issueKey(): Promise<string> {
  await using operator = await operatorOf(folder.path);
  const { id } = await operator.accounts.create('shop', 'enterprise', ample);
  return (await operator.keys.create(id, 'shop', undefined, scopes)).key;
}

async function post({ url }: Service, key: string, target: string, body: string): Promise<void> {
  const headers = { Authorization: `Bearer ${key}`, 'Content-Type': 'application/json' };
  const answer = await fetch(`${url}/v1${target}`, { method: 'POST', headers, body });
  if (answer.status !== 201) throw new Error(`${target}: ${answer.status} ${await answer.text()}`);
}

test('kill -9 loses no webhook delivery', async () => {
  let isSlow = true;
  await using receiver = await startReceiver((socket, request) => {
    // Some requests in each round are in flight when the process is killed.
    if (!isSlow || !/"id":\d*[05],"type"/.test(request)) socket.write(response('204 No Content'));
  });
  let key = '';
  for (let round = 0; round < kills; round++) {
    await using service = await startService(folder.path, settings);
    if (round === 0) {
      key = await issueKey();
      const url = `http://127.0.0.1:${receiver.port}/`;
      await post(service, key, '/webhooks', JSON.stringify({ url, types: ['pet.created'] }));
    }
    const before = receiver.requests.length;
    for (let at = 0; at < petsPerRound; at++) await post(service, key, '/pets', newPet());
    await until(() => receiver.requests.length > before);
    service.signal('SIGKILL');
    await service.exited;
  }
  isSlow = false;
  await using _last = await startService(folder.path, settings);
  const ids = () => new Set(receiver.requests.map((request) => /webhook-id: (\S+)/i.exec(request)?.[1]));
  // Deliveries that were in flight at a kill are due after a delay equal to their age, to which the startup time of
  // each process adds.
  await until(() => ids().size === kills * petsPerRound, 2 * maxWaitMs);
});
