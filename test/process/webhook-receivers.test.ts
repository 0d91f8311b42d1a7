/** Sends deliveries to the receivers in examples/webhooks. */
import { afterAll, beforeAll, describe, expect } from 'bun:test';
import { copyFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Webhook } from 'standardwebhooks';
import { installClient } from '../support/client-package.ts';
import { temporaryFolder } from '../support/folder.ts';
import { root, start } from '../support/process.ts';
import { testWith } from '../support/requirements.ts';
import { until } from '../support/wait.ts';

const project = await temporaryFolder();
afterAll(() => project[Symbol.asyncDispose]());
beforeAll(() => installClient(project.path));

const secrets = [`whsec_${btoa('a'.repeat(24))}`, `whsec_${btoa('b'.repeat(24))}`] as const;

const receivers = [
  { file: 'node.mjs', command: ['node'], requirement: { name: 'Node.js', package: 'nodejs' } },
  { file: 'bun.ts', command: [process.execPath], requirement: { name: 'Bun', package: 'bun' } },
  { file: 'receiver.py', command: ['python3'], requirement: { name: 'Python', package: 'python3' } },
];

interface Delivery {
  readonly event: number;
  readonly secret?: string;
  readonly ageSeconds?: number;
  /** Body to send instead of the signed body. */
  readonly body?: string;
}

function bodyOf(event: number): string {
  return `{"id":${event},"type":"pet.created","timestamp":"2027-01-15T10:00:00.000Z","data":{"id":1,"name":"Søren 犬","categoryId":7,"status":"sold"}}`;
}

/** Sends a delivery and returns the status of the response. */
async function deliver(
  url: string,
  { event, secret = secrets[0], ageSeconds = 0, body }: Delivery,
): Promise<number> {
  const id = `evt_${event}`;
  const at = new Date(Date.now() - ageSeconds * 1_000);
  const headers = {
    'Content-Type': 'application/json',
    'webhook-id': id,
    'webhook-timestamp': String(Math.floor(at.getTime() / 1_000)),
    'webhook-signature': new Webhook(secret).sign(id, at, bodyOf(event)),
  };
  return (await fetch(url, { method: 'POST', headers, body: body ?? bodyOf(event) })).status;
}

describe.each(receivers)('the receiver $file', ({ file, command, requirement }) => {
  async function startReceiver(inbox: string) {
    const program = join(project.path, file);
    await copyFile(join(root, 'examples/webhooks', file), program);
    const environment = { WEBHOOK_SECRET: secrets.join(' '), PORT: '0' };
    const running = start([...command, program, join(project.path, inbox)], { environment });
    await running.said(/port (\d+)\./);
    const url = `http://127.0.0.1:${/port (\d+)\./.exec(running.stdout())?.[1]}`;
    const kept = () => running.stdout().trimEnd().split('\n').slice(1);
    /** Resolves with the recorded events once there are at least `count`. */
    const events = async (count: number) => {
      await until(() => kept().length >= count);
      return kept().sort();
    };
    return { ...running, url, events };
  }
  const test = testWith(requirement, [...command, '--version']);

  test('stores each event only once, despite repeated and concurrent deliveries and a crash', async () => {
    const inbox = `${file}.inbox`;
    {
      await using receiver = await startReceiver(inbox);
      const twice = [1, 1, 2, 3, 3].map((event) => deliver(receiver.url, { event }));
      expect(await Promise.all(twice)).toEqual([204, 204, 204, 204, 204]);
      expect(await receiver.events(3)).toEqual([
        'evt_1 pet.created',
        'evt_2 pet.created',
        'evt_3 pet.created',
      ]);
    }
    await using receiver = await startReceiver(inbox);
    expect(await deliver(receiver.url, { event: 3 })).toBe(204);
    expect(await deliver(receiver.url, { event: 4, secret: secrets[1] })).toBe(204);
    expect(await receiver.events(1)).toEqual(['evt_4 pet.created']);
  });

  test('returns 400 for deliveries with an invalid signature or a timestamp too far from the current time', async () => {
    await using receiver = await startReceiver(`${file}.rejected`);
    const foreign = `whsec_${btoa('c'.repeat(24))}`;
    const wrong = [{ secret: foreign }, { ageSeconds: 330 }, { ageSeconds: -330 }, { body: bodyOf(2) }];
    for (const each of wrong) expect(await deliver(receiver.url, { event: 1, ...each })).toBe(400);
    expect((await fetch(receiver.url, { method: 'POST', body: bodyOf(1) })).status).toBe(400);
    expect(await deliver(receiver.url, { event: 5 })).toBe(204);
    expect(await receiver.events(1)).toEqual(['evt_5 pet.created']);
  });
});
