import { describe, expect, test } from 'bun:test';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type { MessagePortLike } from '../../src/storage/storage.ts';
import { type Heartbeat, Supervisor } from '../../src/supervisor/supervisor.ts';
import { temporaryFolder } from '../support/folder.ts';
import { keptLog } from '../support/log.ts';
import { maxWaitMs, until } from '../support/wait.ts';

const command = () => [process.execPath, join(import.meta.dir, 'worker-script.ts')];

/** Creates a supervisor of two workers, and records its log and the store connections that it opens. */
function supervised(heartbeat?: Heartbeat) {
  const { log, lines } = keptLog();
  const stores: { worker: number; port: MessagePortLike; received: unknown[]; isOver: boolean }[] = [];
  const connect = (worker: number, port: MessagePortLike) => {
    const store = { worker, port, received: [] as unknown[], isOver: false };
    // A worker must never have two store connections at the same time.
    if (stores.some((other) => other.worker === worker && !other.isOver)) throw new Error('still connected');
    stores.push(store);
    // Sent before the worker starts to serve.
    port.post('early');
    port.listen((message) => store.received.push(message));
    return {
      [Symbol.dispose]: () => {
        store.isOver = true;
      },
    };
  };
  const supervisor = new Supervisor({ workers: 2, command, log, connect, ...(heartbeat && { heartbeat }) });
  return {
    supervisor,
    lines,
    stores,
    /** Process id of the worker with this number, as the worker reported it to the store. */
    pidOf: (number: number): number => {
      const [hello] = stores.findLast(({ worker }) => worker === number)?.received ?? [];
      const { pid } = hello as { pid?: unknown };
      // Killing process 0 would signal every process in the group.
      if (typeof pid !== 'number' || pid < 2)
        throw new Error(`Worker ${number} did not report its process id.`);
      return pid;
    },
    servesAgain: () => lines.some(({ msg }) => msg === 'worker serving'),
    [Symbol.asyncDispose]: () => supervisor.kill(),
  };
}

describe('starting the supervisor', () => {
  test('on port 0 lets the first worker choose a port, which the other workers then use', async () => {
    await using all = supervised();
    expect(await all.supervisor.serve({ environment: {}, port: 0, startedAt: 0 })).toEqual({
      url: 'http://worker-1',
      port: 40_001,
    });
  });

  test('throws the error and the code of a worker that fails to start', async () => {
    await using all = supervised();
    const error = await all.supervisor
      .serve({ environment: { UNLESS: import.meta.path }, port: 1, startedAt: 0 })
      .catch((thrown: unknown) => thrown);
    expect(error).toMatchObject({ message: expect.stringContaining('of 2 cannot'), code: 'EADDRINUSE' });
    expect(all.lines).toEqual([]);
  });

  test('throws an error with the exit code or signal of a worker that exits', async () => {
    await using all = supervised();
    const error = await all.supervisor
      .serve({ environment: { DIE: '2' }, port: 1, startedAt: 0 })
      .catch((thrown: unknown) => thrown);
    expect(String(error)).toContain('A worker process exited during startup (exit code 7).');
  });
});

describe("the supervisor's store", () => {
  test('exchanges messages with workers completely and in order, even before they are ready', async () => {
    await using all = supervised();
    await all.supervisor.serve({ environment: {}, port: 1, startedAt: 0 });
    for (const { port } of all.stores) for (let number = 0; number < 1_000; number++) port.post({ number });
    await until(() => all.stores.every(({ received }) => received.length === 1_002));
    for (const { received } of all.stores) {
      const [hello, early, ...numbers] = received;
      expect(hello).toEqual({ pid: expect.any(Number), bytes: new Uint8Array([1, 2]), big: 2n ** 63n });
      expect(early).toBe('early');
      expect(numbers).toEqual(Array.from({ length: 1_000 }, (_, number) => ({ number })));
    }
  });

  test('is disconnected from an exited worker before its replacement connects, and posting to the old connection is harmless', async () => {
    await using all = supervised();
    await all.supervisor.serve({ environment: {}, port: 1, startedAt: 0 });
    const [first] = all.stores;
    process.kill(all.pidOf(1), 'SIGKILL');
    await until(() => all.servesAgain());
    expect(all.stores.map(({ worker, isOver }) => [worker, isOver])).toEqual([
      [1, true],
      [2, false],
      [1, false],
    ]);
    first?.port.post('to nobody');
  });
});

describe('a worker', () => {
  test('whose restart fails is restarted again, with increasing delays and a logged reason, until it succeeds', async () => {
    await using folder = await temporaryFolder();
    const obstacle = join(folder.path, 'obstacle');
    await using all = supervised();
    await all.supervisor.serve({ environment: { UNLESS: obstacle }, port: 1, startedAt: 0 });
    await Bun.write(obstacle, '');
    process.kill(all.pidOf(2), 'SIGKILL');
    const failures = () => all.lines.filter(({ msg }) => msg === 'worker could not start; trying again');
    await until(() => failures().length >= 3);
    rmSync(obstacle);
    await until(() => all.servesAgain());
    // Checks only three attempts, because a slow machine may make a fourth attempt before the obstacle is removed.
    const seen = failures().slice(0, 3);
    expect(seen.map(({ worker, code, reason, retryMs }) => [worker, code, reason, retryMs])).toEqual([
      [2, 1, '2 of 2 cannot', 100],
      [2, 1, '2 of 2 cannot', 200],
      [2, 1, '2 of 2 cannot', 400],
    ]);
  });

  test('that hangs is killed and replaced', async () => {
    await using all = supervised({ everyMs: 200, maxMissed: 10 });
    await all.supervisor.serve({ environment: {}, port: 1, startedAt: 0 });
    const pid = all.pidOf(1);
    process.kill(pid, 'SIGSTOP');
    await until(() => all.lines.some(({ msg, worker }) => msg === 'worker serving' && worker === 1));
    expect(all.lines).toContainEqual(
      expect.objectContaining({ worker: 1, pid, msg: 'worker does not respond; killing it' }),
    );
    expect(all.lines).toContainEqual(expect.objectContaining({ worker: 1, pid, signal: 'SIGKILL' }));
    expect(all.pidOf(1)).not.toBe(pid);
  });

  test('that recovers from a short hang is not killed', async () => {
    await using all = supervised({ everyMs: 200, maxMissed: 1_000 });
    await all.supervisor.serve({ environment: {}, port: 1, startedAt: 0 });
    const pid = all.pidOf(1);
    process.kill(pid, 'SIGSTOP');
    // Worker 1 does not respond, so this takes as long as several heartbeats.
    await all.supervisor.ask('are you there', 500);
    process.kill(pid, 'SIGCONT');
    const [first] = all.stores;
    first?.port.post('again');
    await until(() => first?.received.includes('again') ?? false);
    expect([all.pidOf(1), all.lines]).toEqual([pid, []]);
  });

  test('with a pending restart is not restarted after the supervisor has stopped', async () => {
    await using folder = await temporaryFolder();
    const obstacle = join(folder.path, 'obstacle');
    await using all = supervised();
    await all.supervisor.serve({ environment: { UNLESS: obstacle }, port: 1, startedAt: 0 });
    await Bun.write(obstacle, '');
    process.kill(all.pidOf(1), 'SIGKILL');
    await until(() => all.lines.some(({ retryMs }) => Number(retryMs) > 0));
    rmSync(obstacle);
    const { length } = all.stores;
    await all.supervisor.stop(maxWaitMs);
    expect([all.stores.length, all.servesAgain()]).toEqual([length, false]);
  });
});
