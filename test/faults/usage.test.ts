/** Usage is counted exactly once, even if the response to a commit is lost. */
import { expect, test } from 'bun:test';
import { randomBytes } from 'node:crypto';
import { openStore } from '../../src/app/store.ts';
import { TrafficCounter } from '../../src/operations/observability/traffic-counter.ts';
import { UsageRecorder } from '../../src/operations/observability/usage-recorder.ts';
import { patient } from '../storage/cluster-place.ts';
import { strictRules } from '../storage/place.ts';
import { callerWith } from '../storage/samples.ts';
import { FakeClock } from '../support/clock.ts';
import { describeWithServers } from '../support/describe-with-servers.ts';
import { tcpProxy } from '../support/tcp-proxy.ts';
import { until } from '../support/wait.ts';

const caller = callerWith({});

await describeWithServers('a usage report whose commit got no response', (there) => {
  /** Creates a usage recorder with a store behind a proxy, and a function that returns the recorded totals. */
  async function recording() {
    await using made = new AsyncDisposableStack();
    const schema = made.use(await there.makeSchema());
    const proxy = made.use(await tcpProxy(schema.url));
    const clock = new FakeClock();
    const notices: string[] = [];
    const cluster = { ...patient, redisUrl: there.redisUrl, redisPrefix: there.makePrefix() };
    const options = { clock, rules: strictRules, isServing: true, cluster };
    const store = made.use(
      await openStore({ ...options, url: proxy.url, notice: (text) => notices.push(text) }),
    );
    const reader = made.use(await openStore({ ...options, isServing: false, url: schema.url }));
    const counter = new TrafficCounter(clock);
    const recorder = made.use(
      new UsageRecorder({
        ...{ store, counter, clock, randomBytes },
        instance: { name: 'one', version: '1.0.0', startedAt: clock.now() },
        prunes: false,
        events: { areRecorded: true, keepMs: 0 },
        notice: () => undefined,
      }),
    );
    const stored = async () => {
      const range = { since: 0, until: clock.now() + 86_400_000 };
      const { accountId } = caller;
      const [hour] = await reader.usage.periods({ accountId }, 'hour', range);
      const [day] = await reader.usage.periods({ accountId }, 'day', range);
      const minutes = await reader.usage.minutes(range);
      const inMinutes = minutes.reduce((sum, { requests }) => sum + requests, 0);
      const latencies = await reader.usage.latencies({ by: 'hour', stepMs: 3_600_000, ...range });
      const inLatencies = latencies.reduce((sum, { requests }) => sum + requests, 0);
      const operations = await reader.usage.keyOperations(caller.keyId, range);
      const inOperations = operations.reduce((sum, { requests }) => sum + requests, 0);
      return [inMinutes, hour?.ok ?? 0, day?.ok ?? 0, inLatencies, inOperations];
    };
    const kept = made.move();
    return {
      ...{ proxy, recorder },
      isWorking: () => until(() => store.health().length === 0),
      use: (times: number) => {
        for (let time = 0; time < times; time++)
          counter.count('listPets', undefined, caller, performance.now());
      },
      stored,
      // On a busy machine, a report may fail and be repeated.
      recordUntilStored: (requests: number) =>
        until(async () => {
          await recorder.record();
          return ((await stored())[0] ?? 0) >= requests;
        }),
      [Symbol.asyncDispose]: () => kept.disposeAsync(),
    };
  }

  test('is counted only once if it was committed', async () => {
    await using under = await recording();
    under.use(3);
    under.proxy.holdAnswersTo('COMMIT');
    const recorded = under.recorder.record();
    await until(async () => (await under.stored())[0] === 3);
    under.proxy.drop();
    await under.proxy.heal();
    await recorded;
    await under.isWorking();
    under.use(4);
    await under.recordUntilStored(7);
    expect(await under.stored()).toEqual([7, 7, 7, 7, 7]);
  });

  test('is counted later if it was not committed', async () => {
    await using under = await recording();
    under.use(3);
    under.proxy.holdAnswersTo('usage_minutes');
    const recorded = under.recorder.record();
    await under.proxy.answerHeld();
    under.proxy.drop();
    await under.proxy.heal();
    await recorded;
    await under.isWorking();
    under.use(4);
    await under.recordUntilStored(7);
    expect(await under.stored()).toEqual([7, 7, 7, 7, 7]);
  });
});
