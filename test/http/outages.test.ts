/** During an outage of the store, the log has a line for its start and a line for its end, not a line per request. */
import { expect, test } from 'bun:test';
import pino, { type Logger } from 'pino';
import { OutageLog } from '../../src/http/logs/outage-log.ts';
import { StorageUnavailable } from '../../src/outages/errors.ts';
import { describeError, Outage } from '../../src/outages/outage.ts';
import { startTestApp } from '../support/app.ts';
import { requestContextOf, serve } from '../support/request-context.ts';

interface Line {
  readonly level: string;
  readonly msg: string;
  readonly part?: string;
  readonly reason?: string;
  readonly seconds?: number;
  readonly refused?: number;
  readonly requestId?: string;
}

/** A real logger that records its lines. `said` resolves with the matching line once it is logged. */
function keptLog(level: string): { log: Logger; lines: Line[]; said: (msg: string) => Promise<Line> } {
  const lines: Line[] = [];
  const waiting = new Set<() => void>();
  const write = (text: string) => {
    lines.push(JSON.parse(text));
    for (const look of waiting) look();
  };
  const formatters = { level: (label: string) => ({ level: label }) };
  const said = (msg: string) =>
    new Promise<Line>((resolve) => {
      const look = () => {
        const line = lines.find((one) => one.msg === msg);
        if (line !== undefined) resolve(line);
      };
      waiting.add(look);
      look();
    });
  return { log: pino({ level, base: null, formatters }, { write }), lines, said };
}

const refusal = (requestId: string) => {
  const { code, cause: err } = new StorageUnavailable('the disk is full');
  return { requestId, method: 'POST', route: '/v1/pets', code, err };
};

test('an outage is logged as two lines, with its duration and the number of rejected requests', () => {
  const { log, lines } = keptLog('info');
  using outages = new OutageLog(log);
  const database = new Outage('PostgreSQL', outages.notice, true);
  database.begin('Connection refused');
  database.begin('the database system is starting up');
  for (let index = 0; index < 1_000; index++) outages.refused(refusal(`${index}`));
  database.end();
  database.end();
  expect(lines.map(({ level, msg, part, refused }) => [level, msg, part, refused])).toEqual([
    ['warn', 'degraded: PostgreSQL unavailable: Connection refused', 'PostgreSQL', undefined],
    ['warn', 'PostgreSQL available again', 'PostgreSQL', 1_000],
  ]);
  expect(lines[1]?.seconds).toBeGreaterThanOrEqual(0);
});

const outageLines = (lines: readonly Line[]) =>
  lines.map(({ msg, reason, refused }) => [msg, reason, refused]);

test('the reason logged for an outage is the cause of the error that clients get', () => {
  expect(describeError(new StorageUnavailable('the disk is full'))).toBe('the disk is full');
});

test('if the reason for an outage changes, the new reason is logged once it persists, and the number of rejected requests is not reset', () => {
  const { log, lines } = keptLog('info');
  using outages = new OutageLog(log);
  const database = new Outage('PostgreSQL', outages.notice, true);
  database.begin('terminating connection');
  outages.refused(refusal('a'));
  for (let index = 0; index < 20; index++) database.begin('database "animals" does not exist');
  outages.refused(refusal('b'));
  database.end();
  expect(lines.map(({ msg, refused }) => [msg, refused])).toEqual([
    ['degraded: PostgreSQL unavailable: terminating connection', undefined],
    ['degraded: PostgreSQL unavailable: database "animals" does not exist', undefined],
    ['PostgreSQL available again', 2],
  ]);
});

test('rejections while every server is available (for example, because a queue is full) are logged as one outage, which ends when they stop', async () => {
  const { log, lines, said } = keptLog('info');
  using outages = new OutageLog(log, 10);
  for (let index = 0; index < 1_000; index++) outages.refused(refusal(`${index}`));
  await said('requests no longer fail with 503');
  outages.refused(refusal('another outage'));
  expect(outageLines(lines)).toEqual([
    ['requests fail with 503', 'the disk is full', undefined],
    ['requests no longer fail with 503', undefined, 1_000],
    ['requests fail with 503', 'the disk is full', undefined],
  ]);
});

test('requests rejected before the cause is known are counted toward the outage once it is detected, and no separate recovery is logged', async () => {
  const { log, lines } = keptLog('info');
  using outages = new OutageLog(log, 10);
  outages.refused(refusal('a'));
  const database = new Outage('PostgreSQL', outages.notice, true);
  database.begin('Connection refused');
  // An outage of unknown cause that began later has ended.
  const other = keptLog('info');
  using later = new OutageLog(other.log, 10);
  later.refused(refusal('other'));
  await other.said('requests no longer fail with 503');
  outages.refused(refusal('b'));
  database.end();
  expect(lines.map(({ msg, refused }) => [msg, refused])).toEqual([
    ['requests fail with 503', undefined],
    ['degraded: PostgreSQL unavailable: Connection refused', undefined],
    ['PostgreSQL available again', 2],
  ]);
});

test('rejections during an outage that does not make requests fail are logged with their own reason', async () => {
  const { log, lines, said } = keptLog('info');
  using outages = new OutageLog(log, 10);
  const redis = new Outage('Redis', outages.notice);
  redis.begin('connection closed');
  outages.refused(refusal('a'));
  await said('requests no longer fail with 503');
  redis.end();
  expect(outageLines(lines)).toEqual([
    ['degraded: Redis unavailable: connection closed', undefined, undefined],
    ['requests fail with 503', 'the disk is full', undefined],
    ['requests no longer fail with 503', undefined, 1],
    ['Redis available again', undefined, 0],
  ]);
});

/** For an outage that explains only requests that failed because the disk is full. */
const isFullDisk = (error: unknown) => error instanceof Error && error.message === 'the disk is full';
const failedBy = (reason: string) => ({ err: new StorageUnavailable(reason).cause });

test('during an outage, rejections with another cause are logged with their own reason once they persist, and are not counted toward the outage', async () => {
  const { log, lines, said } = keptLog('info');
  using outages = new OutageLog(log, 10);
  const queries = new Outage('queries', outages.notice, isFullDisk);
  queries.begin('the disk is full');
  outages.refused(refusal('a'));
  for (let index = 0; index < 6; index++) outages.refused(failedBy('a lock'));
  await said('requests no longer fail with 503 for other reasons');
  queries.end();
  expect(outageLines(lines)).toEqual([
    ['degraded: queries unavailable: the disk is full', undefined, undefined],
    ['requests fail with 503', 'a lock', undefined],
    ['requests no longer fail with 503 for other reasons', undefined, 6],
    ['queries available again', undefined, 1],
  ]);
});

test('during an outage, fewer than four rejections with other causes are not logged, and the fourth is', () => {
  const { log, lines } = keptLog('info');
  {
    using outages = new OutageLog(log);
    const queries = new Outage('queries', outages.notice, isFullDisk);
    queries.begin('the disk is full');
    for (const reason of ['a lock', 'a timeout', 'a lock']) outages.refused(failedBy(reason));
    expect(lines).toHaveLength(1);
    outages.refused(failedBy('a timeout'));
    queries.end();
  }
  expect(outageLines(lines)).toEqual([
    ['degraded: queries unavailable: the disk is full', undefined, undefined],
    ['requests fail with 503', 'a timeout', undefined],
    ['queries available again', undefined, 0],
    ['stopped while requests failed with 503', undefined, 4],
  ]);
});

test('if the reasons for rejections alternate, each is logged once it has occurred four times', () => {
  const { log, lines } = keptLog('info');
  using outages = new OutageLog(log);
  for (let index = 0; index < 4; index++)
    for (const reason of ['a lock', 'a timeout', `other ${index}`]) outages.refused(failedBy(reason));
  expect(lines.map(({ reason }) => reason)).toEqual(['a lock', 'a timeout']);
});

test('if no request has failed because of an outage for a while, a single rejection with another cause is logged', () => {
  const { log, lines } = keptLog('info');
  using outages = new OutageLog(log, 0);
  new Outage('queries', outages.notice, isFullDisk).begin('the disk is full');
  outages.refused(failedBy('a lock'));
  expect(lines.map(({ reason }) => reason)).toEqual([undefined, 'a lock']);
});

test('an outage takes over earlier rejections only if it explains them', () => {
  const { log, lines } = keptLog('info');
  {
    using outages = new OutageLog(log);
    outages.refused(failedBy('a lock'));
    const queries = new Outage('queries', outages.notice, isFullDisk);
    queries.begin('the disk is full');
    queries.end();
    outages.refused(failedBy('a lock'));
  }
  expect(lines.map(({ msg, refused }) => [msg, refused])).toEqual([
    ['requests fail with 503', undefined],
    ['degraded: queries unavailable: the disk is full', undefined],
    ['queries available again', 0],
    ['stopped while requests failed with 503', 2],
  ]);
});

test('if the reason for rejections changes, the new reason is logged once it persists', () => {
  const { log, lines } = keptLog('info');
  using outages = new OutageLog(log);
  outages.refused(failedBy('the queue is full'));
  for (let index = 0; index < 20; index++) outages.refused(failedBy('a lock'));
  for (let index = 0; index < 20; index++) outages.refused(failedBy('the queue is full'));
  expect(lines.map(({ msg, reason }) => [msg, reason])).toEqual([
    ['requests fail with 503', 'the queue is full'],
    ['requests fail with 503', 'a lock'],
  ]);
});

test('at level debug, each rejected request is logged with its id and reason', () => {
  const { log, lines } = keptLog('debug');
  using outages = new OutageLog(log);
  outages.notice('degraded: PostgreSQL unavailable: gone', { part: 'PostgreSQL', works: false });
  for (const id of ['a', 'b']) outages.refused(refusal(id));
  const refused = lines.filter(({ level }) => level === 'debug');
  expect(refused.map(({ requestId, msg }) => [requestId, msg])).toEqual([
    ['a', 'request refused'],
    ['b', 'request refused'],
  ]);
  expect(JSON.stringify(refused)).toContain('the disk is full');
});

test('an outage that lasts until the service stops is logged with its duration and count', () => {
  const { log, lines } = keptLog('info');
  {
    using outages = new OutageLog(log);
    outages.refused(refusal('a'));
  }
  expect(lines.at(-1)).toMatchObject({ msg: 'stopped while requests failed with 503', refused: 1 });
});

test('an outage of unknown cause does not end while the store is unusable, because load balancers send no requests then', async () => {
  const { log, lines, said } = keptLog('info');
  using outages = new OutageLog(log, 10);
  const { promise: checkedTwice, resolve } = Promise.withResolvers<void>();
  let checks = 0;
  let isUsable = false;
  outages.watch({
    health: () => {
      if (++checks === 2) resolve();
      if (!isUsable) throw new StorageUnavailable('the limit file was overwritten');
    },
  });
  outages.refused(refusal('a'));
  await checkedTwice;
  expect(lines.map(({ msg }) => msg)).toEqual(['requests fail with 503']);
  isUsable = true;
  expect(await said('requests no longer fail with 503')).toMatchObject({ refused: 1 });
});

test('a server outage that lasts until the service stops is also logged with the number of rejected requests', () => {
  const { log, lines } = keptLog('info');
  {
    using outages = new OutageLog(log);
    new Outage('PostgreSQL', outages.notice, true).begin('gone');
    outages.refused(refusal('a'));
  }
  expect(lines.at(-1)).toMatchObject({ msg: 'stopped before PostgreSQL was available again', refused: 1 });
});

test.each([
  [503, new StorageUnavailable('gone'), { level: 'warn', msg: 'requests fail with 503', reason: 'gone' }],
  [500, new Error('a mistake'), { level: 'error', msg: 'request failed', code: 'internal_error' }],
])(
  'a request that fails with %i is logged with the reason or the error code',
  async (status, error, line) => {
    await using app = await startTestApp();
    const { log, lines } = keptLog('info');
    const context = requestContextOf(app, log);
    const admit = () => {
      throw error;
    };
    const peek: typeof context.admission.peek = (address) => context.admission.peek(address);
    const admission = Object.assign(Object.create(context.admission), { admit, peek });
    await using server = serve({ ...context, admission });
    const headers = { Authorization: `Bearer ${app.key}` };
    expect((await fetch(`${server.url}/v1/pets`, { headers })).status).toBe(status);
    expect(lines).toMatchObject([line]);
  },
);
